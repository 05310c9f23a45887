"""What watches the kernel now, and what could: tracers, events, counters, symbols, MSRs."""

from __future__ import annotations

from whylate.boards.facts.reading import Files, bounded, file_fact, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

#: Where tracefs may be mounted: its own place, and the old one inside debugfs.
MOUNTS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
DMA_LATENCY = "/dev/cpu_dma_latency"
BTF = "/sys/kernel/btf/vmlinux"
KALLSYMS = "/proc/kallsyms"
PMUS = "/sys/bus/event_source/devices"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"

WANTED = (
    *(
        request
        for mount in MOUNTS
        for request in (
            FileRequest(f"{mount}/available_tracers", 512),
            FileRequest(f"{mount}/current_tracer", 64),
            FileRequest(f"{mount}/tracing_on", 16),
            FileRequest(f"{mount}/set_event", 4096),
            FileRequest(f"{mount}/events", 8192, kind="list"),
        )
    ),
    FileRequest("/proc/sys/kernel/ftrace_enabled", 16),
    FileRequest("/proc/sys/kernel/sched_schedstats", 16),
    FileRequest("/proc/sys/kernel/bpf_stats_enabled", 16),
    FileRequest(PARANOID, 16),
    FileRequest("/proc/sys/kernel/kptr_restrict", 16),
    FileRequest(PMUS, 4096, kind="list"),
    FileRequest(BTF, 4),
    # Enough lines to get past x86's per-CPU symbols, the first of which stands at address 0.
    FileRequest(KALLSYMS, 512),
    # Four bytes: that read answers with the tightest request now in force, in µs, as an s32.
    FileRequest(DMA_LATENCY, 4),
)


def tracefs(files: Files) -> str | None:
    """Where tracefs is mounted, or None."""
    for mount in MOUNTS:
        if files.content(f"{mount}/available_tracers") is not None:
            return mount
    return None


def processor_pmus(files: Files) -> list[str] | None:
    """Return the names of the processors' own performance counters; None where not readable."""
    names = files.names(PMUS)
    if names is None:
        return None
    # "cpu_atom" and "cpu_core" on hybrid x86, "armv8_pmuv3_0" and "armv7_cortex_a9" on ARM.
    return [name for name in names if name == "cpu" or name.startswith(("cpu_", "armv"))]


def active(files: Files) -> list[str] | None:
    """Return what tracing is switched on, [] for none; None where tracefs cannot be read."""
    mount = tracefs(files)
    if mount is None or files.text(f"{mount}/current_tracer") is None:
        return None
    tracer = files.text(f"{mount}/current_tracer") or "nop"
    running = [] if tracer == "nop" else [f"tracer {tracer}"]
    events = [line for line in files.lines(f"{mount}/set_event") if line.strip()]
    if files.number(f"{mount}/tracing_on") == 0:
        events = []
    return bounded(running + [f"event {event}" for event in events])


def tracing_facts(files: Files) -> list[Fact]:
    """Tracers and events, perf's permissions and counters."""
    facts: list[Fact] = []
    mount = tracefs(files)
    if mount is not None:
        facts += file_fact(files, "tracers_available", f"{mount}/available_tracers", str.split)
        running = active(files)
        if running is not None:
            facts.append(make_fact("tracing_active", running, mount))
    facts += file_fact(files, "ftrace_enabled", "/proc/sys/kernel/ftrace_enabled", integer)
    facts += file_fact(files, "schedstats", "/proc/sys/kernel/sched_schedstats", integer)
    facts += file_fact(files, "bpf_stats", "/proc/sys/kernel/bpf_stats_enabled", integer)
    facts += file_fact(files, "perf_event_paranoid", PARANOID, integer)
    facts += file_fact(files, "kptr_restrict", "/proc/sys/kernel/kptr_restrict", integer)
    pmus = processor_pmus(files)
    if pmus is not None:
        facts.append(make_fact("processor_pmus", pmus, PMUS))
    return facts
