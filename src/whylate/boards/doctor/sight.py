"""What can be measured on this board, what cannot, and how to get the rest."""

from __future__ import annotations

from whylate.boards.doctor.check import Check, Known, State, check
from whylate.boards.facts import counters, cpu, tasks, tracing
from whylate.boards.facts.reading import Files, decode
from whylate.boards.facts.snapshot import ProbeFacts
from whylate.recording.manifest import RecorderReport, SymbolsReport

# capability.h
CAP_IPC_LOCK = 14
CAP_SYS_ADMIN = 21
CAP_SYS_NICE = 23
CAP_PERFMON = 38

#: What the probe locks with room to spare: its code, its stacks and a spool of samples.
MEMLOCK_ENOUGH_BYTES = 64 * 2**20


def may(probe: ProbeFacts, capability: int) -> bool:
    """Return whether the probe has a capability; root stands for all where they are not known."""
    if probe.capabilities is None:
        return probe.effective_uid == 0
    return bool(probe.capabilities >> capability & 1)


def measuring_checks(files: Files, probe: ProbeFacts, known: Known) -> list[Check]:
    """Return what `whylate measure` needs or can use."""
    return [
        _priority(files, probe),
        _memory_lock(probe),
        _timers(probe),
        _idle_hold(files),
        *_steal(files, known),
        *_management_interrupts(files, known),
    ]


def explaining_checks(
    files: Files, probe: ProbeFacts, recorder: RecorderReport | None
) -> list[Check]:
    """Return what finding causes needs, as far as files tell, and the recorder that was tried."""
    return [
        _type_format(files),
        _tracefs(files),
        _tracers(files),
        _processor_counters(files, probe),
        _symbols(files, recorder.symbols if recorder is not None else None),
    ]


def _priority(files: Files, probe: ProbeFacts) -> Check:
    name = "real-time priority"
    wanted = "SCHED_FIFO for the measuring threads; without it a run gets no verdict"
    budget = tasks.own_group_runtime_us(files)
    if budget is not None and budget[0] == 0:
        now = f"this control group has no real-time budget ({budget[1]} is 0)"
        how = "start from the root group, or write a budget in µs to that file"
        return check("measuring", name, "missing", now, wanted, how=how)
    if may(probe, CAP_SYS_NICE):
        return check("measuring", name, "good", "allowed (CAP_SYS_NICE)", wanted)
    limit = probe.rlimit_rtprio
    if limit is not None and limit != 0:
        now = "allowed by RLIMIT_RTPRIO, up to " + ("99" if limit < 0 else str(min(limit, 99)))
        return check("measuring", name, "good", now, wanted)
    how = "run as root, or set rtprio for the user in /etc/security/limits.conf and log in again"
    if limit is None and probe.capabilities is None and probe.effective_uid is None:
        return check("measuring", name, "unknown", "the probe did not say", wanted, how=how)
    now = "not allowed: no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0"
    return check("measuring", name, "missing", now, wanted, how=how)


def _memory_lock(probe: ProbeFacts) -> Check:
    name, wanted = "memory lock", "unlimited: a page fault in the measuring loop is a late wakeup"
    how = "run as root, or set memlock to unlimited in /etc/security/limits.conf"
    limit = probe.rlimit_memlock_bytes
    if may(probe, CAP_IPC_LOCK):
        return check("measuring", name, "good", "allowed (CAP_IPC_LOCK)", wanted)
    if limit is None:
        return check("measuring", name, "unknown", "the probe did not say", wanted, how=how)
    now = "unlimited" if limit < 0 else f"up to {limit // 1024} KiB"
    state: State = "good" if limit < 0 or limit >= MEMLOCK_ENOUGH_BYTES else "poor"
    return check("measuring", name, state, now, wanted, how=how)


def _timers(probe: ProbeFacts) -> Check:
    name, wanted = "high-resolution timers", "1 ns: otherwise a sleep ends on the next tick"
    how = "a kernel with CONFIG_HIGH_RES_TIMERS=y, started without highres=off"
    resolution_ns = probe.clock_resolution_ns
    if resolution_ns is None:
        return check("measuring", name, "unknown", "the probe did not say", wanted, how=how)
    state: State = "good" if resolution_ns == 1 else "missing"
    return check("measuring", name, state, f"resolution {resolution_ns} ns", wanted, how=how)


def _idle_hold(files: Files) -> Check:
    name = "/dev/cpu_dma_latency"
    wanted = "open to the probe: it keeps CPUs out of deep idle during a run"
    content = files.content(tracing.DMA_LATENCY)
    if content is None:
        how = "a kernel with CONFIG_CPU_IDLE; where no idle states exist, nothing is lost"
        return check("measuring", name, "missing", "not there", wanted, how=how)
    if content.error is not None:
        how = "run as root, or give the user the right to it by a udev rule"
        now = f"not readable ({content.error})"
        return check("measuring", name, "missing", now, wanted, how=how)
    now = "readable"
    if len(content.data) == 4:
        limit_us = int.from_bytes(content.data, "little", signed=True)
        asked = "nobody holds it" if limit_us >= 2_000_000_000 else f"held at {limit_us} µs"
        now = f"readable; {asked}"
    return check("measuring", name, "good", now, wanted)


