"""console.log: what the board's console printed, from its boot to the end of the run.

Where a console prints too much or the disk fails, console.log ends with a line that states it. The
text after that line is searched for crashes as it comes. Its end is kept in console-end.log;
console.json has the reason and the crashes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import IO

import msgspec

from whylate.files import write_all, write_whole
from whylate.recording.console.crashes import Crash, CrashFinder
from whylate.recording.errors import DiskError
from whylate.recording.manifest import CrashReport

NAME = "console.log"
#: The end of what is not in console.log.
END = "console-end.log"
#: Why console.log is not whole.
ACCOUNT = "console.json"
#: More of a console is not kept: it must not fill the disk.
MAX_BYTES = 64 << 20
CUT = b"\n[whylate: the console printed more than is kept]\n"
FAILED = b"\n[whylate: what the console printed from here on could not be written]\n"
#: The end that is kept has this many bytes to twice as many.
END_BYTES = 1 << 20
_PIECE = 1 << 16
#: Of the last line of console.log: a message that goes on after it is searched for as a whole.
_MAX_LINE = 4096
_MAX_ACCOUNT = 4 << 20


def crash_reports(crashes: Iterable[Crash], line: int | None = None) -> list[CrashReport]:
    """Return crashes as the manifest has them; line: of all of them, None: their own."""
    reports = (msgspec.convert(crash, CrashReport, from_attributes=True) for crash in crashes)
    return [msgspec.structs.replace(report, line=line or report.line) for report in reports]


class ConsoleAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """console.json. There is none where console.log is whole."""

    #: What is missing in console.log, and why: a sentence.
    text: str
    #: Crashes in the text that is missing; their line is the last of console.log.
    crashes: list[CrashReport]


class ConsoleWriter:
    """Copies what is appended to a console's log, piece by piece; one thread at a time.

    sift: returns the part of a piece that the console printed. Leaving the block raises DiskError
    where not even console.json could be written.
    """

    def __init__(
        self,
        directory: Path,
        sift: Callable[[bytes], bytes] = bytes,
        limit: int = MAX_BYTES,
    ) -> None:
        self._sift = sift
        self._directory = directory
        self._limit = limit
        self._file: IO[bytes] | None = None
        self._read = 0
        self._kept = 0
        self._lines = 0
        self._last_line = b""
        self._rest: _Rest | None = None
        #: Why the last read of the log failed.
        self._unread: str | None = None

    def __enter__(self) -> ConsoleWriter:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the copy."""
        if self._file is not None:
            self._file.close()
        if self._unread is not None and self._rest is None:
            self._give_up(f"the console's log could not be read to its end ({self._unread})", b"")
        complete = self._rest is None or self._rest.close()
        if not complete and error is None:
            raise DiskError(
                f"what the console printed cannot be written to {self._directory}: make room, and "
                f"run `whylate report {self._directory}` for what was measured"
            )

    def copy(self, log: Path) -> bool:
        """Append what came since the last call, and return whether anything did.

        A log or a disk that fails is no error here: console.json has what is missing.
        """
        before = self._read
        try:
            with log.open("rb") as source:
                if source.seek(0, 2) < self._read:
                    # The board was switched off and on again: its log began anew.
                    self._read = before = 0
                source.seek(self._read)
                while data := source.read(_PIECE):
                    self._read += len(data)
                    self.add(self._sift(data))
        except FileNotFoundError:
            # A board that was not switched on yet has none.
            pass
        except OSError as error:
            self._unread = error.strerror or "input error"
        else:
            self._unread = None
        return self._read > before

    def add(self, data: bytes) -> None:
        """Append text that is sifted already."""
        if self._rest is None:
            data = self._keep(data)
        if data and self._rest is not None:
            self._rest.add(data)

    def _keep(self, data: bytes) -> bytes:
        """Write as much as is kept, and return the rest."""
        kept = 0
        room = self._limit - self._kept
        try:
            if data and self._file is None:
                self._file = (self._directory / NAME).open("xb", buffering=0)
            while self._file is not None and kept < min(room, len(data)):
                kept += self._file.write(data[kept:room])
        except OSError as error:
            why = f"{NAME} could not be written ({error.strerror})"
            self._note(data[:kept])
            self._give_up(why, FAILED)
        else:
            self._note(data[:kept])
            if kept < len(data):
                self._give_up(f"the console printed more than {self._limit} bytes", CUT)
        return data[kept:]

    def _note(self, kept: bytes) -> None:
        """Remember where console.log ends."""
        self._kept += len(kept)
        self._lines += kept.count(b"\n")
        self._last_line = (self._last_line + kept).rpartition(b"\n")[2][-_MAX_LINE:]

    def _give_up(self, why: str, mark: bytes) -> None:
        """Stop writing console.log: a gap in its middle would mislead."""
        end = self._lines + 1
        if self._file is not None and mark:
            with contextlib.suppress(OSError):
                self._file.write(mark)
                end += 1
        self._rest = _Rest(self._directory, why, self._last_line, end)


