"""Both ends of the wire against the same bytes, which neither of them wrote.

The vectors in schema/golden were made once, from the text of schema/wire.toml, of
samples.h, of the papers on COBS and of the specification of XXH64, by programs that
share no code with either end.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xxhash

from c_programs import GOLDEN, TARGETS, absent, compile_c
from whylate.wire.codec import Message, WireError
from whylate.wire.constants import LATEST_NS
from whylate.wire.frame import (
    FrameDecoder,
    cobs_decode,
    cobs_encode,
    decode_frame,
    encode_frame,
)
from whylate.wire.messages import MAX_PAYLOAD, MESSAGES, Samples
from whylate.wire.samples import decode_samples


def load(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


VECTORS: list[dict[str, Any]] = load("messages")
SAMPLES: list[dict[str, Any]] = load("samples")
CLASSES: dict[str, type[Message]] = {
    "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__).lstrip("_"): kind
    for kind in MESSAGES.values()
}


def named(vector: dict[str, Any]) -> str:
    return f"{vector.get('message', 'samples')}: {vector['note']}"


def types_of(kind: type[Message]) -> dict[str, str]:
    """The fields of a message, each with the name of its type."""
    return {name: kind.__annotations__[name] for name in kind.__struct_fields__}


def message_of(vector: dict[str, Any]) -> Message:
    """The vector's fields as a message: bytes are hexadecimal in the file, lists are tuples."""
    kind = CLASSES[vector["message"]]
    types = types_of(kind)
    values = {
        name: bytes.fromhex(value)
        if types[name] == "Blob"
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in vector["fields"].items()
    }
    return kind(**values)


def as_text(vector: dict[str, Any]) -> str:
    """The vector as probe/tests/wire_echo.c prints it."""
    parts = [vector["message"], str(vector["number"])]
    message = message_of(vector)
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, tuple):
            text = "".join(f"{element_as_text(element)}," for element in value)
        else:
            text = element_as_text(value)
        parts.append(f"{name}={text}")
    return " ".join([*parts, f"frame={vector['frame']}"])


