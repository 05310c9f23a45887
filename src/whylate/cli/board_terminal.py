"""What a board prints, on the terminal of whoever sits at its console."""

from __future__ import annotations

import re

#: A terminal obeys what stands between one of these and a terminator: the window's title, the
#: clipboard, answers in its name. In eight bits, too, as UTF-8 has them: U+0090, 98, 9D to 9F.
_STRINGS = re.compile(rb"\x1b([\]PX^_])|\xc2([\x90\x98\x9d-\x9f])|\x05")
#: What may be the first half of one of them.
_HALVES = (b"\x1b", b"\xc2")


class TerminalFilter:
    r"""Takes the commands that reach beyond the screen out of a stream; what they were is shown.

    Colours, cursor movements and the like pass: a console without them cannot be used. An OSC,
    DCS, SOS, PM or APC (ECMA-48) is shown with its escape character as `\x1b`.
    """

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may be shown now; half a command waits for its other half."""
        data = self._held + data
        self._held = data[-1:] if data.endswith(_HALVES) else b""
        if self._held:
            data = data[:-1]
        return _STRINGS.sub(_visible, data)


def _visible(found: re.Match[bytes]) -> bytes:
    if found[1] is not None:
        return b"\\x1b" + found[1]
    return b"\\x%02x" % found[0][-1]
