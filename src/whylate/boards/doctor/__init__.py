"""The doctor: what this board lets us see, how to get the rest, and what spoils its latency."""

from __future__ import annotations

from whylate.boards.doctor.check import Check, Known
from whylate.boards.doctor.flight import recorder_check
from whylate.boards.doctor.placement import placement_checks
from whylate.boards.doctor.settings import setting_checks
from whylate.boards.doctor.sight import explaining_checks, measuring_checks
from whylate.boards.facts import facts
from whylate.boards.facts.reading import Files
from whylate.boards.facts.snapshot import ProbeFacts, Snapshot
from whylate.recording.manifest import RecorderReport

__all__ = ["Check", "examine"]


def examine(
    snapshot: Snapshot, probe_facts: ProbeFacts, recorder: RecorderReport | None = None
) -> list[Check]:
    """Return every check, by group: measuring, explaining, settings.

    recorder: what the flight recorder reported when it was tried; None: it was not.
    The wanted values are the usual ones, not a verdict: what a setting costs on this board is
    for a comparison of runs to say. Never raises on what was read.
    """
    files = Files(snapshot)
    known = Known(facts(snapshot, probe_facts))
    return [
        *measuring_checks(files, probe_facts, known),
        *([recorder_check(recorder)] if recorder is not None else []),
        *explaining_checks(files, probe_facts, recorder),
        *setting_checks(known),
        *placement_checks(files, known),
    ]
