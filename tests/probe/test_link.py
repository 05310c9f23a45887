"""The link over a bad line: every message once and in order, or counted as lost."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from simulated_line import Damage, Line, Narrow, Pair, clean, control, note

from whylate.probe.link import GIVE_UP_ANYWAY_S, GIVE_UP_S, TAIL_S, Link
from whylate.wire.frame import Frame, FrameDecoder
from whylate.wire.messages import (
    FRAGMENT_SIZE,
    Ack,
    File,
    Fragment,
    Mark,
    Marked,
    Message,
    Note,
    Resend,
)


def messages(count: int, seed: int, longest: int = 4000) -> list[Message]:
    chance = random.Random(seed)
    return [
        File(i, 0, 0, 0, "", chance.randbytes(chance.choice([0, 20, 41, 200, longest])))
        for i in range(count)
    ]


def kinds_of(frames: Iterable[bytes]) -> list[int]:
    return [frame.kind for piece in frames for frame in FrameDecoder().feed(piece)]


def exactly(sent: list[Message]) -> list[tuple[int, bytes]]:
    return [(number, message.pack()) for number, message in enumerate(sent, 1)]


def got(frames: list[Frame]) -> list[tuple[int, bytes]]:
    return [(frame.number, frame.payload) for frame in frames]


# ---------------------------------------------------------------- bad lines


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.01, 0.03])
def test_damaged_bytes_cost_time_but_no_message(rate: float) -> None:
    pair = Pair(Damage(1, byte=rate), Damage(2, byte=rate))
    down, up = messages(60, seed=3), messages(20, seed=4, longest=300)
    for message in down:
        pair.board.send(message)
    for message in up:
        pair.host.send(message)
    pair.settle()
    assert got(pair.at_host) == exactly(down)
    assert got(pair.at_board) == exactly(up)
    assert pair.host.counts.lost == pair.board.counts.lost == 0
    assert pair.host.counts.delivered == len(down)
    assert (pair.host.frame_counts.damaged > 0) == (rate > 0)


@pytest.mark.parametrize(
    "damage",
    [
        {"drop": 0.2},
        {"double": 0.3},
        {"swap": 0.3},
        {"drop": 0.1, "double": 0.1, "swap": 0.1, "byte": 0.002},
    ],
    ids=["dropped", "doubled", "reordered", "all of it"],
)
def test_dropped_doubled_and_reordered_frames_arrive_once_and_in_order(
    damage: dict[str, float],
) -> None:
    pair = Pair(Damage(5, **damage), Damage(6, **damage))
    sent = messages(300, seed=7, longest=1500)
    for at in range(0, len(sent), 10):
        for message in sent[at : at + 10]:
            pair.board.send(message)
        pair.turn()
    pair.settle()
    assert got(pair.at_host) == exactly(sent)
    assert pair.host.counts.lost == 0


def test_long_garbage_between_frames_harms_none_of_the_others() -> None:
    chance = random.Random(8)

    def garbage(frames: list[bytes]) -> list[bytes]:
        runs = [bytes(chance.randint(1, 255) for _ in range(6000)) for _ in frames]
        return [piece for frame, run in zip(frames, runs, strict=True) for piece in (run, frame)]

    pair = Pair(garbage)
    sent = messages(20, seed=9)
    for message in sent:
        pair.board.send(message)
    pair.settle()
    assert got(pair.at_host) == exactly(sent)
    assert pair.host.frame_counts.oversized >= 20
    assert pair.host.counts.missing == 0


def test_a_line_that_goes_bad_and_recovers_loses_nothing() -> None:
    bad = Damage(10, byte=0.3)
    pair = Pair()
    sent = messages(300, seed=11)
    for at, message in enumerate(sent):
        pair.down = pair.up = bad if 100 <= at < 200 else clean
        pair.board.send(message)
        pair.turn()
    pair.settle()
    assert got(pair.at_host) == exactly(sent)
    assert pair.host.counts.lost == 0


def test_a_slow_line_is_not_choked_by_repeated_requests() -> None:
    line = Narrow(200, Damage(12, byte=0.001))  # 20 kB/s: what is sent at once takes five seconds
    pair = Pair(line, Damage(13, byte=0.001))
    sent: list[Message] = [File(i, 0, 0, 0, "", b"\x55" * 4000) for i in range(25)]
    for message in sent:
        pair.board.send(message)
    pair.settle()
    assert got(pair.at_host) == exactly(sent)
    # Each was sent whole, and once more in pieces, which are half as long again with their frames.
    assert line.carried < 3 * 25 * 4000
    assert pair.host.counts.duplicate == 0


# ---------------------------------------------------------------- counts


def test_a_clean_line_counts_nothing_but_what_was_delivered() -> None:
    pair = Pair()
    for message in messages(50, seed=14):
        pair.board.send(message)
    pair.settle()
    counts = pair.host.counts
    assert counts.delivered == 50
    assert (counts.missing, counts.reordered, counts.duplicate, counts.malformed) == (0, 0, 0, 0)
    assert (counts.requests, counts.lost) == (0, 0)
    assert pair.host.frame_counts.damaged == 0


def test_one_damaged_frame_is_one_damaged_one_missing_and_one_request() -> None:
    pair = Pair()
    first, second = pair.written(note(10)), pair.written(note(10))
    hurt = bytearray(first)
    hurt[9] ^= 0x40
    assert pair.host.receive(bytes(hurt)) == []
    assert pair.host.receive(second) == []
    pair.settle()
    assert [frame.number for frame in pair.at_host] == [1, 2]
    counts = pair.host.counts
    assert pair.host.frame_counts.damaged == 1
    assert (counts.missing, counts.requests, counts.delivered) == (1, 1, 2)
    assert (counts.reordered, counts.duplicate, counts.lost) == (0, 0, 0)


def test_a_late_frame_is_reordered_and_not_requested_again() -> None:
    pair = Pair()
    first, second = pair.written(note(10)), pair.written(note(10))
    frames = pair.host.receive(second + first)
    assert [frame.number for frame in frames] == [1, 2]
    counts = pair.host.counts
    assert (counts.missing, counts.reordered, counts.requests) == (1, 1, 0)


def test_a_duplicate_frame_is_delivered_once_and_counted() -> None:
    pair = Pair()
    frame = pair.written(note(10))
    assert len(pair.host.receive(frame + frame)) == 1
    assert pair.host.receive(frame) == []
    assert (pair.host.counts.delivered, pair.host.counts.duplicate) == (1, 2)


def test_an_acknowledgement_that_was_lost_is_given_again() -> None:
    lost: list[list[bytes]] = []

    def first_dropped(frames: list[bytes]) -> list[bytes]:
        if frames and not lost:
            lost.append(frames)
            return []
        return frames

    pair = Pair(up=first_dropped)
    pair.board.send(note(5))
    assert pair.settle() >= TAIL_S
    assert kinds_of(lost[0]) == [Ack.KIND]
    assert pair.host.counts.delivered == 1


def test_the_loss_of_the_last_frame_is_detected_by_time_alone() -> None:
    pair = Pair()
    pair.written(note(5))
    assert pair.settle() < 2
    assert [frame.number for frame in pair.at_host] == [1]
    assert pair.host.counts.missing == 1


def test_a_requested_frame_comes_in_the_missing_fragments_alone() -> None:
    pieces: list[int] = []

    def every_third_dropped(frames: list[bytes]) -> list[bytes]:
        out = []
        for raw in frames:
            (frame,) = FrameDecoder().feed(raw)
            if frame.kind == Fragment.KIND:
                pieces.append(Fragment.unpack(frame.payload).index)
                if len(pieces) <= 30 and len(pieces) % 3 == 0:
                    continue
            out.append(raw)
        return out

    pair = Pair(every_third_dropped)
    pair.written(File(0, 0, 0, 0, "", b"\x01" * (30 * FRAGMENT_SIZE - 14)))
    pair.settle()
    assert pieces == [*range(30), *range(2, 30, 3)]
    assert pair.host.counts.requests == 2
    assert pair.at_host[0].payload.endswith(b"\x01" * 100)


def test_a_mark_is_answered_after_the_requests_before_it() -> None:
    pair = Pair()
    pair.written(note(10))
    written: list[bytes] = []
    board = Link(written.append)
    board.send(note(10))
    written.clear()
    board.receive(control(Resend(1, 1, b"")) + control(Mark(7)))
    assert kinds_of(written) == [Note.KIND, Marked.KIND]
    assert written[1] == control(Marked(7))


def test_a_request_is_repeated_only_after_its_mark() -> None:
    pair = Pair()
    stream = [pair.written(note(10)) for _ in range(2)]
    pair.host.receive(stream[1])
    for _ in range(500):
        pair.now_s += 0.01
        pair.host.tick()
    assert pair.host.counts.requests == 1
    pair.host.receive(control(Marked(1)))
    assert pair.host.counts.requests == 2
    pair.host.receive(control(Marked(1)) + control(Marked(99)))
    assert pair.host.counts.requests == 2


# ---------------------------------------------------------------- giving up


def never(number: int) -> Line:
    """Return a line on which one frame never arrives, nor any piece of it."""

    def line(frames: list[bytes]) -> list[bytes]:
        out = []
        for raw in frames:
            (frame,) = FrameDecoder().feed(raw)
            piece = frame.kind == Fragment.KIND and Fragment.unpack(frame.payload).number
            if number not in (frame.number, piece):
                out.append(raw)
        return out

    return line


@pytest.mark.parametrize("length", [10, 1000])
def test_a_frame_that_never_arrives_is_counted_and_the_rest_is_delivered(length: int) -> None:
    pair = Pair(never(3))
    sent: list[Message] = [note(length) for _ in range(6)]
    for message in sent:
        pair.board.send(message)
    assert pair.settle() >= GIVE_UP_S
    assert [frame.number for frame in pair.at_host] == [1, 2, 4, 5, 6]
    assert (pair.host.counts.lost, pair.host.counts.delivered) == (1, 5)
    assert pair.board.all_acknowledged


def test_bytes_that_arrive_as_a_frame_is_given_up_do_not_lose_the_frames_behind_it() -> None:
    pair = Pair()
    pair.written(note(10))
    second, third = pair.written(note(10)), pair.written(note(10))
    assert pair.host.receive(second) == []
    pair.now_s += GIVE_UP_ANYWAY_S
    assert [frame.number for frame in pair.host.receive(third)] == [2, 3]
    assert pair.host.counts.lost == 1


def test_the_end_of_the_stream_delivers_waiting_frames_and_counts_missing_ones() -> None:
    pair = Pair()
    frames = [pair.written(note(10)) for _ in range(6)]
    assert len(pair.host.receive(frames[0] + frames[2] + frames[5])) == 1
    assert [frame.number for frame in pair.host.abandon()] == [3, 6]
    assert pair.host.counts.lost == 3
    assert pair.host.abandon() == []
