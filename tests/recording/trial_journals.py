"""Journals of trials, written down by hand as a probe would send them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from journals import opening, write_journal
from msgspec.structs import replace

from whylate.recording.points import CounterPlan, Point, TrialsPlan, workload_of_points
from whylate.wire.messages import Message, Result


def plan_of(
    points: Sequence[Point],
    *,
    rounds: int = 2,
    repetitions: int = 2,
    counters: Sequence[CounterPlan] = (),
) -> TrialsPlan:
    """Return a plan whose rounds have the points in their order."""
    order = list(range(len(points))) * rounds
    return TrialsPlan(list(points), rounds, repetitions, 1_000_000, order, 0, list(counters))


def trial_journal(
    directory: Path, plan: TrialsPlan, *messages: Message, ended: bool = True
) -> Path:
    """Write the journal of a run."""
    begun = opening(None)
    whole = replace(
        begun.plan, workload=workload_of_points(plan.points), duration_ns=0, interval_ns=0,
        priority=0, trials=plan,
    )  # fmt: skip
    sent = [*messages, *([Result(1_000, 1_000)] if ended else [])]
    return write_journal(directory, replace(begun, plan=whole), sent, ended=ended)
