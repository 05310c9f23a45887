"""Many frames at once: the same as whylate.wire.frame cuts one at a time, for files of hours.

A frame alone takes longer to cut and to check than its bytes do. Here the zeros between frames are
found in one pass, and the chains of COBS codes of all frames of a piece are followed side by side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from whylate.wire.frame import CHECKSUM_SIZE, HEADER, OVERHEAD, Frame, FrameCutter
from whylate.wire.messages import MAX_PAYLOAD, PROTOCOL

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

#: Chains of so few frames are followed one by one: a long frame has thousands of codes.
_FEW = 16


@dataclass(frozen=True, slots=True)
class FrameBatch:
    """Frames whose checksums were right, in the order in which they came.

    data: what the payloads are in. kind: uint8, shape (n,). number: uint32, shape (n,). start, end:
    int64, shape (n,): the payload of frame k is data[start[k]:end[k]].
    """

    data: bytes
    kind: Bytes
    number: NDArray[np.uint32]
    start: Int64s
    end: Int64s

    def __len__(self) -> int:
        return self.kind.size

    @property
    def raw(self) -> Bytes:
        """The data as numbers, uint8."""
        return np.frombuffer(self.data, np.uint8)

    def frame(self, index: int) -> Frame:
        """Return a frame."""
        payload = self.data[self.start[index] : self.end[index]]
        return Frame(int(self.kind[index]), int(self.number[index]), payload)

    def select(self, wanted: Bools | slice) -> FrameBatch:
        """Return some of them."""
        return FrameBatch(
            self.data, self.kind[wanted], self.number[wanted], self.start[wanted], self.end[wanted]
        )

    def head(self, size: int) -> Bytes:
        """Return the first bytes of each payload, uint8, shape (n, size); each has so many."""
        heads: Bytes = self.raw[self.start[:, None] + np.arange(size)]
        return heads


class FrameBatchDecoder(FrameCutter):
    """Cuts a stream into frames, a large piece at a time. Never raises: it counts.

    only: frames of other kinds are not looked at, and not counted. None: all are. The counts are
    those that whylate.wire.frame.FrameDecoder has of the same stream.
    """

    def __init__(self, max_payload: int = MAX_PAYLOAD, only: frozenset[int] | None = None) -> None:
        super().__init__(max_payload)
        # A frame begins with its protocol and its kind, neither of which is zero, behind a code.
        begins = [re.escape(bytes([PROTOCOL, kind])) for kind in sorted(only or ())]
        self._begins = None if only is None else re.compile(b"|".join(begins))

    def feed(self, data: bytes) -> FrameBatch:
        """Return the frames that data completes."""
        last = data.rfind(b"\0")
        if last < 0:
            self._extend(data)
            return self._decode(b"")
        # What an overlong frame has of this piece is skipped with it.
        skipped = data.find(b"\0") if self._skipping else 0
        whole = bytes(self._partial) + data[skipped : last + 1]
        self._partial.clear()
        self._skipping = False
        batch = self._decode(whole)
        self._extend(data[last + 1 :])
        return batch

    def _pick(self, data: bytes, begins: re.Pattern[bytes]) -> bytes:
        """Return the frames that begin so; the others are not counted."""
        picked = []
        at = 0
        for match in begins.finditer(data):
            start = match.start() - 1
            if start >= at and (start == 0 or not data[start - 1]):
                at = data.index(b"\0", start) + 1
                picked.append(data[start:at])
        return b"".join(picked)

    def _decode(self, data: bytes) -> FrameBatch:
        """Return the frames of data, which ends with a zero."""
        if self._begins is not None:
            data = self._pick(data, self._begins)
        raw = np.frombuffer(data, np.uint8)
        end = np.flatnonzero(raw == 0)
        start = np.concatenate((np.zeros(1, np.int64), end + 1))[:-1]
        wanted = (end > start) & (end - start <= self._max_encoded)
        self.counts.oversized += int(np.count_nonzero(end - start > self._max_encoded))
        start, end = start[wanted], end[wanted]
        encoded = end - start + 2
        body, start, end, sound = unstuff(raw, start, end)
        size = end - start
        sound &= (size >= OVERHEAD) & (size <= OVERHEAD + self._max_payload)
        sound[sound] = _right_checksums(body, start[sound], end[sound])
        raw = np.frombuffer(body, np.uint8)
        self.counts.damaged += int(np.count_nonzero(~sound))
        start, end, encoded = start[sound], end[sound], encoded[sound]
        ours = raw[start] == PROTOCOL
        self.counts.other_protocol += int(np.count_nonzero(~ours))
        start, end = start[ours], end[ours]
        self.counts.good += start.size
        self.counts.sound_bytes += int(encoded[ours].sum())
        header = raw[start[:, None] + np.arange(HEADER.size)]
        return FrameBatch(
            data=body,
            kind=np.ascontiguousarray(header[:, 1]),
            number=np.ascontiguousarray(header[:, 2:]).view("<u4")[:, 0],
            start=start + HEADER.size,
            end=end - CHECKSUM_SIZE,
        )


def unstuff(raw: Bytes, start: Int64s, end: Int64s) -> tuple[bytes, Int64s, Int64s, Bools]:
    """Undo COBS in pieces of raw, none of which holds a zero.

    Return bytes; where each piece begins and ends in them, int64; and whether COBS can have made
    it, bool (shape (n,) each).
    """
    out = raw.copy()
    sound = np.ones(start.size, np.bool_)
    live, at, stop = np.arange(start.size), start, end
    # Each code stands where a zero was, but the first, and one that follows a full group.
    dropped = [start]
    while live.size > _FEW:
        code = raw[at]
        out[at] = 0
        at = at + code
        sound[live[at > stop]] = False
        more = at < stop
        live, at, stop, code = live[more], at[more], stop[more], code[more]
        dropped.append(at[code == 0xFF])
    rest = [
        _follow(raw, out, piece, first, last, sound)
        for piece, first, last in zip(live.tolist(), at.tolist(), stop.tolist(), strict=True)
    ]
    gone = np.sort(np.concatenate([*dropped, *rest]))
    keep = np.ones(out.size, np.bool_)
    keep[gone] = False
    before = np.searchsorted(gone, np.stack((start, end)))
    return out[keep].tobytes(), start - before[0], end - before[1], sound


def _follow(raw: Bytes, out: Bytes, piece: int, at: int, end: int, sound: Bools) -> Int64s:
    """Follow the codes of one piece; return where those are that stand for nothing."""
    codes = raw.data
    zeros: list[int] = []
    gone: list[int] = []
    while at < end:
        code = codes[at]
        zeros.append(at)
        at += code
        if code == 0xFF and at < end:
            gone.append(at)
    sound[piece] = at == end
    out[np.array(zeros, np.int64)] = 0
    return np.array(gone, np.int64)


def _right_checksums(body: bytes, start: Int64s, end: Int64s) -> Bools:
    """Return whether the checksum behind each piece is that of its bytes, bool, shape (n,)."""
    pieces = map(slice, start.tolist(), (end - CHECKSUM_SIZE).tolist())
    digests = map(xxhash.xxh64_intdigest, map(body.__getitem__, pieces))
    made = np.fromiter(digests, np.uint64, start.size)
    sent = np.frombuffer(body, np.uint8)[(end - CHECKSUM_SIZE)[:, None] + np.arange(CHECKSUM_SIZE)]
    right: Bools = sent.view("<u8")[:, 0] == made
    return right
