"""Recordings of executions with counts, of which it is known what took their time."""

from __future__ import annotations

from pathlib import Path

from section_count_journals import counts, executions, section_journal

from whylate.recording.finish import finish
from whylate.recording.reader import Recording, open_recording
from whylate.summary.model import Summary
from whylate.summary.summarize import summarize
from whylate.wire.messages import Message

EVENTS = ("cycles", "instructions", "l1i-stall", "l1d-stall")
USUAL = (1_000, 2_000, 100, 100)
#: By class: how long it takes, ns, and its counts; all but the first ran for longer.
ROWS = {
    "usual": (1_000, USUAL),
    "instruction side": (5_000, (5_000, 2_000, 4_000, 100)),
    "data side": (9_000, (9_000, 2_000, 100, 8_000)),
    "spinning": (3_000, (3_000, 6_000, 100, 100)),
    "unexplained": (11_000, USUAL),
}
#: Of 20 executions in turn each of the others is one.
TURN = [*["usual"] * 16, *list(ROWS)[1:]]
_SENT = 16


def counted_recording(directory: Path, events: tuple[str, ...] = EVENTS) -> Recording:
    """Return the recording of 400 executions; events: of EVENTS the first that were counted."""
    ran = [ROWS[name] for name in TURN * 20]
    sent: list[Message] = []
    for first in range(0, len(ran), _SENT):
        some = ran[first : first + _SENT]
        sent.append(executions([ns for ns, _ in some], first))
        if events:
            sent.append(counts([_counted(row, len(events)) for _, row in some], first))
    section_journal(directory, [ns for ns, _ in ran], *sent, counters=events)
    finish(directory)
    return open_recording(directory)


def summary_of(directory: Path, events: tuple[str, ...] = EVENTS) -> Summary:
    """Return its summary."""
    recording = counted_recording(directory, events)
    return summarize(recording.series, recording.manifest, "r", executions=recording.executions)


def _counted(row: tuple[int, ...], events: int) -> tuple[int, ...]:
    return (0, *row[:events], *[0] * (len(row) - events))
