"""The lines of a text of any size, from a file or a pipe, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from whylate.recording.errors import RecordingError

CHUNK = 1 << 20
#: No line of a trace is longer (the kernel's trace_seq has two pages at most); what is was not
#: written by a tracer.
LONGEST_LINE = 1 << 13
#: How files begin that are no text, and what to do with them.
_BINARIES = (
    (b"\x17\x08Dtracing", "a binary trace.dat: give the text of `trace-cmd report {} > FILE`"),
    (b"PERFILE2", "a binary perf.data: give the text of `perf script --ns -i {} > FILE`"),
    (b"PAR1", "a Parquet file: `whylate explain` reads a recording by its directory"),
    (b"\x1f\x8b", "compressed: unpack it first, or give `zcat {} |` and - as FILE"),
    (b"\xfd7zXZ", "compressed: unpack it first, or give `xzcat {} |` and - as FILE"),
    (b"BZh", "compressed: unpack it first, or give `bzcat {} |` and - as FILE"),
    (b"\xff\xfe", "text in UTF-16: `iconv -f UTF-16 -t UTF-8 {} > FILE` first"),
    (b"\xfe\xff", "text in UTF-16: `iconv -f UTF-16 -t UTF-8 {} > FILE` first"),
    (b"\x28\xb5\x2f\xfd", "compressed: unpack it first, or give `zstdcat {} |` and - as FILE"),
)
#: What editors put before UTF-8.
_BOM = b"\xef\xbb\xbf"


class Lines:
    """Iterates over the lines of a stream, without their ends; raises RecordingError for no text.

    read: bytes so far. torn: the last line had no end, and was left out; rest: what there is of it.
    too_long: lines longer than any tracer writes, which were left out. seen: called with the bytes
    read so far.
    """

    def __init__(
        self, stream: BinaryIO, name: str, seen: Callable[[int], None] | None = None
    ) -> None:
        self._stream = stream
        self._name = name
        self._seen = seen
        self.read = 0
        self.torn = False
        self.rest = b""
        self.too_long = 0

    def __iter__(self) -> Iterator[bytes]:
        rest, skipping = b"", False
        while chunk := self._stream.read(CHUNK):
            first = not self.read
            self.read += len(chunk)
            if first:
                self._check(chunk)
                chunk = chunk.removeprefix(_BOM)
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if skipping and lines:
                del lines[0]
                skipping = False
            for line in lines:
                if len(line) <= LONGEST_LINE:
                    yield line
                else:
                    self.too_long += 1
            if len(rest) > LONGEST_LINE:
                self.too_long += not skipping
                rest, skipping = b"", True
            if self._seen is not None:
                self._seen(self.read)
        self.torn = bool(rest or skipping)
        self.rest = rest

    def _check(self, chunk: bytes) -> None:
        for magic, what in _BINARIES:
            if chunk.startswith(magic):
                raise RecordingError(f"{self._name} is {what.format(self._name)}")
        if b"\0" in chunk[:4096]:
            raise RecordingError(f"{self._name} is no text: a trace is imported as text")
