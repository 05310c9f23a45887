"""What an activation would have been without a cause: two bounds, by the order of its pieces."""

from __future__ import annotations

import pytest

from whylate.causes.counterfactual import (
    Bounds,
    Removal,
    UnknownCauseError,
    bound_without,
    clip_breakdown,
    longest_spent,
    select_causes,
)
from whylate.causes.population import RESOLUTION_NS, Breakdown, Key
from whylate.causes.window.piece import Cause, Piece

US = 1_000
LOCK: Key = (Cause.INTERRUPTS_DISABLED, "f [drv]")
REMOVED = Removal(frozenset({LOCK}))


def breakdown(*parts: tuple[int, Cause, str], due_us: int = 0) -> Breakdown:
    """An activation whose pieces follow one another; lengths in µs."""
    pieces, at = [], due_us * US
    for length_us, cause, detail in parts:
        pieces.append(Piece(at, at + length_us * US, cause, detail))
        at += length_us * US
    return Breakdown(0, 5, due_us * US, at - due_us * US, tuple(pieces))


OWN = (3, Cause.SCHEDULING, "")
SECTION = (100, *LOCK)


def test_what_remains_is_the_rest_where_nothing_came_behind_the_cause() -> None:
    alone = breakdown(SECTION, OWN, (2, Cause.RETURN, ""))
    assert bound_without(alone, REMOVED) == Bounds(5 * US - RESOLUTION_NS, 5 * US + RESOLUTION_NS)
    # No lower than a usual activation.
    assert bound_without(alone, REMOVED, usual_ns=4_500).low_ns == 4_500


def test_what_ran_behind_the_cause_may_have_queued_behind_it() -> None:
    behind = breakdown(SECTION, (50, Cause.SOFTIRQ, "NET_RX"), OWN)
    assert bound_without(behind, REMOVED) == Bounds(3 * US - RESOLUTION_NS, 54 * US)
    # What ran before it did not.
    before = breakdown((50, Cause.SOFTIRQ, "NET_RX"), SECTION, OWN)
    assert bound_without(before, REMOVED) == Bounds(52 * US, 54 * US)


@pytest.mark.parametrize("cause", [Cause.THROTTLING, Cause.BLOCKED, Cause.STEAL])
def test_what_ends_at_a_time_of_its_own_may_be_hidden_behind_the_cause(cause: Cause) -> None:
    hidden = breakdown(SECTION, (40, cause, ""), OWN)
    assert bound_without(hidden, REMOVED).high_ns == hidden.latency_ns
    ahead = breakdown((40, cause, ""), SECTION, OWN)
    assert bound_without(ahead, REMOVED).high_ns == 44 * US


def test_what_nobody_saw_may_have_been_the_cause_or_not() -> None:
    partly = breakdown((30, Cause.NOT_OBSERVED, ""), SECTION, OWN)
    bounds = bound_without(partly, REMOVED)
    assert bounds == Bounds(2 * US, 34 * US)
    without = breakdown((30, Cause.UNEXPLAINED, ""), (20, Cause.SOFTIRQ, "NET_RX"), OWN)
    assert bound_without(without, REMOVED) == Bounds(23 * US, 53 * US)
    lost = Breakdown(0, 5, 0, 100 * US, None)
    assert bound_without(lost, REMOVED, usual_ns=7 * US) == Bounds(7 * US, 100 * US)


def test_an_activation_without_the_cause_stays_as_it_is() -> None:
    other = breakdown((20, Cause.SOFTIRQ, "NET_RX"), (10, Cause.INTERRUPTS_DISABLED, "g"), OWN)
    assert bound_without(other, REMOVED) == Bounds(33 * US, 33 * US)


def test_twice_as_fast_a_section_ends_before_it_delays_or_half_of_it_remains() -> None:
    whole = breakdown(SECTION, OWN)
    late_in_it = breakdown((30, *LOCK), OWN)
    faster = longest_spent([whole, late_in_it], Removal(frozenset({LOCK}), speed=2.0))
    assert faster.longest_ns == 100 * US
    # Due when it began: half of it remains. Due 70 µs later: it would have been over by then.
    assert bound_without(whole, faster) == Bounds(52 * US, 54 * US)
    assert bound_without(late_in_it, faster) == Bounds(2 * US, 19 * US)


def test_faster_without_end_is_removed() -> None:
    activation = breakdown(SECTION, (9, Cause.SOFTIRQ, "NET_RX"), OWN)
    fast = longest_spent([activation], Removal(frozenset({LOCK}), speed=1e6))
    removed = bound_without(activation, REMOVED)
    assert bound_without(activation, fast).low_ns == pytest.approx(removed.low_ns, abs=2)
    assert bound_without(activation, fast).high_ns == pytest.approx(removed.high_ns, abs=2)


KEYS: list[Key] = [
    LOCK,
    (Cause.INTERRUPTS_DISABLED, "g"),
    (Cause.INTERRUPT, "eth0"),
    (Cause.SOFTIRQ, "TASKLET: work [drv]"),
    (Cause.UNEXPLAINED, ""),
    (Cause.SCHEDULING, ""),
]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("interrupts disabled", [0, 1]),
        ("interrupts disabled f", [0]),
        ("interrupt", [2]),
        ("interrupt  eth0", [2]),
        ("[drv]", [0, 3]),
        ("softirq TASKLET", [3]),
    ],
)
def test_a_name_means_a_cause_some_of_its_details_or_a_part_of_them(
    name: str, places: list[int]
) -> None:
    assert select_causes(name, KEYS) == {KEYS[place] for place in places}


@pytest.mark.parametrize("name", ["unexplained", "scheduling", "thread", "", "disabled"])
def test_what_is_no_cause_of_the_recording_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UnknownCauseError, match="there are: interrupt, interrupts disabled, soft"):
        select_causes(name, KEYS)


def test_an_activation_that_came_due_in_the_stall_has_the_pieces_from_then_on() -> None:
    stall = breakdown(SECTION, OWN, due_us=10)
    part = clip_breakdown(stall, 6, 80 * US, 33 * US)
    assert part.pieces == (
        Piece(80 * US, 110 * US, *LOCK),
        Piece(110 * US, 113 * US, Cause.SCHEDULING),
    )
    # What its window does not cover was not observed.
    longer = clip_breakdown(stall, 6, 80 * US, 50 * US)
    assert longer.pieces is not None
    assert longer.pieces[-1] == Piece(113 * US, 130 * US, Cause.NOT_OBSERVED)
    assert sum(piece.length_ns for piece in longer.pieces) == longer.latency_ns
