"""Whether the flight recorder records on this board, and by which engine."""

from __future__ import annotations

from whylate.boards.doctor.check import Check, check
from whylate.recording.manifest import RecorderReport


def recorder_check(report: RecorderReport) -> Check:
    """Return what became of trying it."""
    name = "flight recorder"
    wanted = "by BPF: without it there are no stacks, without any recorder nothing says why"
    if report.engine is None:
        how = "run as root, on a kernel with BTF and BPF or with CONFIG_FTRACE, without lockdown"
        now = f"cannot record: {report.refused or 'the probe did not say why'}"
        return check("explaining", name, "missing", now, wanted, how=how)
    attached = sum(source.error == 0 for source in report.sources)
    now = f"by {report.engine}, from {attached} tracepoints"
    if report.sampled_runs and report.sampled_ns is not None:
        now += f", {report.sampled_ns / report.sampled_runs:.0f} ns an event"
    if report.engine == "bpf":
        return check("explaining", name, "good", now, wanted)
    how = "a kernel from 5.18 on with CONFIG_DEBUG_INFO_BTF=y and CONFIG_BPF_SYSCALL=y, on 64 bits"
    return check("explaining", name, "poor", f"{now}; {report.declined or ''}", wanted, how=how)
