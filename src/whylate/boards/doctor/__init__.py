"""The doctor: what can be seen on a board, how to get the rest, and what spoils its latency."""

from __future__ import annotations

from whylate.boards.doctor.check import Check, Examined
from whylate.boards.doctor.processors import PROCESSORS
from whylate.boards.doctor.settings import KERNEL_AND_MEMORY
from whylate.boards.doctor.visibility import EXPLAINING, MEASURING
from whylate.boards.facts.reading import Files
from whylate.boards.facts.snapshot import ProbeFacts, Snapshot
from whylate.recording.manifest import RecorderReport

__all__ = ["Check", "examine"]

_RULES = (*MEASURING, *EXPLAINING, *KERNEL_AND_MEMORY, *PROCESSORS)


def examine(
    snapshot: Snapshot, probe_facts: ProbeFacts, recorder: RecorderReport | None = None
) -> list[Check]:
    """Return every check, by group: measuring, explaining, settings.

    recorder: what the flight recorder reported when it was tried; None: it was not.
    The wanted values are the usual ones, not a verdict: only a comparison of runs shows what a
    setting costs on this board. Never raises on what was read.
    """
    board = Examined(Files(snapshot, probe_facts), recorder)
    return [check for rule in _RULES if (check := rule.check(board)) is not None]
