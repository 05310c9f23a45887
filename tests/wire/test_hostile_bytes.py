"""Whatever arrives: the decoders refuse it, count it, and take no more memory than they may."""

from __future__ import annotations

import json
import subprocess
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c_programs import GOLDEN, WIRE, compile_c
from whylate.wire.blocks import decode_numbers
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame, FrameDecoder, encode_frame
from whylate.wire.messages import MAX_PAYLOAD, MESSAGES, Hello, Samples
from whylate.wire.samples import MAX_ROWS, decode_samples

VECTORS: list[dict[str, Any]] = json.loads((GOLDEN / "messages.json").read_text())
FRAMES = [bytes.fromhex(vector["frame"]) for vector in VECTORS if len(vector["frame"]) < 2000]
PAYLOADS = [bytes.fromhex(vector["payload"]) for vector in VECTORS]
#: What a frame of the longest payload takes at most.
LONGEST = MAX_PAYLOAD + 100

SLOW = settings(max_examples=150, deadline=None)
numbers = st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1))


def leb128(values: list[int]) -> bytes:
    out = bytearray()
    for value in values:
        rest = value
        while rest >= 0x80:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)


@st.composite
def mutated_streams(draw: st.DrawFn) -> tuple[list[bytes], bytes]:
    """Frames, and their stream with bytes changed, removed and put in between."""
    frames = draw(st.lists(st.sampled_from(FRAMES), max_size=8))
    stream = bytearray(b"".join(frames))
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(stream)))
        length = draw(st.integers(0, 30))
        stream[at : at + length] = draw(st.binary(max_size=30))
    return frames, bytes(stream)


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(at % (len(stream) + 1) for at in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(bounds)]


def feed(pieces: list[bytes]) -> tuple[list[Frame], FrameDecoder]:
    decoder = FrameDecoder()
    return [frame for piece in pieces for frame in decoder.feed(piece)], decoder


@SLOW
@given(st.lists(st.binary(max_size=400), max_size=12))
def test_arbitrary_bytes_are_counted_and_never_raise(pieces: list[bytes]) -> None:
    frames, decoder = feed(pieces)
    assert frames == []  # 64 bits of checksum are not met by chance
    ended = sum(1 for group in b"".join(pieces).split(b"\0")[:-1] if group)
    assert decoder.counts.damaged == ended


@SLOW
@given(mutated_streams(), st.lists(st.integers(0, 10_000), max_size=12))
def test_a_damaged_stream_gives_only_frames_that_were_sent_however_it_is_cut(
    streams: tuple[list[bytes], bytes], cuts: list[int]
) -> None:
    sent, stream = streams
    whole, one = feed([stream])
    pieces, other = feed(cut(stream, cuts))
    assert whole == pieces
    assert one.counts == other.counts
    known = {FrameDecoder().feed(frame)[0] for frame in sent}
    assert set(whole) <= known


def test_a_stream_without_end_is_counted_once_and_kept_nowhere() -> None:
    decoder = FrameDecoder()
    good = encode_frame(1, 1, b"\0\0")
    tracemalloc.start()
    try:
        for _ in range(2000):
            decoder.feed(b"\xaa" * 4096)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * LONGEST
    assert decoder.counts.oversized == 1
    assert [frame.number for frame in decoder.feed(b"\0" + good)] == [1]


def test_a_frame_may_be_as_long_as_the_longest_payload_and_no_longer() -> None:
    frames, decoder = feed([encode_frame(1, 1, b"\x55" * MAX_PAYLOAD)])
    assert len(frames) == 1
    frames, decoder = feed([encode_frame(1, 1, b"\x55" * (MAX_PAYLOAD + 1))])
    assert frames == []
    assert decoder.counts.damaged + decoder.counts.oversized == 1


@SLOW
@given(st.sampled_from(sorted(MESSAGES)), st.one_of(st.binary(max_size=200), st.data()))
def test_a_payload_is_a_message_or_a_wire_error(kind: int, payload: Any) -> None:
    if not isinstance(payload, bytes):
        base = bytearray(payload.draw(st.sampled_from(PAYLOADS))[:300])
        for _ in range(payload.draw(st.integers(1, 4))):
            at = payload.draw(st.integers(0, len(base)))
            base[at : at + payload.draw(st.integers(0, 4))] = payload.draw(st.binary(max_size=4))
        payload = bytes(base)
    try:
        message = MESSAGES[kind].unpack(payload)
    except WireError:
        return
    assert message.pack() == payload


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['message']}: {v['note']}")
def test_a_payload_that_is_cut_or_too_long_is_refused(vector: dict[str, Any]) -> None:
    (frame,) = FrameDecoder().feed(bytes.fromhex(vector["frame"]))
    for length in range(0, len(frame.payload), 1 + len(frame.payload) // 100):
        with pytest.raises(WireError):
            MESSAGES[frame.kind].unpack(frame.payload[:length])
    with pytest.raises(WireError):
        MESSAGES[frame.kind].unpack(frame.payload + b"\0")


@SLOW
@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=50))
def test_numbers_of_up_to_64_bits_are_read_exactly(values: list[int]) -> None:
    assert decode_numbers(leb128(values)).tolist() == values