class _Rest:
    """The text that is missing in console.log: searched for crashes; its end is kept."""

    def __init__(self, directory: Path, why: str, last_line: bytes, line: int) -> None:
        self._directory = directory
        self._why = why
        self._line = line
        self._finder = CrashFinder()
        # A headline may begin before the cut and end after it.
        self._finder.feed(last_line)
        self._came = 0
        self._end = bytearray()
        self._file: IO[bytes] | None = None
        self._end_kept = True
        self._written: ConsoleAccount | None = None
        self._write_account(())

    def add(self, data: bytes) -> None:
        """Add what was printed next."""
        self._came += len(data)
        self._finder.feed(data)
        self._keep(data)
        # Written at once: a killed process must not hide a crash.
        self._write_account(self._finder.crashes())

    def close(self) -> bool:
        """End, and return whether console.json is complete."""
        if self._file is not None:
            self._file.close()
        return self._write_account(self._finder.finish())

    def _keep(self, data: bytes) -> None:
        self._end += data
        full = len(self._end) > 2 * END_BYTES
        if full:
            del self._end[:-END_BYTES]
        if not self._end_kept:
            return
        try:
            if self._file is None or full:
                self._begin_anew()
            else:
                write_all(self._file.fileno(), data)
        except OSError:
            self._end_kept = False

    def _begin_anew(self) -> None:
        """Write what is remembered to a new file, which then takes the old one's place."""
        if self._file is not None:
            self._file.close()
        partial = self._directory / (END + ".partial")
        partial.unlink(missing_ok=True)
        self._file = partial.open("xb", buffering=0)
        write_all(self._file.fileno(), self._end)
        partial.replace(self._directory / END)

    def _write_account(self, crashes: tuple[Crash, ...]) -> bool:
        account = ConsoleAccount(self._text(), crash_reports(crashes, self._line))
        if account == self._written:
            return True
        try:
            write_whole(self._directory / ACCOUNT, msgspec.json.encode(account))
        except OSError:
            return False
        self._written = account
        return True

    def _text(self) -> str:
        text = f"{NAME} is not whole from its line {self._line} on: {self._why}"
        if not self._came:
            return text
        end = f"only its end is kept ({END})" if self._end_kept else "it is not kept"
        return f"{text}; what came after that was searched for crashes, but {end}"


def read_console(directory: Path) -> bytes | None:
    """Return what a recording has of its console, at most MAX_BYTES; None where it has nothing."""
    return _read(directory / NAME, MAX_BYTES + len(FAILED))


def read_account(directory: Path) -> ConsoleAccount | None:
    """Return why a recording's console.log is not whole; None where it is."""
    data = _read(directory / ACCOUNT, _MAX_ACCOUNT)
    try:
        return msgspec.json.decode(data, type=ConsoleAccount) if data is not None else None
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None


def _read(path: Path, limit: int) -> bytes | None:
    try:
        if path.is_symlink():
            return None
        with path.open("rb") as file:
            return file.read(limit)
    except OSError:
        return None
