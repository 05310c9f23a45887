"""The processors' own counters: which there are, and what they counted over a known stretch.

A counter that is there and reads 0 is news: the board has a PMU that does not count (QEMU without
-icount, a PMU whose clock is off), and what is computed from it would be worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from whylate.boards.facts.reading import Files, by_value, make_fact
from whylate.boards.facts.snapshot import CpuCounts, FileRequest, ProbeFacts
from whylate.boards.facts.tracing import PMUS
from whylate.recording.manifest import Fact

_NAMES = ("cpu", "cpu_*", "armv*")
#: Cycles and instructions as x86 and ARM call them.
_EVENTS = frozenset({"cpu-cycles", "cpu_cycles", "instructions", "inst_retired"})

WANTED = (
    *(FileRequest(f"{PMUS}/{name}/type", 16) for name in _NAMES),
    *(FileRequest(f"{PMUS}/{name}/events", 4096, kind="list") for name in _NAMES),
)

NONE = "none"


def pmu_facts(files: Files, probe: ProbeFacts) -> list[Fact]:
    """Events that the counters offer, and cycles and instructions of a chain on each CPU."""
    facts: list[Fact] = []
    types = [
        f"{name}: type {text}"
        for (name,), path in files.match(f"{PMUS}/*/type")
        if (text := files.text(path))
    ]
    if types:
        facts.append(make_fact("pmu_types", types, f"{PMUS}/*/type"))
    listed = list(files.match(f"{PMUS}/*/events"))
    events = [
        f"{pmu}/{event}"
        for (pmu,), path in listed
        for event in files.names(path) or []
        if event in _EVENTS
    ]
    if listed:
        facts.append(make_fact("pmu_events", events, f"{PMUS}/*/events"))
    return facts + count_facts(probe)


def count_facts(probe: ProbeFacts) -> list[Fact]:
    """Cycles, instructions and their ratio by CPU: "none" without a counter, "reads 0" as it is."""
    counted = {one.cpu: one.counts for one in probe.cpu_frequencies if one.counts is not None}
    if not counted:
        return []
    chain = next(iter(counted.values())).chain
    stretch = f"perf_event_open over {chain} chained instructions and their loop"
    source = f"{stretch}; of user mode alone where the counter can tell"
    return [
        make_fact(name, by_value({cpu: show(c) for cpu, c in counted.items()}), source)
        for name, show in _SHOWN
    ]


def _cycles(counts: CpuCounts) -> str:
    return _count(counts.cycles, counts.cycles_error)


def _instructions(counts: CpuCounts) -> str:
    return _count(counts.instructions, counts.instructions_error)


def _count(value: int, error: str | None) -> str:
    if error is None:
        return str(value) if value else "reads 0"
    why = {
        "ENOENT": "no such counter",
        "ENODEV": "no such counter",
        "EOPNOTSUPP": "no such counter",
        "ENOSYS": "no perf events in this kernel",
        "EBUSY": "others hold the counter",
        "EACCES": "not allowed: kernel.perf_event_paranoid",
        "EPERM": "not allowed: kernel.perf_event_paranoid",
    }.get(error, error)
    return f"{NONE} ({why})"


def _per_cycle(counts: CpuCounts) -> str:
    if counts.cycles_error or counts.instructions_error or not counts.cycles:
        return f"{NONE} (it takes both counts)"
    if not counts.instructions:
        return f"{NONE} (the instructions read 0)"
    return f"{counts.instructions / counts.cycles:.2f}"


_SHOWN: tuple[tuple[str, Callable[[CpuCounts], str]], ...] = (
    ("pmu_cycles", _cycles),
    ("pmu_instructions", _instructions),
    ("pmu_instructions_per_cycle", _per_cycle),
)