@pytest.mark.parametrize(
    "data",
    ["80", "00ff", "ffffffffffffffffff02", "80808080808080808080" + "01", "ff" * 4000],
    ids=["cut", "cut after a whole one", "65 bits", "11 bytes", "no end"],
)
def test_a_number_that_is_cut_or_too_large_is_refused(data: str) -> None:
    with pytest.raises(WireError):
        decode_numbers(bytes.fromhex(data))


@SLOW
@given(
    first=numbers,
    count=st.integers(0, 65535) | st.integers(0, 20),
    data=st.binary(max_size=200) | st.lists(numbers, max_size=40).map(leb128),
    interval_ns=st.one_of(st.just(0), st.just(1_000_000), numbers),
    end=st.integers(0, 100_000) | st.just(0),
)
def test_a_block_of_samples_is_rows_in_order_or_a_wire_error(
    first: int, count: int, data: bytes, interval_ns: int, end: int
) -> None:
    try:
        rows = decode_samples(Samples(0, count, first, data), interval_ns, end)
    except WireError:
        return
    assert rows.activation.size == rows.latency_ns.size == rows.overrun.size
    assert int((~rows.overrun).sum()) == count
    if count:
        assert rows.activation[0] == first
        assert rows.activation[-1] < end
        assert (np.diff(rows.activation) == 1).all()
        assert not rows.overrun[0]


@pytest.mark.parametrize(
    ("first", "count", "values"),
    [
        ((1 << 64) - 1, 1, [0]),
        ((1 << 63) - 1, 1, [0]),
        (0, 1, [0, 0, (1 << 64) - 1]),
        (0, 1, [0, 0, 1 << 62]),
        (0, 1, [0, 0, MAX_ROWS]),
        (0, 3, [0, 0, 0, 0, MAX_ROWS // 2, 1, MAX_ROWS // 2]),
        (0, 2, [0, 0, 2, 1]),
        (0, 2, [0, 0, 1, 1, 0, 1]),
        (0, 2, [0, 0, 1, 1, 1, 1]),
        (0, 2, [0, 0, 1 << 63, 1]),
        (0, 65535, [0]),
    ],
)
def test_hostile_counts_are_refused_without_asking_for_their_memory(
    first: int, count: int, values: list[int]
) -> None:
    block = Samples(0, count, first, leb128(values))
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            decode_samples(block, 1_000_000, 1 << 64)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize("interval_ns", [0, -1, 1 << 63, (1 << 64) - 1])
def test_an_interval_that_no_schedule_has_is_refused(interval_ns: int) -> None:
    with pytest.raises(WireError, match="apart"):
        decode_samples(Samples(0, 1, 0, b"\0"), interval_ns, 10)


def test_a_text_that_no_utf8_has_is_refused_when_it_is_packed() -> None:
    with pytest.raises(WireError, match="UTF-8"):
        Hello("\ud800").pack()


@pytest.fixture(scope="session")
def fuzz_wire(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], int]:
    """Runs fuzz_wire over the vectors for so many seconds from a seed; returns the inputs made."""
    folder = tmp_path_factory.mktemp("fuzz")
    sanitizers = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    empty = folder / "empty.c"
    empty.write_text("int main(void)\n{\n\treturn 0;\n}\n")
    try:
        probe = ["cc", *sanitizers, str(empty), "-o", str(folder / "empty")]
        subprocess.run(probe, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a C compiler with its address and undefined-behaviour sanitizers")
    sources = [f"wire/{name}.c" for name in WIRE]
    built = compile_c("cc", "fuzz_wire", sources, folder, sanitizers)
    corpus: Path = folder / "corpus"
    corpus.write_bytes(b"".join(bytes.fromhex(vector["frame"]) for vector in VECTORS))

    def run(seconds: int, seed: int) -> int:
        command = [str(built), str(corpus), str(seconds), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr[:3000]
        return int(done.stdout.split()[0])

    return run


@pytest.mark.parametrize("seed", [1, 2])
def test_the_probes_end_takes_anything_under_the_sanitizers(
    seed: int, fuzz_wire: Callable[[int, int], int]
) -> None:
    assert fuzz_wire(5, seed) >= 100
