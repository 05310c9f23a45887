"""What can be measured and explained on a board, what cannot, and how to get the rest."""

from __future__ import annotations

from whylate.boards.doctor.check import Examined, Finding, Rules
from whylate.boards.facts import counters, cpu, tasks, tracing
from whylate.boards.facts.reading import decode
from whylate.boards.facts.snapshot import ProbeFacts

# capability.h
CAP_IPC_LOCK = 14
CAP_SYS_ADMIN = 21
CAP_SYS_NICE = 23
CAP_PERFMON = 38

#: More than the probe locks: its code, its stacks and a spool of samples.
MEMLOCK_ENOUGH_BYTES = 64 * 2**20

_NOT_REPORTED = Finding("unknown", "the probe did not say")

MEASURING = Rules("measuring")
EXPLAINING = Rules("explaining")


def has_capability(probe: ProbeFacts, capability: int) -> bool:
    """Return whether the probe has a capability; where they are unknown, whether it is root."""
    if probe.capabilities is None:
        return probe.effective_uid == 0
    return bool(probe.capabilities >> capability & 1)


@MEASURING(
    "real-time priority",
    "SCHED_FIFO for the measuring threads; without it a run gets no verdict",
    "run as root, or set rtprio for the user in /etc/security/limits.conf and log in again",
)
def _priority(board: Examined) -> Finding:
    budget = tasks.read_group_runtime_us(board.files)
    if budget is not None and budget[0] == 0:
        now = f"this control group has no real-time budget ({budget[1]} is 0)"
        how = "start from the root group, or write a budget in µs to that file"
        return Finding("missing", now, how)
    if has_capability(board.probe, CAP_SYS_NICE):
        return Finding("good", "allowed (CAP_SYS_NICE)")
    limit = board.probe.rlimit_rtprio
    if limit is not None and limit != 0:
        highest = 99 if limit < 0 else min(limit, 99)
        return Finding("good", f"allowed by RLIMIT_RTPRIO, up to {highest}")
    if limit is board.probe.capabilities is board.probe.effective_uid is None:
        return _NOT_REPORTED
    return Finding("missing", "not allowed: no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0")


@MEASURING(
    "memory lock",
    "unlimited: a page fault in the measuring loop is a late wakeup",
    "run as root, or set memlock to unlimited in /etc/security/limits.conf",
)
def _memory_lock(board: Examined) -> Finding:
    if has_capability(board.probe, CAP_IPC_LOCK):
        return Finding("good", "allowed (CAP_IPC_LOCK)")
    limit = board.probe.rlimit_memlock_bytes
    if limit is None:
        return _NOT_REPORTED
    enough = limit < 0 or limit >= MEMLOCK_ENOUGH_BYTES
    now = "unlimited" if limit < 0 else f"up to {limit // 1024} KiB"
    return Finding("good" if enough else "poor", now)


@MEASURING(
    "high-resolution timers",
    "1 ns: otherwise a sleep ends on the next tick",
    "a kernel with CONFIG_HIGH_RES_TIMERS=y, started without highres=off",
)
def _timers(board: Examined) -> Finding:
    resolution_ns = board.probe.clock_resolution_ns
    if resolution_ns is None:
        return _NOT_REPORTED
    now = f"resolution {resolution_ns} ns"
    return Finding("good" if resolution_ns == 1 else "missing", now)


@MEASURING(
    "/dev/cpu_dma_latency",
    "open to the probe: it keeps CPUs out of deep idle during a run",
    "",
)
def _idle_limit(board: Examined) -> Finding:
    content = board.files.content(tracing.DMA_LATENCY)
    if content is None:
        how = "a kernel with CONFIG_CPU_IDLE; where no idle states exist, nothing is lost"
        return Finding("missing", "not there", how)
    if content.error is not None:
        how = "run as root, or give the user the right to it by a udev rule"
        return Finding("missing", f"not readable ({content.error})", how)
    if len(content.data) != 4:
        return Finding("good", "readable")
    limit_us = int.from_bytes(content.data, "little", signed=True)
    holder = "nobody holds it" if limit_us >= 2_000_000_000 else f"held at {limit_us} µs"
    return Finding("good", f"readable; {holder}")


@MEASURING(
    "steal time",
    "reported: it separates the host's doing from the guest's",
    "steal reporting is the host's to grant; on KVM the guest needs CONFIG_PARAVIRT",
)
def _steal(board: Examined) -> Finding | None:
    if not board.is_guest:
        return None
    steal_s = counters.read_steal_s(board.files)
    if steal_s is None:
        return Finding("missing", "not reported")
    if steal_s:
        return Finding("good", f"reported; {steal_s:.2f} s since boot")
    return Finding("unknown", "0 since boot: the host took nothing, or does not say")


@MEASURING(
    "SMI count",
    "readable: system management interrupts show nowhere else",
    "modprobe msr, and run as root (kernel lockdown forbids it)",
)
def _smi_count(board: Examined) -> Finding | None:
    processors = cpu.read_processors(board.files)[:1]
    if not any("GenuineIntel" in p.get("vendor_id", "") for p in processors):
        return None
    paths = [path for _, path in board.files.match(counters.MSR)]
    if any(board.files.data(path) for path in paths):
        return Finding("good", "readable (MSR 0x34)")
    if board.is_guest:
        return Finding(
            "unknown", "not readable; a guest sees no SMIs, its host's show as steal", ""
        )
    reason = f"not readable ({board.files.closed(paths[0])})" if paths else "no /dev/cpu/*/msr"
    return Finding("missing", reason)


