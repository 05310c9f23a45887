"""The scheduler's own way to a switch is not part of the section that it waited for."""

from __future__ import annotations

import pytest

from whylate.causes.episodes import control_switching_ns, less_switching, without_switching
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece, Stage


def breakdown(*spent: tuple[Cause, int, Stage]) -> Breakdown:
    pieces, at = [], 0
    for cause, ns, stage in spent:
        pieces.append(Piece(at, at + ns, cause, "x", stage))
        at += ns
    return Breakdown(0, 1, 0, at, tuple(pieces))


def told(breakdown: Breakdown) -> list[tuple[Cause, int]]:
    return [(piece.cause, piece.length_ns) for piece in breakdown.pieces or ()]


def test_ordinary_is_the_median_of_what_the_scheduler_took_before_the_switch() -> None:
    control = [
        breakdown((Cause.INTERRUPT, 100, Stage.WAKING), (Cause.SCHEDULING, ns, Stage.RUNNABLE),
                  (Cause.RETURN, 50, Stage.RUNNING))
        for ns in (900, 2_000, 2_100)
    ]  # fmt: skip
    assert control_switching_ns(control) == 2_000
    assert control_switching_ns([]) == 0


@pytest.mark.parametrize(
    ("section", "left"),
    [
        (30_000, [(Cause.PREEMPTION_DISABLED, 28_000), (Cause.SCHEDULING, 2_000)]),
        (1_500, [(Cause.SCHEDULING, 1_500)]),
    ],
)
def test_the_end_of_a_section_before_its_switch_is_the_schedulers(
    section: int, left: list[tuple[Cause, int]]
) -> None:
    one = breakdown(
        (Cause.INTERRUPT, 100, Stage.WAKING),
        (Cause.PREEMPTION_DISABLED, section, Stage.RUNNABLE),
        (Cause.RETURN, 50, Stage.RUNNING),
    )
    found = less_switching(one, 2_000)
    assert told(found) == [(Cause.INTERRUPT, 100), *left, (Cause.RETURN, 50)]
    assert sum(ns for _, ns in told(found)) == one.latency_ns


def test_only_a_section_that_the_switch_follows_has_such_an_end() -> None:
    interrupted = breakdown(
        (Cause.PREEMPTION_DISABLED, 9_000, Stage.RUNNABLE), (Cause.INTERRUPT, 100, Stage.RUNNABLE)
    )
    thread = breakdown((Cause.THREAD, 9_000, Stage.RUNNABLE), (Cause.RETURN, 50, Stage.RUNNING))
    assert less_switching(interrupted, 2_000) == interrupted
    assert less_switching(thread, 2_000) == thread
    assert less_switching(thread, 0) == thread


def test_late_and_ordinary_ones_are_corrected_alike() -> None:
    usual = [breakdown((Cause.SCHEDULING, 2_000, Stage.RUNNABLE))] * 2
    held = breakdown((Cause.PREEMPTION_DISABLED, 5_000, Stage.RUNNABLE))
    late, control = without_switching([held], [*usual, held])
    left = [(Cause.PREEMPTION_DISABLED, 3_000), (Cause.SCHEDULING, 2_000)]
    assert told(late[0]) == told(control[2]) == left
