"""Directories of work that takes hours: a plan, and a line for each part that is done.

A line is on the disk before the next part begins. Where the host died while writing, the last line
is incomplete; it is cut off when the directory is opened again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec

from whylate.files import bytes_text, read_bounded, try_lock, write_all, write_whole
from whylate.recording.errors import DiskError, RecordingError

#: Bytes of a plan, and of a line with its end.
_MAX_PLAN = 1 << 20
MAX_LINE = 1 << 20
#: Bytes of a file of lines.
_MAX_LINES = 256 << 20

T = TypeVar("T")
P = TypeVar("P")
L = TypeVar("L")


class _Version(msgspec.Struct):
    """The field that is read before all others: they may have changed since."""

    schema_version: int = 0


def read_plan(
    path: Path,
    kind: type[T],
    what: str,
    newest: int | None = None,
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> T:
    """Read a plan; what: the beginning of the message where there is none.

    newest: the newest schema that is known. convert: makes an object of that schema of an older
    one; raises KeyError or ValueError. Raises RecordingError.
    """
    try:
        data = read_bounded(path, _MAX_PLAN)
        version = msgspec.json.decode(data, type=_Version).schema_version
        if newest is not None and version > newest:
            raise RecordingError(
                f"{path} was written by a newer whylate (schema {version}): update it"
            )
        if convert is not None and newest is not None and version < newest:
            return msgspec.convert(convert(msgspec.json.decode(data)), type=kind)
        return msgspec.json.decode(data, type=kind)
    except FileNotFoundError:
        raise RecordingError(f"{what}: it has no {path.name}") from None
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordingError(f"{path} is damaged: {error}") from None


def write_plan(path: Path, plan: object) -> None:
    """Write a plan, whole or not at all; raises DiskError."""
    try:
        write_whole(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None


def read_lines(path: Path, kind: type[T]) -> tuple[list[T], int]:
    """Return the items of the lines, and their size in bytes.

    An incomplete last line is left out. Raises RecordingError, also for a line that is too long:
    what stands behind it is not lost.
    """
    items: list[T] = []
    good = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                if len(line) > MAX_LINE:
                    raise RecordingError(
                        f"{path} is damaged in line {len(items) + 1}: it is longer than "
                        f"{bytes_text(MAX_LINE)}"
                    )
                if not line.endswith(b"\n"):
                    break
                try:
                    items.append(msgspec.json.decode(line, type=kind))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise RecordingError(
                        f"{path} is damaged in line {len(items) + 1}: {error}"
                    ) from None
                good += len(line)
                if good > _MAX_LINES:
                    raise RecordingError(
                        f"{path} is too large: up to {bytes_text(_MAX_LINES)} are read"
                    )
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    return items, good


def _encoded(path: Path, item: object) -> bytes:
    """Return the line of an item; raises RecordingError where read_lines() would not take it."""
    line = msgspec.json.encode(item) + b"\n"
    if len(line) > MAX_LINE:
        raise RecordingError(
            f"{path}: a line of {bytes_text(len(line))} is not written: up to "
            f"{bytes_text(MAX_LINE)} are read again"
        )
    return line


def append_lines(path: Path, kind: type[T], items: Sequence[T]) -> None:
    """Add a line for each item; all are on the disk when this returns.

    An incomplete last line is cut off first. Raises DiskError where the file cannot be written, and
    RecordingError where another process writes it or a line is damaged.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    try:
        if not try_lock(fd):
            raise RecordingError(f"{path} is being written by another whylate: try again")
        _, good = read_lines(path, kind)
        if good < os.fstat(fd).st_size:
            os.ftruncate(fd, good)
        write_all(fd, b"".join(_encoded(path, item) for item in items))
        os.fsync(fd)
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        os.close(fd)


@dataclass(frozen=True)
class Layout(Generic[P, L]):
    """A kind of directory: a plan, a line for each part that is done, and a folder of results."""

    #: Its name: "study".
    what: str
    plan: str
    plan_type: type[P]
    schema_version: int
    lines: str
    line_type: type[L]
    folder: str
    #: Makes a plan of this schema of an older one; None: there is no older schema.
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def read(self, directory: Path) -> tuple[P, list[L]]:
        """Return the plan and the lines; raises RecordingError."""
        plan = read_plan(
            directory / self.plan,
            self.plan_type,
            f"{directory} is not a {self.what} of whylate",
            self.schema_version,
            self.convert,
        )
        return plan, read_lines(directory / self.lines, self.line_type)[0]


class LineDirectory(Generic[P, L]):
    """A directory of a layout, locked for this process; any thread may call append().

    Raises RecordingError for a directory that holds something else, is damaged, or is locked by
    another process, DiskError where it cannot be written, and what must_be_same() raises.
    """

    def __init__(self, directory: Path, layout: Layout[P, L], plan: P) -> None:
        self.directory = directory
        self.plan = plan
        self._lock = threading.Lock()
        try:
            new = not (directory / layout.plan).exists()
            if new and directory.exists() and any(directory.iterdir()):
                raise RecordingError(
                    f"{directory} exists and is no {layout.what}: choose another name with -o"
                )
            (directory / layout.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError(f"{directory} cannot be written: {error.strerror}") from None
        if new:
            write_plan(directory / layout.plan, plan)
        self._path = directory / layout.lines
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = os.open(self._path, flags, 0o644)
        except OSError as error:
            raise DiskError(f"{self._path} cannot be written: {error.strerror}") from None
        try:
            if not try_lock(self._fd):
                raise RecordingError(
                    f"{directory} is the {layout.what} of another whylate that still runs"
                )
            held = layout.read(directory)[0]
            self.lines, good = read_lines(self._path, layout.line_type)
            self.must_be_same(held)
            if held != plan:
                write_plan(directory / layout.plan, plan)
            if good < os.fstat(self._fd).st_size:
                # The host died while it wrote a line.
                os.ftruncate(self._fd, good)
            self.recover()
        except BaseException:
            os.close(self._fd)
            raise

    def must_be_same(self, held: P) -> None:
        """Raise where the plan on the disk contradicts ours."""

    def recover(self) -> None:
        """Complete what a killed process left."""

    def append(self, line: L) -> None:
        """Write a line; it is on the disk when this returns.

        Raises DiskError, and RecordingError for a line that could not be read again.
        """
        encoded = _encoded(self._path, line)
        with self._lock:
            size: int | None = None
            try:
                size = os.fstat(self._fd).st_size
                write_all(self._fd, encoded)
                os.fsync(self._fd)
            except OSError as error:
                # Another thread's line must not follow the beginning of this one.
                if size is not None:
                    with contextlib.suppress(OSError):
                        os.ftruncate(self._fd, size)
                raise DiskError(f"{self._path} cannot be written: {error.strerror}") from None
            # A new list: readers in other threads keep one that does not change.
            self.lines = [*self.lines, line]

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unlock the directory."""
        os.close(self._fd)
