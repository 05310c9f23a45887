"""Frames: how messages are cut apart and checked on a byte stream that may be damaged.

A frame is header, payload and checksum as in schema/wire.toml, in COBS (Consistent Overhead
Byte Stuffing, Cheshire & Baker 1997) between two zero bytes: whatever is damaged, the next zero
is a place to start again. The checksum is XXH64 with seed 0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import xxhash

from whylate.wire.codec import WireError
from whylate.wire.messages import MAX_PAYLOAD, PROTOCOL

HEADER = struct.Struct("<BBI")
CHECKSUM_SIZE = 8
OVERHEAD = HEADER.size + CHECKSUM_SIZE


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose checksum was right."""

    kind: int
    number: int
    payload: bytes


@dataclass(slots=True)
class FrameCounts:
    """Counts of a decoder. Whatever is not in `good` was dropped."""

    good: int = 0
    damaged: int = 0
    oversized: int = 0
    other_protocol: int = 0
    #: Bytes of the good frames as they came.
    sound_bytes: int = 0


class ProtocolMismatchError(WireError):
    """A sound frame of another protocol version."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"the other end speaks protocol {version}, this whylate speaks {PROTOCOL}: "
            "use the probe that belongs to this version of whylate"
        )
        self.version = version


def cobs_encode(data: bytes) -> bytes:
    """Return data without zero bytes: at most one byte in 254 longer, plus one."""
    out = bytearray()
    pieces = data.split(b"\0")
    for index, piece in enumerate(pieces):
        for at in range(0, len(piece), 254):
            group = piece[at : at + 254]
            out.append(len(group) + 1)
            out += group
        # A full group means "no zero follows": an empty one carries the zero, save at the end.
        if not piece or (len(piece) % 254 == 0 and index < len(pieces) - 1):
            out.append(1)
    return bytes(out)


def cobs_decode(data: bytes) -> bytes:
    """Undo cobs_encode; raises WireError for what it cannot have made."""
    # Each code stands where a zero was, but the first, and one that follows a full group.
    out = bytearray(data)
    starts = [0]
    at, end = 0, len(out)
    while at < end:
        code = out[at]
        if code == 0 or at + code > end:
            raise WireError("COBS group reaches beyond its frame")
        out[at] = 0
        at += code
        if code == 0xFF and at < end:
            starts.append(at)
    if len(starts) == 1:
        return bytes(out[1:])
    ends = [*starts[1:], end]
    return b"".join([out[start + 1 : stop] for start, stop in zip(starts, ends, strict=True)])


def encode_frame(kind: int, number: int, payload: bytes, protocol: int = PROTOCOL) -> bytes:
    """Return the bytes of one frame, delimiters included."""
    body = HEADER.pack(protocol, kind, number) + payload
    body += xxhash.xxh64_intdigest(body).to_bytes(CHECKSUM_SIZE, "little")
    return b"\0" + cobs_encode(body) + b"\0"


def decode_frame(encoded: bytes, max_payload: int = MAX_PAYLOAD) -> Frame:
    """Return the frame between two delimiters; raises WireError, ProtocolMismatchError."""
    body = cobs_decode(encoded)
    if not OVERHEAD <= len(body) <= OVERHEAD + max_payload:
        raise WireError(f"a frame of {len(body)} bytes")
    checksum = int.from_bytes(body[-CHECKSUM_SIZE:], "little")
    if xxhash.xxh64_intdigest(body[:-CHECKSUM_SIZE]) != checksum:
        raise WireError("checksum does not match")
    protocol, kind, number = HEADER.unpack_from(body)
    if protocol != PROTOCOL:
        raise ProtocolMismatchError(protocol)
    return Frame(kind, number, body[HEADER.size : -CHECKSUM_SIZE])


class FrameCutter:
    """What cuts a stream into frames has of one that has not ended. Never raises: it counts."""

    def __init__(self, max_payload: int) -> None:
        self._max_payload = max_payload
        self._max_encoded = max_payload + OVERHEAD
        self._max_encoded += self._max_encoded // 254 + 2
        self._partial = bytearray()
        self._skipping = False
        self.counts = FrameCounts()

    def _extend(self, piece: bytes) -> None:
        """Add to a frame that has not ended, unless it is too long already."""
        if self._skipping:
            return
        self._partial += piece
        if len(self._partial) > self._max_encoded:
            self.counts.oversized += 1
            self._skipping = True
            self._partial.clear()


class FrameDecoder(FrameCutter):
    """Cuts a stream into frames; feed it any pieces. Never raises: it counts.

    only: frames of other kinds are not looked at, and not counted. None: all are.
    """

    def __init__(self, max_payload: int = MAX_PAYLOAD, only: frozenset[int] | None = None) -> None:
        super().__init__(max_payload)
        # A frame begins with its protocol and its kind, neither of which is zero, behind a code.
        self._begins = None if only is None else tuple(bytes([PROTOCOL, kind]) for kind in only)
        #: The version that a sound frame of another protocol named; None while there was none.
        self.peer_protocol: int | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that data completes."""
        frames: list[Frame] = []
        *ended, rest = data.split(b"\0")
        for part in ended:
            piece = part
            if self._skipping or self._partial:
                self._extend(part)
                piece = bytes(self._partial)
                self._partial.clear()
            if len(piece) > self._max_encoded:
                self.counts.oversized += 1
            elif piece and (self._begins is None or piece.startswith(self._begins, 1)):
                self._add_frame(piece, frames)
            self._skipping = False
        self._extend(rest)
        return frames

    def _add_frame(self, encoded: bytes, frames: list[Frame]) -> None:
        try:
            frames.append(decode_frame(encoded, self._max_payload))
            self.counts.good += 1
            self.counts.sound_bytes += len(encoded) + 2
        except ProtocolMismatchError as error:
            self.counts.other_protocol += 1
            self.peer_protocol = error.version
        except WireError:
            self.counts.damaged += 1
