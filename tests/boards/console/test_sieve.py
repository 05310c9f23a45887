"""Frames and text on one line are told apart, and neither is lost to the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.boards.console.sieve import FrameSieve, lift_lines
from whylate.wire.frame import FrameDecoder, encode_frame

END = b"<42|end|42>"
KERNEL = b"[   12.345678] eth0: link is up\r\n"
PANIC = b"[   99.000001] Kernel panic - not syncing: Fatal exception\r\n"


def sifted(data: bytes, step: int = 0) -> tuple[list[bytes], bytes, FrameDecoder, FrameSieve]:
    """Return the payloads that the link would get, the text, its decoder and the sieve."""
    sieve, decoder = FrameSieve(END), FrameDecoder()
    payloads, text = [], b""
    step = step or max(len(data), 1)
    for at in range(0, len(data), step):
        frames, more = sieve.feed(data[at : at + step])
        text += more
        payloads += [frame.payload for frame in decoder.feed(frames)]
    frames, more = sieve.finish()
    payloads += [frame.payload for frame in decoder.feed(frames)]
    return payloads, text + more, decoder, sieve


@pytest.mark.parametrize("step", [0, 1, 3, 64])
def test_lines_between_frames_are_text_and_the_frames_are_whole(step: int) -> None:
    data = encode_frame(1, 1, b"one") + KERNEL + encode_frame(1, 2, b"two") + PANIC
    payloads, text, decoder, _ = sifted(data, step)
    assert payloads == [b"one", b"two"]
    assert text == KERNEL + PANIC
    assert decoder.counts.damaged == 0


@pytest.mark.parametrize("payload", [b"\r\n", b"ab\r\n", b"a line of text\r\n\r\n"])
def test_a_line_end_in_a_frame_behind_the_kernels_line_is_the_frames(payload: bytes) -> None:
    frame = encode_frame(7, 1, payload)
    for at in range(1, len(frame)):
        payloads, _, _, _ = sifted(frame[:at] + KERNEL + frame[at:])
        assert payloads == [payload]


@settings(deadline=None)
@given(st.binary(max_size=300), st.data())
def test_a_kernel_line_in_a_frames_middle_is_lifted_out_and_the_frame_arrives(
    payload: bytes, data: st.DataObject
) -> None:
    frame = encode_frame(7, 1, payload)
    at = data.draw(st.integers(1, len(frame) - 1))
    payloads, text, _, _ = sifted(frame[:at] + KERNEL + frame[at:])
    assert payloads == [payload]
    assert text == KERNEL


def test_text_within_a_sound_frame_is_nobodys_message() -> None:
    payloads, text, _, _ = sifted(encode_frame(9, 1, PANIC * 5))
    assert payloads == [PANIC * 5]
    assert text == b""


def test_a_damaged_frame_goes_to_the_link_which_counts_it() -> None:
    broken = bytearray(encode_frame(1, 1, bytes(range(1, 200))))
    broken[50] ^= 0x80
    payloads, text, decoder, _ = sifted(bytes(broken))
    assert payloads == []
    assert decoder.counts.damaged == 1
    assert text == b""


def test_what_a_dying_board_said_last_is_not_kept_back_for_a_frame() -> None:
    sieve = FrameSieve(END)
    assert sieve.feed(encode_frame(1, 1, b"one") + PANIC)[1] == b""
    assert sieve.idle() == PANIC
    assert sieve.finish() == (b"", b"")


def test_a_board_that_starts_again_is_text_however_long_it_goes_on() -> None:
    boot = b"U-Boot 2024.01 (Jan 08 2024)\r\n" + KERNEL * 1000
    payloads, text, _, sieve = sifted(encode_frame(1, 1, b"one") + boot)
    assert payloads == [b"one"]
    assert text == boot
    sieve.feed(b"\0")
    assert len(sieve.feed(boot)[1]) > len(boot) - 8192, "and is not kept back for a frame"


@pytest.mark.parametrize("step", [1, 64, 1000, 20_000])
def test_no_line_is_cut_where_text_goes_on_for_long(step: int) -> None:
    lines = KERNEL * 50
    _, text, _, _ = sifted((b"\x80" + lines) * 20, step)
    assert text == lines * 20


@pytest.mark.parametrize("step", [0, 1, 5])
def test_frames_end_where_the_board_says_so(step: int) -> None:
    rest = b"\r\nboard# \0 and whatever"
    data = encode_frame(1, 1, b"one") + KERNEL + b"\n" + END + rest
    payloads, text, _, sieve = sifted(data, step)
    assert sieve.ended
    assert payloads == [b"one"]
    assert text == KERNEL + b"\n" + END + rest


def test_a_short_line_is_text_only_among_others() -> None:
    junk = b"\x80\x81ab\r\n\x82"
    assert lift_lines(junk) == (junk, b"")
    assert lift_lines(b"\x80\x81" + KERNEL + b"ab\r\n\x82") == (b"\x80\x81\x82", KERNEL + b"ab\r\n")


@settings(deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=20))
def test_nothing_raises_and_nothing_grows(pieces: list[bytes]) -> None:
    sieve = FrameSieve(END)
    came = given_out = 0
    for piece in pieces:
        frames, text = sieve.feed(piece)
        came += len(piece)
        given_out += len(frames) + len(text)
        given_out += len(sieve.idle())
    given_out += sum(map(len, sieve.finish()))
    # Each piece for the link gets both its zeros again.
    assert given_out <= 3 * came + 2


def test_hostile_text_takes_time_in_proportion() -> None:
    sieve = FrameSieve(END)
    for _ in range(40):
        sieve.feed(b"[" * 50_000 + b"\x80")
        sieve.feed(b"[ 1.123456" * 5_000 + b"\r\n")
