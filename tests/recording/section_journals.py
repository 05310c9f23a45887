"""Journals of a section's executions, written down by hand as a probe would send them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from journals import START, opening, write_journal
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording.treatments import Treatment
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.wire.constants import SectionHook
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    ExecutionBins,
    Executions,
    Message,
    Result,
    SectionArm,
    SectionResult,
    SectionStarted,
)

SECOND = 1_000_000_000
DRAWN, MOVED, TREATED, PLACEBO = 1, 2, 4, 8
#: Interrupted, preempted, asleep, waiting for a lock; page faults, and their time; steal; samples,
#: and those of spinning.
PARTS = 9
STARTED = SectionStarted(SectionHook.FENTRY, 1, 0, 100_000_000, 17)


@dataclass(frozen=True)
class Execution:
    """One execution; begin_ns: since START. parts: 0 where they end."""

    pid: int
    begin_ns: int
    duration_ns: int
    begin_cpu: int = 0
    flags: int = DRAWN
    parts: tuple[int, ...] = ()


def bin_of(duration_ns: int) -> int:
    """Return the bin of a duration, by the text of schema/wire.toml."""
    if duration_ns < 16:
        return duration_ns
    octave = duration_ns.bit_length() - 1
    return 16 * (octave - 3) + (duration_ns >> (octave - 4) & 15)


def rows(executions: Sequence[Execution], first: int = 0, cpu: int = 0) -> Executions:
    """Return a block of executions that ended on that CPU."""
    data, before = b"", 0
    for each in executions:
        data += leb128(zigzag(each.begin_ns - before)) + leb128(each.duration_ns)
        data += leb128(each.pid) + leb128(each.flags | each.begin_cpu << 8)
        # Its parts and page faults.
        data += b"".join(map(leb128, (*each.parts, *[0] * (PARTS - len(each.parts)))))
        before = each.begin_ns
    return Executions(cpu, len(executions), first, data)


def bins(executions: Sequence[Execution], cpu: int = 0) -> ExecutionBins:
    """Return how many of them fell into each bin."""
    counts = sorted(Counter(bin_of(each.duration_ns) for each in executions).items())
    return raw_bins(*(number for pair in counts for number in pair), cpu=cpu)


def raw_bins(*numbers: int, cpu: int = 0) -> ExecutionBins:
    """Return bins as they are given: each bin's number, and how many it has."""
    data, before = b"", 0
    for number, count in zip(numbers[::2], numbers[1::2], strict=True):
        data += leb128(zigzag(number - before)) + leb128(count)
        before = number
    return ExecutionBins(cpu, len(numbers) // 2, data)


def arm(
    treated: int, entries: int, *bins: int, reads: int = 16, returned: int | None = None,
    failed: int = 0,
) -> SectionArm:  # fmt: skip
    """Return an arm of an experiment; bins: numbers and counts, as of raw_bins()."""
    data = raw_bins(*bins)
    returned = entries if returned is None else returned
    return SectionArm(treated, reads, entries, returned, failed, data.bins, data.data)


def result(returned: int, **counts: int) -> SectionResult:
    """Return an account that closes, unless `entries` is among the counts."""
    names = ("in_flight", "left", "too_deep", "no_room", "unmatched", "missed")
    parts = {name: counts.get(name, 0) for name in names}
    entries = returned + sum(parts[name] for name in names[:4])
    return SectionResult(entries=counts.get("entries", entries), returned=returned, **parts)


def section_journal(
    directory: Path,
    *messages: Message,
    seen: Sequence[int],
    dropped: Sequence[int] = (),
    started: Message | None = STARTED,
    ended: bool = True,
    function: str = "vfs_read",
    comm: str | None = None,
    keep_above_ns: int | None = None,
    experiment: Treatment | None = None,
) -> Path:
    """Write the journal of a second's run; seen, dropped: what the probe counted on each CPU."""
    begun = opening(None)
    place = KernelFunction(function)
    workload = Section(
        duration_ns=SECOND,
        recorder=None,
        place=place,
        comm=comm,
        keep_above_ns=keep_above_ns,
        experiment=experiment,
    )
    plan = replace(begun.plan, workload=workload, cpus=list(range(len(seen))))
    sent: list[Message] = [started] if started is not None else []
    sent += [CpuStarted(cpu, 0, 0, 0, START, START + SECOND, 0) for cpu in range(len(seen))]
    sent += messages
    if ended:
        lost = [*dropped, *[0] * len(seen)]
        sent += [CpuResult(cpu, 0, 0, 0, START, START + SECOND, count, 0, lost[cpu])
                 for cpu, count in enumerate(seen)]  # fmt: skip
        sent += [Result(1_000, 1_000)]
    return write_journal(directory, replace(begun, plan=plan), sent, ended=ended)