@EXPLAINING(
    "flight recorder",
    "by BPF: without it there are no stacks; without any recorder there are no causes",
    "a kernel from 5.18 on with CONFIG_DEBUG_INFO_BTF=y and CONFIG_BPF_SYSCALL=y, on 64 bits",
)
def _recorder(board: Examined) -> Finding | None:
    report = board.recorder
    if report is None:
        return None
    if report.engine is None:
        how = "run as root, on a kernel with BTF and BPF or with CONFIG_FTRACE, without lockdown"
        reason = report.refused or "the probe did not say why"
        return Finding("missing", f"cannot record: {reason}", how)
    attached = sum(source.error == 0 for source in report.sources)
    now = f"by {report.engine}, from {attached} tracepoints"
    if report.sampled_runs and report.sampled_ns is not None:
        now += f", {report.sampled_ns / report.sampled_runs:.0f} ns an event"
    if report.engine == "bpf" and board.number("bpf_jit") == 0:
        how = "sysctl net.core.bpf_jit_enable=1"
        return Finding("poor", f"{now}; the kernel interprets BPF programs", how)
    if report.engine == "bpf":
        return Finding("good", now)
    return Finding("poor", f"{now}; {report.declined or ''}")


@EXPLAINING(
    "kernel types (BTF)",
    "there: the BPF flight recorder needs them",
    "a kernel with CONFIG_DEBUG_INFO_BTF=y; without it events are recorded through tracefs",
)
def _btf(board: Examined) -> Finding:
    content = board.files.content(tracing.BTF)
    if content is None:
        return Finding("missing", "not there")
    if content.error is not None:
        return Finding("unknown", f"not readable ({content.error})")
    if content.data[:2] not in {b"\x9f\xeb", b"\xeb\x9f"}:
        return Finding("missing", "there, but not BTF")
    return Finding("good", "there")


@EXPLAINING(
    "tracefs",
    "mounted: what else is being traced shows there",
    "mount -t tracefs nodev /sys/kernel/tracing, as root; the recorder does so for itself",
)
def _tracefs(board: Examined) -> Finding:
    mount = tracing.find_tracefs(board.files)
    if mount is None:
        return Finding("unknown", "not mounted, or closed to us")
    if (error := board.files.closed(f"{mount}/available_tracers")) is not None:
        return Finding("missing", f"{mount} is not readable ({error})", "run as root")
    names = board.files.names(f"{mount}/events") or []
    systems = [n for n in names if n not in {"enable", "header_event", "header_page"}]
    return Finding("good", f"{mount}, {len(systems)} event systems")


@EXPLAINING(
    "osnoise and timerlat",
    "built in: they measure inside the kernel",
    "a kernel from 5.14 on with CONFIG_OSNOISE_TRACER=y and CONFIG_TIMERLAT_TRACER=y",
)
def _tracers(board: Examined) -> Finding:
    mount = tracing.find_tracefs(board.files)
    text = None if mount is None else board.files.text(f"{mount}/available_tracers")
    if text is None:
        return Finding("unknown", "tracefs is not readable")
    built_in = [tracer for tracer in ("osnoise", "timerlat") if tracer in text.split()]
    now = " and ".join(built_in) or "neither"
    return Finding("good" if len(built_in) == 2 else "missing", now)


@EXPLAINING(
    "CPU counters (PMU)",
    "there and open: cycles and cache misses per window",
    "run as root, or sysctl kernel.perf_event_paranoid=1",
)
def _counters(board: Examined) -> Finding:
    pmus = tracing.read_processor_pmus(board.files)
    if pmus is None:
        return Finding("missing", "perf is not there", "a kernel with CONFIG_PERF_EVENTS=y")
    if not pmus:
        how = "firmware, device tree or, for a guest, the host's settings must grant a PMU"
        return Finding("missing", "no PMU of the CPUs", how)
    level = board.files.number(tracing.PARANOID)
    now = f"{', '.join(pmus)}; perf_event_paranoid {'?' if level is None else level}"
    capable = any(has_capability(board.probe, cap) for cap in (CAP_PERFMON, CAP_SYS_ADMIN))
    allowed = capable or (level is not None and level <= 1)
    return Finding("good" if allowed else "missing", now)


@EXPLAINING(
    "kernel symbols",
    "with addresses: they name the place of a stall",
    "run as root; kernel.kptr_restrict at 2 is lowered while symbols are read",
)
def _symbols(board: Examined) -> Finding:
    data = board.files.data(tracing.KALLSYMS)
    if not data:
        return Finding("missing", "no /proc/kallsyms", "a kernel with CONFIG_KALLSYMS=y")
    addresses = [line.split(" ")[0] for line in decode(data).split("\n")[:-1]]
    if any(address.strip("0") for address in addresses):
        return Finding("good", "with addresses")
    symbols = board.recorder.symbols if board.recorder is not None else None
    if symbols is not None and symbols.lowered and symbols.shown:
        now = f"hidden (kernel.kptr_restrict={symbols.kptr_restrict}), shown while they are read"
        return Finding("good", now)
    return Finding("missing", "addresses are hidden (all 0)")