def element_as_text(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return str(value)
    return (value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value).hex()


@pytest.fixture(scope="session", params=TARGETS)
def wire_echo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs wire_echo in a mode with an input, on each architecture; returns what it printed."""
    target = TARGETS[request.param]
    if missing := absent(target):
        pytest.skip(f"needs {missing}")
    folder = tmp_path_factory.mktemp(request.param)
    sources = ["wire/messages.c", "wire/pack.c", "wire/xxh64.c", "workloads/activations/samples.c"]
    built = compile_c(target.compiler, "wire_echo", sources, folder, ["-O2", "-static"])

    def run(mode: list[str], data: bytes) -> list[str]:
        command = [*target.emulator, str(built), *mode]
        done = subprocess.run(command, input=data, capture_output=True, check=True, timeout=60)
        return done.stdout.decode("ascii").splitlines()

    return run


def test_every_message_of_the_schema_has_a_vector() -> None:
    assert {CLASSES[vector["message"]].KIND for vector in VECTORS} == set(MESSAGES)


def test_the_vectors_reach_the_longest_payload_and_the_bounds_of_cobs_groups() -> None:
    lengths = {len(bytes.fromhex(vector["payload"])) for vector in VECTORS}
    assert {0, 254, 255, 508, MAX_PAYLOAD} <= lengths


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_python_packs_a_message_as_the_vector_says(vector: dict[str, Any]) -> None:
    message = message_of(vector)
    assert message.pack().hex() == vector["payload"]
    frame = encode_frame(message.KIND, vector["number"], message.pack())
    assert frame.hex() == vector["frame"]


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_python_reads_a_message_from_the_vector(vector: dict[str, Any]) -> None:
    (frame,) = FrameDecoder().feed(bytes.fromhex(vector["frame"]))
    assert frame == decode_frame(bytes.fromhex(vector["frame"])[1:-1])
    assert (frame.number, frame.payload.hex()) == (vector["number"], vector["payload"])
    assert MESSAGES[frame.kind].unpack_layout(frame.payload) == message_of(vector)


def test_c_reads_every_vector_and_writes_it_again(wire_echo: Any) -> None:
    stream = b"".join(bytes.fromhex(vector["frame"]) for vector in VECTORS)
    *echoed, counts = wire_echo(["frames"], stream)
    for line, vector in zip(echoed, VECTORS, strict=True):
        assert line == as_text(vector), named(vector)
    assert counts == f"good={len(VECTORS)} damaged=0 oversized=0 other_protocol=0"


def test_c_counts_what_is_no_frame_as_python_does(wire_echo: Any) -> None:
    good = bytes.fromhex(VECTORS[0]["frame"])
    damaged = good[:-4] + bytes([good[-4] ^ 1]) + good[-3:]
    other = encode_frame(1, 1, b"", protocol=2)
    stream = good + damaged + b"login: " + other + b"\xff" * 10_000 + b"\0" + good
    decoder = FrameDecoder()
    assert len(decoder.feed(stream)) == 2
    counts = decoder.counts
    assert (counts.good, counts.oversized, counts.other_protocol) == (2, 1, 1)
    *_, printed = wire_echo(["frames"], stream)
    assert printed == (
        f"good={counts.good} damaged={counts.damaged} "
        f"oversized={counts.oversized} other_protocol={counts.other_protocol}"
    )


def test_c_refuses_a_payload_that_is_cut_or_has_a_byte_too_many(wire_echo: Any) -> None:
    streams, kinds = [], []
    for vector in VECTORS:
        payload = bytes.fromhex(vector["payload"])
        kind = CLASSES[vector["message"]].KIND
        for wrong in (payload[:-1], payload + b"\0"):
            if wrong != payload and len(wrong) <= MAX_PAYLOAD:
                streams.append(encode_frame(kind, 1, wrong))
                kinds.append(kind)
    *answers, _ = wire_echo(["frames"], b"".join(streams))
    assert answers == [f"refused {kind}" for kind in kinds]


def at_the_bounds(kind: type[Message]) -> Iterator[tuple[Message, str]]:
    """Messages with one field at a bound of its range, or just beyond it, which is then named."""
    zeros = {"Text": "", "Blob": b"", "ListText": (), "ListU16": (), "ListU64": ()}
    types = types_of(kind)
    least = {name: bounds[0] for name, bounds in kind.RANGES.items()}
    sound = {
        name: zeros.get(types[name], max(0, least.get(name, 0)))
        for name in types  # a list has no element
    }
    yield kind(**sound), "ok"
    for name, (low, high) in kind.RANGES.items():
        for value, answer in ((low, "ok"), (high, "ok"), (low - 1, name), (high + 1, name)):
            if (types[name].endswith("U8") and value > 0xFF) or value < 0:
                continue
            held = (low, value, high) if types[name].startswith("List") else value
            yield kind(**{**sound, name: held}), answer


def test_both_ends_refuse_what_is_out_of_its_range_and_nothing_else(wire_echo: Any) -> None:
    cases = [case for kind in MESSAGES.values() for case in at_the_bounds(kind)]
    assert len([answer for _, answer in cases if answer != "ok"]) > 100
    for message, answer in cases:
        if answer == "ok":
            assert type(message).unpack(message.pack()) == message
        else:
            with pytest.raises(WireError, match=rf"\.{answer} is [0-9]+: expected"):
                type(message).unpack(message.pack())
    stream = b"".join(encode_frame(message.KIND, 1, message.pack()) for message, _ in cases)
    assert wire_echo(["ranges"], stream)[: len(cases)] == [answer for _, answer in cases]


def test_cobs_is_as_its_authors_describe_it_in_python() -> None:
    for plain, encoded in load("cobs"):
        assert cobs_encode(bytes.fromhex(plain)).hex() == encoded
        assert cobs_decode(bytes.fromhex(encoded)).hex() == plain


def test_cobs_is_as_its_authors_describe_it_in_c(wire_echo: Any) -> None:
    vectors = load("cobs")
    printed = wire_echo(["cobs"], "".join(f"{plain}\n" for plain, _ in vectors).encode())
    assert printed == [f"{encoded} {plain}" for plain, encoded in vectors]


def test_the_checksum_vectors_are_those_of_the_reference_implementation() -> None:
    for data, checksum in load("xxh64"):
        assert xxhash.xxh64_hexdigest(bytes.fromhex(data)) == checksum


def test_c_checksums_as_the_reference_implementation_does(wire_echo: Any) -> None:
    vectors = load("xxh64")
    printed = wire_echo(["xxh64"], "".join(f"{data}\n" for data, _ in vectors).encode())
    assert printed == [checksum for _, checksum in vectors]


@pytest.mark.parametrize("vector", SAMPLES, ids=named)
def test_c_makes_the_blocks_of_samples_that_the_vector_says(
    vector: dict[str, Any], wire_echo: Any
) -> None:
    activations = "".join(f"{i} {latency} {n}\n" for i, latency, n in vector["activations"])
    printed = wire_echo(["samples", str(vector["room"])], activations.encode())
    assert printed == [f"{b['first']} {b['count']} {b['data']}" for b in vector["blocks"]]


@pytest.mark.parametrize("vector", SAMPLES, ids=named)
def test_python_makes_the_rows_of_blocks_that_the_vector_says(vector: dict[str, Any]) -> None:
    blocks = [
        Samples(0, block["count"], block["first"], bytes.fromhex(block["data"]))
        for block in vector["blocks"]
    ]
    if max(abs(row[1]) for row in vector["rows"]) > LATEST_NS:
        # The probe can pack it, and no clock can show it.
        with pytest.raises(WireError, match="impossible time"):
            [decode_samples(block, vector["interval_ns"], 1 << 50) for block in blocks]
        return
    rows = [decode_samples(block, vector["interval_ns"], 1 << 50) for block in blocks]
    activation, latency_ns, overrun = zip(*vector["rows"], strict=True)
    assert np.concatenate([r.activation for r in rows]).tolist() == list(activation)
    assert np.concatenate([r.latency_ns for r in rows]).tolist() == list(latency_ns)
    assert np.concatenate([r.overrun for r in rows]).tolist() == list(overrun)


def test_a_block_may_reach_to_the_last_activation_that_can_exist_and_no_further() -> None:
    block = Samples(0, 1, 6, bytes.fromhex("0a0003"))  # activation 6, and overruns 7, 8 and 9
    assert decode_samples(block, 1000, 10).activation.tolist() == [6, 7, 8, 9]
    with pytest.raises(WireError, match="beyond activation 9"):
        decode_samples(block, 1000, 9)
