"""The longest section: what is disabled before the interrupt and after it is one section."""

from __future__ import annotations

import pytest

from whylate.causes.longest_sections import LongestSections
from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.timeline import Level, Segment

OFF, PREEMPT = Cause.INTERRUPTS_DISABLED, Cause.PREEMPTION_DISABLED


def pieces(*parts: tuple[int, Cause, str]) -> list[Piece]:
    made, at_ns = [], 0
    for length_ns, cause, detail in parts:
        made.append(Piece(at_ns, at_ns + length_ns, cause, detail))
        at_ns += length_ns
    return made


def segments(*parts: tuple[int, Level]) -> list[Segment]:
    made, at_ns = [], 0
    for length_ns, level in parts:
        made.append(Segment(at_ns, at_ns + length_ns, level))
        at_ns += length_ns
    return made


def sections(*activations: tuple[int, str, int]) -> LongestSections:
    """Return activations: ns with interrupts disabled, by which code, and ns after it."""
    longest = LongestSections()
    for off_ns, code, after_ns in activations:
        of = [(off_ns, OFF, code)] if off_ns else []
        after = [(after_ns, PREEMPT, "g")] if after_ns else []
        longest.add(pieces(*of, *after), segments((off_ns + after_ns, Level.THREAD)))
    return longest


def test_a_section_that_was_seen_as_either_counts_once() -> None:
    longest = sections(*[(300, "f", 0)] * 20, (200, "f", 2), (0, "", 302))
    assert longest.worst({}) == {PREEMPT: 302}


def test_what_follows_the_code_that_enables_interrupts_is_what_was_seen_to_follow_it() -> None:
    longest = sections(*[(300, "f", 10)] * 10, *[(90, "f", 40)] * 10, (0, "", 200))
    assert longest.worst({}) == {OFF: 300, PREEMPT: 40}


@pytest.mark.parametrize(("code", "times"), [("f", 19), ("", 50)])
def test_of_code_that_was_seen_few_times_or_has_no_name_anything_may_follow(
    code: str, times: int
) -> None:
    longest = sections(*[(300, code, 0)] * times, (0, "", 200))
    assert longest.worst({}) == {OFF: 300, PREEMPT: 200}


def test_after_a_softirq_the_section_that_it_interrupted_goes_on() -> None:
    longest = sections((0, "", 200))
    for _ in range(50):
        longest.add(pieces((300, OFF, "f")), segments((10, Level.THREAD), (290, Level.SOFTIRQ)))
    assert longest.worst({}) == {OFF: 300, PREEMPT: 200}


def test_after_two_codes_anything_may_follow() -> None:
    longest = sections((0, "", 200))
    for _ in range(50):
        two = pieces((100, OFF, "f"), (100, OFF, "g"))
        longest.add(two, segments((200, Level.THREAD)))
    assert longest.worst({}) == {OFF: 200, PREEMPT: 200}


def test_a_section_that_was_measured_longer_than_in_any_window_counts_with_the_other() -> None:
    longest = sections(*[(300, "f", 10)] * 20, (0, "", 200))
    assert longest.worst({OFF: 301}) == {OFF: 301, PREEMPT: 200}
    assert longest.worst({PREEMPT: 201}) == {OFF: 300, PREEMPT: 201}
    assert longest.worst({PREEMPT: 200}) == {OFF: 300, PREEMPT: 10}


def test_after_a_measured_section_of_which_the_code_is_not_known_anything_may_follow() -> None:
    """It may be of the code that was followed by more, and was seen with less."""
    longest = sections(*[(30, "f", 80)] * 20, *[(100, "g", 0)] * 20)
    assert longest.worst({}) == {OFF: 30, PREEMPT: 80}
    assert longest.worst({OFF: 90}) == {OFF: 90, PREEMPT: 80}


def test_it_is_no_less_than_the_section_of_any_activation() -> None:
    seen = [(off, code, after) for off in (0, 5, 90) for code in "fg" for after in (0, 7, 60)]
    longest = sections(*seen * 7)
    assert sum(longest.worst({}).values()) == 150
    assert sections().worst({}) == {}