def _steal(files: Files, known: Known) -> list[Check]:
    guest_of = known.text("hypervisor")
    if guest_of is None:
        return []
    name, wanted = "steal time", "reported: it tells the host's doing from the guest's"
    total_s = counters.stolen_s(files)
    if total_s:
        return [check("measuring", name, "good", f"reported; {total_s:.2f} s since boot", wanted)]
    how = "steal reporting is the host's to grant; on KVM the guest needs CONFIG_PARAVIRT"
    now = "not reported"
    if total_s is not None:
        now = "0 since boot: the host took nothing, or does not say"
    state: State = "missing" if total_s is None else "unknown"
    return [check("measuring", name, state, now, wanted, how=how)]


def _management_interrupts(files: Files, known: Known) -> list[Check]:
    if not any("GenuineIntel" in p.get("vendor_id", "") for p in cpu.processors(files)[:1]):
        return []
    name, wanted = "SMI count", "readable: system management interrupts show nowhere else"
    readings = list(files.match(counters.MSR))
    if any(files.data(path) for _, path in readings):
        return [check("measuring", name, "good", "readable (MSR 0x34)", wanted)]
    if known.text("hypervisor") is not None:
        now = "not readable; a guest sees no SMIs, its host's show as steal"
        return [check("measuring", name, "unknown", now, wanted)]
    now = "no /dev/cpu/*/msr"
    if readings:
        now = f"not readable ({files.closed(readings[0][1])})"
    how = "modprobe msr, and run as root (kernel lockdown forbids it)"
    return [check("measuring", name, "missing", now, wanted, how=how)]


def _type_format(files: Files) -> Check:
    name, wanted = "kernel types (BTF)", "there: the BPF flight recorder needs them"
    how = "a kernel with CONFIG_DEBUG_INFO_BTF=y; without it events are recorded through tracefs"
    content = files.content(tracing.BTF)
    if content is None:
        return check("explaining", name, "missing", "not there", wanted, how=how)
    if content.error is not None:
        return check(
            "explaining", name, "unknown", f"not readable ({content.error})", wanted, how=how
        )
    if content.data[:2] not in {b"\x9f\xeb", b"\xeb\x9f"}:
        return check("explaining", name, "missing", "there, but not BTF", wanted, how=how)
    return check("explaining", name, "good", "there", wanted)


def _tracefs(files: Files) -> Check:
    name, wanted = "tracefs", "mounted: what else is being traced shows there"
    for mount in tracing.MOUNTS:
        content = files.content(f"{mount}/available_tracers")
        if content is None:
            continue
        if content.error is not None:
            now = f"{mount} is not readable ({content.error})"
            return check("explaining", name, "missing", now, wanted, how="run as root")
        names = files.names(f"{mount}/events") or []
        systems = [n for n in names if n not in {"enable", "header_event", "header_page"}]
        now = f"{mount}, {len(systems)} event systems"
        return check("explaining", name, "good", now, wanted)
    how = "mount -t tracefs nodev /sys/kernel/tracing, as root; the recorder does so for itself"
    return check("explaining", name, "unknown", "not mounted, or closed to us", wanted, how=how)


def _tracers(files: Files) -> Check:
    name, wanted = "osnoise and timerlat", "built in: they measure inside the kernel"
    how = "a kernel from 5.14 on with CONFIG_OSNOISE_TRACER=y and CONFIG_TIMERLAT_TRACER=y"
    mount = tracing.tracefs(files)
    text = None if mount is None else files.text(f"{mount}/available_tracers")
    if text is None:
        return check("explaining", name, "unknown", "tracefs is not readable", wanted, how=how)
    have = [tracer for tracer in ("osnoise", "timerlat") if tracer in text.split()]
    state: State = "good" if len(have) == 2 else "missing"
    return check("explaining", name, state, " and ".join(have) or "neither", wanted, how=how)


def _processor_counters(files: Files, probe: ProbeFacts) -> Check:
    name, wanted = "CPU counters (PMU)", "there and open: cycles and cache misses per window"
    pmus = tracing.processor_pmus(files)
    level = files.number(tracing.PARANOID)
    if pmus is None:
        how = "a kernel with CONFIG_PERF_EVENTS=y"
        return check("explaining", name, "missing", "perf is not there", wanted, how=how)
    if not pmus:
        how = "firmware, device tree or, for a guest, the host's settings must grant a PMU"
        return check("explaining", name, "missing", "no PMU of the CPUs", wanted, how=how)
    allowed = may(probe, CAP_PERFMON) or may(probe, CAP_SYS_ADMIN)
    now = f"{', '.join(pmus)}; perf_event_paranoid {'?' if level is None else level}"
    if allowed or (level is not None and level <= 1):
        return check("explaining", name, "good", now, wanted)
    how = "run as root, or sysctl kernel.perf_event_paranoid=1"
    return check("explaining", name, "missing", now, wanted, how=how)


def _symbols(files: Files, found: SymbolsReport | None) -> Check:
    name, wanted = "kernel symbols", "with addresses: they name the place of a stall"
    how = "run as root; kernel.kptr_restrict at 2 is lowered while symbols are read"
    data = files.data(tracing.KALLSYMS)
    if not data:
        how = "a kernel with CONFIG_KALLSYMS=y"
        return check("explaining", name, "missing", "no /proc/kallsyms", wanted, how=how)
    addresses = [line.split(" ")[0] for line in decode(data).split("\n")[:-1]]
    if any(address.strip("0") for address in addresses):
        return check("explaining", name, "good", "with addresses", wanted)
    if found is not None and found.lowered and found.shown:
        now = f"hidden (kernel.kptr_restrict={found.kptr_restrict}), shown while they are read"
        return check("explaining", name, "good", now, wanted)
    return check("explaining", name, "missing", "addresses are hidden (all 0)", wanted, how=how)
