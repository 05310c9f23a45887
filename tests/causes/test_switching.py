"""The scheduler's own way to a switch is not part of the section that it waited for."""

from __future__ import annotations

import pytest

from whylate.causes.episodes import control_switching_ns, corrected, less_switching, usual_of
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


def test_the_cost_of_switching_is_that_of_control_activations() -> None:
    control = [breakdown((Cause.SCHEDULING, 2_000, Stage.RUNNABLE))] * 2
    held = breakdown((Cause.PREEMPTION_DISABLED, 5_000, Stage.RUNNABLE))
    left = [(Cause.PREEMPTION_DISABLED, 3_000), (Cause.SCHEDULING, 2_000)]
    assert told(corrected(held, usual_of([*control, held]))) == left


def test_a_way_back_that_is_far_longer_than_usual_is_unexplained() -> None:
    control = [breakdown((Cause.RETURN, 8_000, Stage.RUNNING))] * 100
    usual = usual_of(control)
    slow = breakdown((Cause.RETURN, 15_000, Stage.RUNNING))
    assert corrected(slow, usual) == slow
    hooked = breakdown((Cause.RETURN, 300_000, Stage.RUNNING))
    assert told(corrected(hooked, usual)) == [
        (Cause.RETURN, 16_000), (Cause.UNEXPLAINED, 284_000)
    ]  # fmt: skip


def test_a_few_microseconds_need_no_explanation_where_nothing_is_usual() -> None:
    usual = usual_of([])
    short = breakdown((Cause.SCHEDULING, 10_000, Stage.RUNNABLE))
    assert corrected(short, usual) == short
    longer = breakdown((Cause.SCHEDULING, 30_000, Stage.RUNNABLE))
    assert told(corrected(longer, usual)) == [
        (Cause.SCHEDULING, 10_000), (Cause.UNEXPLAINED, 20_000)
    ]  # fmt: skip
