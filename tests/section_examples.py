"""Recordings of a section, from journals that are written by hand, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from section_journals import Execution, bins, result, rows, section_journal

from whylate.recording.finish import finish
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.recording.samples import Activations
from whylate.recording.treatments import Treatment
from whylate.summary.model import SectionFigures, Summary
from whylate.summary.summarize import summarize
from whylate.wire.constants import ExecutionPart, SectionHook
from whylate.wire.messages import (
    Message,
    SectionFloor,
    SectionLock,
    SectionPath,
    SectionResult,
    SectionStarted,
)

ALL_PARTS = sum(ExecutionPart)
#: Bits of flags of a wait for a lock: LCB_F_ of linux/lock.h.
SPIN, READ, WRITE, RT, PERCPU, MUTEX = 1, 2, 4, 8, 16, 32
#: What longer executions do: how many, for how long, ns, and their parts: interrupted, preempted,
#: asleep, waiting for a lock, and page faults.
LONGER = [
    (8, 11_000, (0, 0, 10_000, 0, 3)),
    (6, 9_000, (0, 8_000, 0, 0, 0)),
    (4, 5_000, (0, 0, 0, 4_000, 0)),
    (2, 3_000, ()),
]
USUAL_NS = 1_000


@dataclass(frozen=True)
class Example:
    """A recording and its summary."""

    summary: Summary
    manifest: Manifest
    series: Sequence[Activations]

    @property
    def section(self) -> SectionFigures:
        assert self.summary.section is not None
        return self.summary.section


def started(parts: int = ALL_PARTS, one_in: int = 1) -> SectionStarted:
    return SectionStarted(SectionHook.FENTRY, one_in, parts, 100_000_000, 17)


def lock(
    *callers: str, name: str = "", flags: int = MUTEX, address: int = 0, count: int = 2,
    total_ns: int = 3_000, longest_ns: int = 2_000,
) -> SectionLock:  # fmt: skip
    """Return waits for a lock, in the order of the message."""
    return SectionLock(address, name, flags, count, total_ns, longest_ns, callers)


def path(
    *callers: str, longer: int = 1, total_ns: int | None = None, longest_ns: int = 9_000,
    control: int = 0, lost: int = 0, above_ns: int = 2_000, sampled: int = 0,
) -> SectionPath:  # fmt: skip
    """Return executions that ended with the same callers, or were seen there, as the message."""
    if not longer:
        longest_ns = 0
    total_ns = longer * longest_ns if total_ns is None else total_ns
    return SectionPath(sampled, above_ns, longer, total_ns, longest_ns, control, lost, callers)


def floor(
    after: int = 0, floor_ns: int = 110, executions: int = 2_001, with_ns: int = 0,
    without_ns: int = 0, error: int = 0, text: str = "",
) -> SectionFloor:  # fmt: skip
    return SectionFloor(after, executions, floor_ns, with_ns, without_ns, error, text)


def executions() -> list[Execution]:
    """Return 400 executions of a thread 301, of which every 20th takes longer: those of LONGER."""
    longer = [(duration_ns, parts) for count, duration_ns, parts in LONGER for _ in range(count)]
    usual = (USUAL_NS, ())
    made = []
    for number in range(20 * len(longer)):
        duration_ns, parts = longer[number // 20] if number % 20 == 10 else usual
        made.append(Execution(301, 2_000_000 * number, duration_ns, parts=parts))
    return made


def recorded(
    directory: Path,
    *messages: Message,
    ran: Sequence[Execution] | None = None,
    account: SectionResult | None = None,
    parts: int = ALL_PARTS,
    one_in: int = 1,
    ended: bool = True,
    function: str = "vfs_read",
    comm: str | None = None,
    keep_above_ns: int | None = None,
    experiment: Treatment | None = None,
) -> Example:
    """Return the recording of a run on CPU 0; account: one that closes, where it is not given."""
    made = executions() if ran is None else ran
    sent: list[Message] = [rows(made), bins(made)] if made else []
    sent += messages
    sent += [account or result(len(made))] if ended else []
    section_journal(
        directory, *sent, seen=[len(made)], started=started(parts, one_in), ended=ended,
        function=function, comm=comm, keep_above_ns=keep_above_ns, experiment=experiment,
    )  # fmt: skip
    finish(directory)
    recording = open_recording(directory)
    summary = summarize(recording.series, recording.manifest, "r", executions=recording.executions)
    return Example(summary, recording.manifest, recording.series)


def with_section(example: Example, section: SectionFigures) -> Example:
    """Return an example with other figures of its section."""
    return Example(replace(example.summary, section=section), example.manifest, example.series)
