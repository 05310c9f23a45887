"""A link whose other end is gone, or means harm: nothing raises, and nothing grows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_line import Pair, control, note

from whylate.probe.link import MAX_WAITING, Link
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame, encode_frame
from whylate.wire.messages import (
    FIRST_CONTROL,
    FRAGMENT_SIZE,
    MAX_PAYLOAD,
    Ack,
    Done,
    Fragment,
    Mark,
    Marked,
    Message,
    Note,
    Resend,
    Stop,
    Tail,
)


def test_received_messages_survive_a_failed_answer() -> None:
    def gone(_: bytes) -> None:
        raise BrokenPipeError

    sender = Pair()
    stream = b"".join(sender.written(note(10)) for _ in range(40))
    link = Link(gone)
    assert [frame.number for frame in link.receive(stream)] == list(range(1, 41))
    assert link.broken
    with pytest.raises(OSError):  # noqa: PT011 - any will do: the caller says what it means
        link.send(Stop())


def test_a_message_that_no_frame_holds_is_refused_and_takes_no_number() -> None:
    pair = Pair()
    with pytest.raises(WireError, match="too long"):
        pair.board.send(note(MAX_PAYLOAD))
    assert pair.board.send(note(1)) == 1


@pytest.mark.parametrize(
    "frames",
    [
        [Ack(0), Ack(99), Ack((1 << 32) - 1)],
        [Resend(0, 65535, b""), Resend(7, 65535, b""), Resend((1 << 32) - 1, 65535, b"\xff" * 99)],
        [Tail(0), Tail(MAX_WAITING + 1), Tail((1 << 32) - 1)],
        [Fragment(1, 1, 0, 0, b""), Fragment(9, 1, 0, 1, b"x"), Fragment(1, 1, 9, 9, b"x")],
    ],
    ids=["acknowledged before it was sent", "never sent", "far ahead", "pieces of nothing"],
)
def test_control_frames_that_make_no_sense_change_nothing(frames: list[Message]) -> None:
    pair = Pair()
    pair.written(note(500))
    for frame in frames:
        assert pair.host.receive(control(frame)) == []
        pair.board.receive(control(frame))
    assert pair.host.counts.requests == 0
    pair.settle()
    assert [frame.number for frame in pair.at_host] == [1]
    assert (pair.host.counts.missing, pair.host.counts.lost) == (1, 0)


@pytest.mark.parametrize(
    "piece",
    [
        Fragment(1, 1, 2, 2, b"x" * FRAGMENT_SIZE),
        Fragment(1, 1, 0, 2, b"x"),
        Fragment(1, 1, 0, 2, b"x" * (FRAGMENT_SIZE + 1)),
        Fragment(1, 1, 0, 65535, b"x" * FRAGMENT_SIZE),
        Fragment(1, 1, 102, 103, b"x" * FRAGMENT_SIZE),
        Fragment(1, FIRST_CONTROL, 0, 1, b"x"),
    ],
    ids=["no such piece", "too short", "too long", "too many", "beyond a payload", "of the link"],
)
def test_a_piece_that_no_frame_has_is_malformed(piece: Fragment) -> None:
    pair = Pair()
    pair.written(note(10))
    pair.host.receive(control(Tail(1)))
    assert pair.host.receive(control(piece)) == []
    assert pair.host.counts.malformed == 1


def test_a_tail_asks_for_everything_up_to_the_window_and_no_more_at_once() -> None:
    written: list[bytes] = []
    link = Link(written.append)
    link.receive(control(Tail(MAX_WAITING)))
    assert link.counts.missing == MAX_WAITING
    assert 0 < link.counts.requests < 200
    assert sum(map(len, written)) < 10_000


small = st.integers(0, 6) | st.integers(0, 5000) | st.just((1 << 32) - 1)
u16 = st.integers(0, 5) | st.integers(100, 105) | st.just(65535)
hostile = st.one_of(
    st.binary(max_size=60),
    st.builds(lambda n: control(Ack(n)), small),
    st.builds(lambda n, c, b: control(Resend(n, c, b)), small, u16, st.binary(max_size=15)),
    st.builds(lambda n: control(Tail(n)), small),
    st.builds(lambda n: control(Mark(n)), small),
    st.builds(lambda n: control(Marked(n)), small),
    st.builds(
        lambda n, k, i, t, d: control(Fragment(n, k, i, t, d)),
        small,
        st.integers(0, 255),
        u16,
        u16,
        st.sampled_from([b"", b"x", b"y" * FRAGMENT_SIZE, b"z" * 300]),
    ),
    st.builds(encode_frame, st.integers(0, 255), small, st.binary(max_size=60)),
)
events = st.one_of(
    hostile, hostile, st.sampled_from([0.001, 0.2, 1.0, 30.0]), st.just(Note("n", "t" * 90))
)


@settings(max_examples=200, deadline=None)
@given(st.lists(events, max_size=60))
def test_a_hostile_end_can_neither_raise_nor_take_memory_nor_mix_up_the_order(
    story: list[bytes | float | Message],
) -> None:
    now_s = 5.0
    written: list[bytes] = []
    link = Link(written.append, lambda: now_s)
    frames: list[Frame] = []
    for event in story:
        if isinstance(event, bytes):
            frames += link.receive(event)
        elif isinstance(event, float):
            now_s += event
            frames += link.tick()
        else:
            link.send(event)
        assert held_by(link) <= 2 * MAX_WAITING
    frames += link.abandon()
    numbers = [frame.number for frame in frames]
    assert numbers == sorted(set(numbers))
    assert all(number > 0 for number in numbers)
    assert all(frame.kind < FIRST_CONTROL for frame in frames)
    assert link.counts.delivered == len(frames)
    # What it answers is bounded by what was asked, and each answer by what there is to send.
    assert sum(map(len, written)) < 40_000 * (1 + len(story))


def held_by(link: Link) -> int:
    return len(link._waiting) + len(link._missing)


def test_the_clock_of_the_link_may_be_any(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: Callable[[], float] = iter(range(1, 10_000)).__next__
    link = Link(lambda _: None, ticks)
    monkeypatch.setattr("time.monotonic", lambda: pytest.fail("the link looked at another clock"))
    link.send(Done(1))
    assert link.tick() == []
