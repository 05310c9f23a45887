"""A console's log from power-on to power-off, and whether it is complete."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from whylate.boards.board import Console
from whylate.boards.console.sieve import FrameSieve
from whylate.files import read_end
from whylate.probe.client import Stream
from whylate.recording.console.crashes import find_crashes
from whylate.recording.console.kernel_stamp import KERNEL_STAMP
from whylate.recording.console.log import CUT, MAX_BYTES
from whylate.recording.errors import DiskError
from whylate.run.console import NO_END

#: The text alone, beside the log of a console that carries frames.
TEXT = "console-text.log"
_PIECE = 1 << 16
#: A kernel that printed this does nothing more.
_PANIC = b"Kernel panic - not syncing"
#: The report of a panic is printed in this time.
_PANIC_S = 2.0
#: Pieces of a log whose time is kept: a boot has fewer.
MOST_STAMPS = 1 << 16
#: The first messages of a boot are within so much of its beginning.
_BEGINNING = 1 << 16
_FIRST_WORDS = re.compile(
    rb"Booting Linux on |Linux version |U-Boot |EFI stub|Uncompressing Linux|Decompressing Linux"
    rb"|NOTICE: {1,4}BL|OpenSBI v|coreboot-|SeaBIOS|GNU GRUB|Starting kernel"
)


@dataclass(frozen=True)
class Stamp:
    """When a piece of a log came, on time.monotonic(): between two looks at it, in s.

    end: bytes of the log up to the end of the piece.
    """

    end: int
    earliest_s: float
    latest_s: float


class ConsoleTail:
    """Copies what a console prints from now on, also into a log that is truncated or replaced.

    Several threads may call copy(). Raises DiskError where the copy cannot be written.
    """

    def __init__(self, console: Console, copy: Path, limit: int = MAX_BYTES) -> None:
        self._console = console
        #: Whether frames of the probe are in its log.
        self.framed: bool = getattr(console, "framed", False)
        self.path = copy
        self._limit = limit
        self._lock = threading.Lock()
        try:
            self._copy = copy.open("xb", buffering=0)
        except OSError as error:
            raise DiskError(f"{copy} cannot be written: {error.strerror}") from None
        #: Kept open, so that a new file cannot get the inode number of a deleted one.
        self._source: IO[bytes] | None = self._open()
        if self._source is not None:
            self._source.seek(0, os.SEEK_END)
        #: How much was printed since.
        self.bytes = 0
        #: When it came: at most MOST_STAMPS pieces, the first ones.
        self.stamps: list[Stamp] = []
        self._looked_at = time.monotonic()
        #: The end of what was searched for a panic, and when the words of one came.
        self._searched = b""
        self._panic_at: float | None = None
        self._panicked = False

    @property
    def cut(self) -> bool:
        """Whether more was printed than is kept."""
        return self.bytes > self._limit

    def copy(self) -> None:
        """Append what came since the last call."""
        with self._lock:
            if self._copy.closed:
                return
            self._drain()
            fresh = self._open()
            if fresh is None:
                return
            if self._source is not None and _same(self._source, fresh):
                fresh.close()
                # The log may also have been truncated.
                if os.fstat(self._source.fileno()).st_size < self._source.tell():
                    self._source.seek(0)
            else:
                if self._source is not None:
                    self._source.close()
                self._source = fresh
            self._drain()

    def has_panicked(self) -> bool:
        """Whether the kernel has panicked, and had the time to say why."""
        if self._panicked or self._panic_at is None:
            return self._panicked
        if time.monotonic() - self._panic_at < _PANIC_S:
            return False
        self._panicked = any(crash.kind == "panic" for crash in find_crashes(self.text()))
        # Otherwise the words were in a frame of the probe.
        self._panic_at = None
        return self._panicked

    def read(self) -> bytes:
        """Return what was kept."""
        self.copy()
        return read_end(self.path, self._limit + _PIECE)

    def text(self, printed: int | None = None) -> bytes:
        """Return what the board printed, of the log or of its first bytes."""
        log = self.read()[:printed]
        if not self.framed:
            return log
        sieve = FrameSieve(NO_END)
        pieces = (log[at : at + _PIECE] for at in range(0, len(log), _PIECE))
        text = b"".join(sieve.feed(piece)[1] for piece in pieces)
        return text + sieve.finish()[1]

    def close(self) -> None:
        """Copy the rest, and close the files."""
        self.copy()
        with self._lock:
            self._copy.close()
            if self._source is not None:
                self._source.close()
        if self.framed:
            path = self.path.with_name(TEXT)
            try:
                path.write_bytes(self.text())
            except OSError as error:
                raise DiskError(f"{path} cannot be written: {error.strerror}") from None

    def _open(self) -> IO[bytes] | None:
        try:
            return self._console.log.open("rb", buffering=0)
        except OSError:
            return None

    def _drain(self) -> None:
        before = self.bytes
        self._read_rest()
        now = time.monotonic()
        if self.bytes > before and len(self.stamps) < MOST_STAMPS:
            self.stamps.append(Stamp(self.bytes, self._looked_at, now))
        self._looked_at = now

    def _read_rest(self) -> None:
        while self._source is not None and (data := self._source.read(_PIECE)):
            left = self._limit - self.bytes
            self.bytes += len(data)
            if self._panic_at is None and _PANIC in self._searched + data:
                self._panic_at = time.monotonic()
            self._searched = data[-len(_PANIC) :]
            if left > 0:
                self._write(data[:left] + (CUT if self.cut else b""))

    def _write(self, data: bytes) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[self._copy.write(view) :]
        except OSError as error:
            raise DiskError(f"{self.path} cannot be written: {error.strerror}") from None


class TailedConsole:
    """A console whose log is that of one cycle. Implements whylate.boards.board.Console."""

    def __init__(self, console: Console, tail: ConsoleTail) -> None:
        self._console = console
        self._tail = tail
        #: Whether frames of the probe are in its log.
        self.framed = tail.framed

    @property
    def log(self) -> Path:
        """What was printed in this cycle until now."""
        self._tail.copy()
        return self._tail.path

    def connect(self) -> Stream:
        """Return the bytes of both directions; raises BoardError."""
        return self._console.connect()


def begins_with_the_boot(log: bytes) -> bool | None:
    """Whether a log begins with the boot; None if the console does not show it.

    It does if a boot loader, firmware or the kernel prints its first message. It does not if the
    kernel's time stamps begin later.
    """
    beginning = log[:_BEGINNING]
    words = _FIRST_WORDS.search(beginning)
    stamp = KERNEL_STAMP.search(beginning)
    if stamp is not None and float(stamp[1]) > 0 and (words is None or words.start() > stamp.end()):
        return False
    if words is not None:
        return True
    return False if not log.strip() else None


def holds_a_boot(log: bytes) -> bool | None:
    """Whether a boot begins somewhere in the log, as behind a shutdown; None: it shows none."""
    if not log.strip():
        return False
    return True if _FIRST_WORDS.search(log) else None


def _same(first: IO[bytes], second: IO[bytes]) -> bool:
    return os.path.samestat(os.fstat(first.fileno()), os.fstat(second.fileno()))
