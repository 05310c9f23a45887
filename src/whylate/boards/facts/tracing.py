"""What traces the kernel now, and what could: tracers, events, symbols, performance counters.

A counter that exists and reads 0 is worth a fact: the board has a PMU that does not count (QEMU
without -icount, a PMU whose clock is off), and what is computed from it means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whylate.boards.facts.reading import Files, bounded, by_value, integer, make_fact
from whylate.boards.facts.snapshot import CpuCounts, FileRequest
from whylate.boards.facts.sources import Derived, FromFile, Source
from whylate.recording.manifest import Fact

#: Where tracefs may be mounted: its own directory, and the old one inside debugfs.
MOUNTS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
DMA_LATENCY = "/dev/cpu_dma_latency"
BTF = "/sys/kernel/btf/vmlinux"
KALLSYMS = "/proc/kallsyms"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_PMUS = "/sys/bus/event_source/devices"

_PMU_NAMES = ("cpu", "cpu_*", "armv*")
#: Cycles and instructions as x86 and ARM call them.
_PMU_EVENTS = frozenset({"cpu-cycles", "cpu_cycles", "instructions", "inst_retired"})
#: Why a counter cannot be read.
_REASONS = {
    "ENOENT": "no such counter",
    "ENODEV": "no such counter",
    "EOPNOTSUPP": "no such counter",
    "ENOSYS": "no perf events in this kernel",
    "EBUSY": "others hold the counter",
    "EACCES": "not allowed: kernel.perf_event_paranoid",
    "EPERM": "not allowed: kernel.perf_event_paranoid",
}


def find_tracefs(files: Files) -> str | None:
    """Return where tracefs is mounted, or None."""
    for mount in MOUNTS:
        if files.content(f"{mount}/available_tracers") is not None:
            return mount
    return None


def read_processor_pmus(files: Files) -> list[str] | None:
    """Return the names of the processors' own performance counters; None where not readable."""
    names = files.names(_PMUS)
    if names is None:
        return None
    # "cpu_atom" and "cpu_core" on hybrid x86, "armv8_pmuv3_0" and "armv7_cortex_a9" on ARM.
    return [name for name in names if name == "cpu" or name.startswith(("cpu_", "armv"))]


def _tracefs(files: Files) -> Iterator[Fact]:
    if (mount := find_tracefs(files)) is None:
        return
    tracers = FromFile("tracers_available", f"{mount}/available_tracers", 512, str.split)
    yield from tracers.facts(files)
    tracer = files.text(f"{mount}/current_tracer")
    if tracer is None:
        return
    running = [] if tracer in {"", "nop"} else [f"tracer {tracer}"]
    if files.number(f"{mount}/tracing_on") != 0:
        events = [line for line in files.lines(f"{mount}/set_event") if line.strip()]
        running += [f"event {event}" for event in events]
    yield make_fact("tracing_active", bounded(running), mount)


def _processor_pmus(files: Files) -> Iterator[Fact]:
    if (pmus := read_processor_pmus(files)) is not None:
        yield make_fact("processor_pmus", pmus, _PMUS)


TRACING: tuple[Source, ...] = (
    Derived(
        _tracefs,
        tuple(
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
    ),
    FromFile("ftrace_enabled", "/proc/sys/kernel/ftrace_enabled", 16, integer),
    FromFile("schedstats", "/proc/sys/kernel/sched_schedstats", 16, integer),
    FromFile("bpf_stats", "/proc/sys/kernel/bpf_stats_enabled", 16, integer),
    # 0: programs are interpreted. Without the file the kernel has no compiler for them.
    FromFile("bpf_jit", "/proc/sys/net/core/bpf_jit_enable", 16, integer),
    FromFile("perf_event_paranoid", PARANOID, 16, integer),
    FromFile("kptr_restrict", "/proc/sys/kernel/kptr_restrict", 16, integer),
    Derived(
        _processor_pmus,
        (
            FileRequest(_PMUS, 4096, kind="list"),
            # For the doctor.
            FileRequest(BTF, 4),
            # Enough lines to get past x86's per-CPU symbols, which begin at address 0.
            FileRequest(KALLSYMS, 512),
            # A read of four bytes returns the strictest request now in force, in µs, as an s32.
            FileRequest(DMA_LATENCY, 4),
        ),
    ),
)


def _pmus(files: Files) -> Iterator[Fact]:
    source = f"{_PMUS}/*/type"
    types = [
        f"{name}: type {text}"
        for (name,), path in files.match(source)
        if (text := files.text(path))
    ]
    if types:
        yield make_fact("pmu_types", types, source)
    source = f"{_PMUS}/*/events"
    if listed := list(files.match(source)):
        events = [
            f"{pmu}/{event}"
            for (pmu,), path in listed
            for event in files.names(path) or []
            if event in _PMU_EVENTS
        ]
        yield make_fact("pmu_events", events, source)


def make_count_facts(files: Files) -> Iterator[Fact]:
    """Cycles, instructions and their ratio by CPU: "none" without a counter, "reads 0" as it is."""
    counted = {f.cpu: f.counts for f in files.probe.cpu_frequencies if f.counts is not None}
    if not counted:
        return
    chain = next(iter(counted.values())).chain
    source = (
        f"perf_event_open over {chain} chained instructions and their loop; of user mode alone "
        "where the counter can tell"
    )
    for name, show in _COUNT_FACTS.items():
        yield make_fact(name, by_value({cpu: show(c) for cpu, c in counted.items()}), source)


def _show_count(value: int, error: str | None) -> str:
    if error is not None:
        return f"none ({_REASONS.get(error, error)})"
    return str(value) if value else "reads 0"


def _show_ratio(counts: CpuCounts) -> str:
    if counts.cycles_error or counts.instructions_error or not counts.cycles:
        return "none (it takes both counts)"
    if not counts.instructions:
        return "none (the instructions read 0)"
    return f"{counts.instructions / counts.cycles:.2f}"


_COUNT_FACTS: dict[str, Callable[[CpuCounts], str]] = {
    "pmu_cycles": lambda c: _show_count(c.cycles, c.cycles_error),
    "pmu_instructions": lambda c: _show_count(c.instructions, c.instructions_error),
    "pmu_instructions_per_cycle": _show_ratio,
}

COUNTERS: tuple[Source, ...] = (
    Derived(
        _pmus,
        (
            *(FileRequest(f"{_PMUS}/{name}/type", 16) for name in _PMU_NAMES),
            *(FileRequest(f"{_PMUS}/{name}/events", 4096, kind="list") for name in _PMU_NAMES),
        ),
    ),
    Derived(make_count_facts),
)
