"""Filter a board's console output for the user's terminal."""

from __future__ import annotations

import re

#: A terminal obeys what stands between one of these and a terminator: the window's title, the
#: clipboard, answers in its name. In eight bits, too, as UTF-8 has them: U+0090, 98, 9D to 9F.
#: Control characters behind an ESC do not end what it began: terminals obey or ignore them, and
#: read on; some do the same with what is not ASCII.
_BETWEEN = rb"[\x00-\x1a\x1c-\x1f\x7f-\xff]"
_STRINGS = re.compile(rb"\x1b(%b*[\]PX^_])|\xc2[\x90\x98\x9d-\x9f]|\x05" % _BETWEEN)
#: What may be the first half of one of them.
_HALF = re.compile(rb"(?:\x1b%b*|\xc2)\Z" % _BETWEEN)
#: A longer half is no real command.
LONGEST_HALF = 64


class TerminalFilter:
    r"""Escapes the commands of a stream that reach beyond the screen.

    Colours, cursor movements and the like pass: a console without them cannot be used. An OSC,
    DCS, SOS, PM or APC (ECMA-48) is shown with its escape character as `\x1b`.
    """

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may be shown now; half a command waits for its other half."""
        data = self._held + data
        half = _HALF.search(data)
        if half is not None and len(half[0]) > LONGEST_HALF:
            # Released, but escaped.
            at = half.start()
            data = data[:at] + b"\\x1b" + data[at + 1 :]
            half = _HALF.search(data, at)
        self._held = half[0] if half is not None else b""
        return _STRINGS.sub(_escape, data[: len(data) - len(self._held)])


def _escape(match: re.Match[bytes]) -> bytes:
    if match[1] is not None:
        # The bytes between must not act, either.
        between = b"".join(b"\\x%02x" % byte for byte in match[1][:-1])
        return b"\\x1b" + between + match[1][-1:]
    return b"\\x%02x" % match[0][-1]
