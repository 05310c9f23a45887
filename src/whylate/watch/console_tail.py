"""The end of a console's log, read as it grows, whatever it holds and however fast it comes."""

from __future__ import annotations

import codecs
import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from whylate.recording.console.crashes import Crash, CrashFinder
from whylate.recording.console.escapes import without_escapes
from whylate.text import plain
from whylate.watch.followed import opened_regular
from whylate.watch.model import ConsoleView, CrashMark, Line

#: Read at a time; of more, the end.
MOST_BYTES = 1 << 20
#: Lines that are kept, characters of a line that are shown, and of a longer one that are kept.
MOST_LINES = 200
MOST_SHOWN = 240
_MOST_LINE = 4096
_LAST_BYTES = 64
_MOST_CRASHES = 8
#: So many zeros are a part that was freed, not what a board printed.
_LEAST_FREED = 512


class ConsoleTail:
    """Follows one log, which its board may begin anew under the same name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: The device and the inode of the log. It is open only while it is read: a log that was
        #: removed must not keep its place on the disk.
        self._file: tuple[int, int] | None = None
        self._begin()

    def _begin(self) -> None:
        self._read = 0
        #: The bytes before the next one to be read.
        self._last = b""
        self._skipped = 0
        self._lines: deque[_Line] = deque(maxlen=MOST_LINES)
        #: The crashes before the last gap.
        self._former: list[Crash] = []
        self._partial = ""
        self._number = 1
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._finder = CrashFinder()

    def poll(self) -> ConsoleView | None:
        """Read what was printed since the last call; None where there is no log."""
        try:
            with opened_regular(self._path) as fd:
                start, data = self._read_new(fd)
        except OSError:
            return None
        self._read = start + len(data)
        self._last = (self._last + data)[-_LAST_BYTES:]
        freed = len(data) - len(data.lstrip(b"\0"))
        if freed >= _LEAST_FREED:
            self._skip(freed)
        self._feed(data.replace(b"\0", b""))
        return self._view()

    def _read_new(self, fd: int) -> tuple[int, bytes]:
        """Return what was not read yet, and where in the log it begins; raises OSError."""
        status = os.fstat(fd)
        file, size = (status.st_dev, status.st_ino), status.st_size
        last = os.pread(fd, len(self._last), self._read - len(self._last))
        if file != self._file or size < self._read or not _may_be(last, self._last):
            # The board was switched on again: its log began anew.
            self._begin()
            self._file = file
        start = max(self._read, size - MOST_BYTES)
        if start > self._read:
            self._skip(start - self._read)
            self._last = b""
        return start, os.pread(fd, size - start, start)

    def _skip(self, count: int) -> None:
        """Leave out bytes: the text after them is a new line, of a new search."""
        self._skipped += count
        self._partial = ""
        self._decoder.reset()
        marks = _marks(self._finder)
        self._lines = deque((line.marked(marks) for line in self._lines), maxlen=MOST_LINES)
        self._former = _most_wanted([*self._former, *self._finder.crashes()])
        # A report that began before the gap must not go on behind it.
        self._finder = CrashFinder()
        self._number = 1

    def _feed(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        self._finder.feed_text(text)
        *lines, last = text.split("\n")
        for line in lines:
            self._lines.append(_Line(self._number, _shortened(self._partial + line)))
            self._number += 1
            self._partial = ""
        self._partial = _shortened(self._partial + last)

    def _view(self) -> ConsoleView:
        marks = _marks(self._finder)
        lines = [
            Line(_shown(line.text), line.marked(marks).mark)
            for line in [*self._lines, _Line(self._number, self._partial)]
            if line.text.strip()
        ]
        crashes = _most_wanted([*self._former, *self._finder.crashes()])
        headlines = [plain(f"{crash.kind}: {crash.headline}", MOST_SHOWN) for crash in crashes]
        return ConsoleView(lines, headlines, self._skipped)


@dataclass(frozen=True)
class _Line:
    """A line that is kept. number: that of its search for crashes; 0 before the last gap."""

    number: int
    text: str
    mark: CrashMark = "no"

    def marked(self, marks: dict[int, CrashMark]) -> _Line:
        """Return it as it is behind a gap: with its mark, and of no search."""
        return _Line(0, self.text, marks.get(self.number, self.mark))


def _marks(finder: CrashFinder) -> dict[int, CrashMark]:
    """Return the marks of lines by their numbers."""
    return {crash.line: "fatal" if crash.fatal else "crash" for crash in finder.crashes()}


def _most_wanted(crashes: list[Crash]) -> list[Crash]:
    """Return the latest crashes in their order, fatal ones rather than others."""
    wanted = sorted(range(len(crashes)), key=lambda at: (crashes[at].fatal, at))[-_MOST_CRASHES:]
    return [crashes[at] for at in sorted(wanted)]


def _may_be(now: bytes, before: bytes) -> bool:
    """Whether bytes of a log are still the same.

    A file system frees the middle of a log that has grown too large: it reads as zeros.
    """
    return len(now) == len(before) and all(
        byte in (0, former) for byte, former in zip(now, before, strict=True)
    )


def _shortened(line: str) -> str:
    """Return the end of a line that is too long to be kept."""
    return line if len(line) <= _MOST_LINE else f"…{line[-_MOST_LINE // 2 :]}"


def _shown(line: str) -> str:
    """Return a line as it is shown: what was written over by a carriage return is left out."""
    parts = [part for part in line.split("\r") if part.strip()]
    return plain(without_escapes(parts[-1] if parts else ""), MOST_SHOWN)
