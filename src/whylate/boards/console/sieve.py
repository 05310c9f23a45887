r"""Separates frames and text that come over one line.

While the probe runs, the line is raw: only the kernel writes to it besides, and it ends its
lines with "\r\n". Frames are delimited by zero bytes (whylate.wire.frame). Of the bytes between
two zeros

- what decodes is a frame, and goes to the link unchanged, whatever text it carries;
- what is printable throughout is text;
- of anything else, the printable end of each piece before "\r\n" is text, from the kernel's
  time stamp on where it has one. The rest goes to the link: it is a damaged frame, which the
  link counts, or a whole one again, now that the kernel's line was taken out of its middle.

Only bytes that belong to no frame and no line are lost.
"""

from __future__ import annotations

import re
import string
from collections import deque

from whylate.wire.codec import WireError
from whylate.wire.frame import OVERHEAD, ProtocolMismatchError, decode_frame
from whylate.wire.messages import MAX_PAYLOAD

_TEXT = string.printable.encode() + b"\x1b\x08\x07"
#: Characters of a line of text; line ends are handled separately.
_IN_LINE = bytes(sorted(set(_TEXT) - set(b"\r\n\x0b\x0c")))
_TIME_STAMP = re.compile(rb"(?:<\d{1,2}>)?\[ {0,10}\d{1,10}\.\d{6}\]")
#: This many random bytes are all printable once in five million times.
_SHORTEST = 16
_MAX_ENCODED = (MAX_PAYLOAD + OVERHEAD) * 255 // 254 + 2


class FrameSieve:
    """Separates a line's bytes for the link from text; feed it any pieces. Never raises.

    `end` is the text by which the board announces that no more frames follow.
    """

    def __init__(self, end: bytes) -> None:
        self._end = end
        self._partial = bytearray()
        #: Set once `end` was seen.
        self.ended = False
        #: The bytes that went to the link.
        self.framed = 0

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the bytes for the link and the text that data completes."""
        if self.ended:
            return b"", data
        frames, text = bytearray(), bytearray()
        pieces = deque(data.split(b"\0"))
        self._partial += pieces.popleft()
        while not self._find_end(pieces, frames, text) and pieces:
            self._close_piece(frames, text)
            self._partial += pieces.popleft()
        if len(self._partial) > _MAX_ENCODED:
            self._close_lines(frames, text)
        self.framed += len(frames)
        return bytes(frames), bytes(text)

    def idle(self) -> bytes:
        """Return the text that waits for a zero byte, because the line is silent.

        A kernel that has panicked prints nothing more.
        """
        if b"\n" not in self._partial or not _is_text(self._partial):
            return b""
        text = bytes(self._partial)
        self._partial.clear()
        return text

    def finish(self) -> tuple[bytes, bytes]:
        """Return what is left at the end of the line."""
        frames, text = bytearray(), bytearray()
        self._close_piece(frames, text)
        self.framed += len(frames)
        return bytes(frames), bytes(text)

    def _find_end(self, following: deque[bytes], frames: bytearray, text: bytearray) -> bool:
        """Treat all from `end` on as text, if the unfinished piece has it."""
        at = self._partial.find(self._end)
        if at < 0:
            return False
        rest = bytes(self._partial[at:])
        del self._partial[at:]
        self._close_piece(frames, text)
        text += b"\0".join([rest, *following])
        self.ended = True
        return True

    def _close_lines(self, frames: bytearray, text: bytearray) -> None:
        """Close what is too long to be a frame, but not in the middle of a line."""
        rest = self._partial[self._partial.rfind(b"\n") + 1 :]
        if len(rest) <= _MAX_ENCODED:
            del self._partial[len(self._partial) - len(rest) :]
        else:
            rest = bytearray()
        self._close_piece(frames, text)
        self._partial += rest

    def _close_piece(self, frames: bytearray, text: bytearray) -> None:
        if not self._partial:
            return
        piece = bytes(self._partial)
        self._partial.clear()
        if not _is_frame(piece):
            if _is_text(piece):
                text += piece
                return
            # The bytes of a frame may look like a line, too: what leaves a whole frame is right.
            whole = piece
            piece, lines = lift_lines(whole, stamped=True)
            if not _is_frame(piece):
                piece, lines = lift_lines(whole)
            text += lines
        if piece:
            frames += b"\0" + piece + b"\0"


def lift_lines(piece: bytes, *, stamped: bool = False) -> tuple[bytes, bytes]:
    r"""Return what is left of a piece without the lines of text in it, and those lines.

    stamped: only those that have the kernel's time stamp.
    """
    rest, text = bytearray(), bytearray()
    among_text = False
    *segments, last = piece.split(b"\r\n")
    for segment in segments:
        line = segment[len(segment.rstrip(_IN_LINE)) :]
        stamp = _TIME_STAMP.search(line)
        if stamp:
            line = line[stamp.start() :]
        # A short line counts only after another one, and only if it is complete.
        short = len(line) < _SHORTEST and not (among_text and len(line) == len(segment))
        among_text = bool(stamp) or not (short or stamped)
        if among_text:
            rest += segment[: len(segment) - len(line)]
            text += line + b"\r\n"
        else:
            rest += segment + b"\r\n"
    return bytes(rest + last), bytes(text)


def _is_frame(piece: bytes) -> bool:
    try:
        decode_frame(piece)
    except ProtocolMismatchError:
        return True
    except WireError:
        return False
    return True


def _is_text(piece: bytes | bytearray) -> bool:
    return (b"\n" in piece or len(piece) >= _SHORTEST) and not piece.strip(_TEXT)
