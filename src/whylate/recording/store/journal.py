"""The journal: the file that a run appends to, so that nothing written is lost.

A journal is a sequence of frames (whylate.wire.frame): those of the probe as they came, and
records of the host as JSON. Each frame carries its checksum, so that a journal cut at any
byte is read up to the cut. Frames are written with one write(2) each and without a buffer of our
own: a killed process loses nothing. A thread calls fdatasync every SYNC_S: a power cut loses at
most what came since.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from whylate.files import try_lock, whole_directory, write_all
from whylate.recording.bounds import Count, Small, TimeNs
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.manifest import Change, Fact, Problem, State
from whylate.recording.plan import RunPlan
from whylate.wire.frame import Frame, FrameCounts, encode_frame

if TYPE_CHECKING:
    from whylate.wire.frame_batches import FrameBatch

NAME = "journal"
SYNC_S = 1.0
#: Of a record: facts can be long. The wire bounds what the probe sends.
MAX_RECORD = 1 << 20

OPENING = 0xE0
CLOSING = 0xE1


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first record, written before the run."""

    schema_version: Small
    created: str
    whylate: str
    board: str
    clock: str
    plan: RunPlan
    facts: list[Fact]
    probe_version: str
    probe_arch: str
    probe_sha256: str
    clock_resolution_ns: TimeNs | None
    clock_read_ns: TimeNs | None
    problems: list[Problem]


class Closing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last record, written after the run. Absent where the run was killed."""

    state: State
    changes: list[Change]
    problems: list[Problem]
    frames: Count
    frames_damaged: Count
    frames_resent: Count
    frames_lost: Count


class JournalWriter:
    """Appends to the journal of a new recording.

    The recording's directory appears under its name together with its first record, so that
    every directory can be opened. Raises RecordingError when the directory exists or
    cannot be made, and when the disk is full or fails; what was written before stays good.
    """

    def __init__(self, directory: Path, opening: Opening) -> None:
        self._path = directory / NAME
        self._sync_error: OSError | None = None
        if directory.exists():
            raise RecordingError(
                f"{directory} exists: a recording is never overwritten, choose another name"
            )
        self._fd = -1
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            with whole_directory(directory) as fresh:
                self._fd = os.open(fresh / NAME, flags, 0o644)
                # Held while the run lives: other processes can see that it goes on.
                try_lock(self._fd)
                self._write(encode_frame(OPENING, 0, msgspec.json.encode(opening)))
                os.fsync(self._fd)
        except (OSError, RecordingError) as error:
            if self._fd >= 0:
                os.close(self._fd)
            reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "disk full"
            raise RecordingError(f"{directory} cannot be made: {reason}") from None
        self._stop = threading.Event()
        self._syncing = threading.Thread(target=self._sync, name="journal-sync", daemon=True)
        self._syncing.start()

    def frame(self, frame: Frame) -> None:
        """Append a frame of the probe."""
        self._write(encode_frame(frame.kind, frame.number, frame.payload))

    def closing(self, record: Closing) -> None:
        """Append the last record."""
        self._write(encode_frame(CLOSING, 0, msgspec.json.encode(record)))

    def seal(self) -> None:
        """Sync what was written; nothing more will be. The file stays locked until close()."""
        self._stop.set()
        self._syncing.join()
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """Unlock and close the file: the recording can be recovered from now on."""
        if self._fd < 0:
            return
        self._stop.set()
        self._syncing.join()
        os.close(self._fd)
        self._fd = -1

    def _write(self, data: bytes) -> None:
        if self._sync_error is not None:
            raise self._failed(self._sync_error)
        try:
            write_all(self._fd, data)
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> DiskError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return DiskError(
                f"the disk is full: what was measured is kept in {self._path.parent}; make room "
                f"and run `whylate report {self._path.parent}`"
            )
        return DiskError(f"{self._path} cannot be written: {os.strerror(error.errno or 0)}")

    def _sync(self) -> None:
        while not self._stop.wait(SYNC_S):
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                self._sync_error = error
                return


def read_journal(
    path: Path, only: frozenset[int] | None = None
) -> tuple[Iterator[Frame], FrameCounts]:
    """Return the frames of a journal in order, and the counts that reading them will fill.

    only: frames of other kinds are not looked at, nor counted.
    A frame that is cut or damaged is not returned; the counts say how many there were.
    Raises RecordingError when the file cannot be read.
    """
    batches, counts = read_batches(path, only)
    return (batch.frame(index) for batch in batches for index in range(len(batch))), counts


def read_batches(
    path: Path, only: frozenset[int] | None = None
) -> tuple[Iterator[FrameBatch], FrameCounts]:
    """Return the same, many frames at a time."""
    from whylate.wire.frame_batches import FrameBatchDecoder

    decoder = FrameBatchDecoder(MAX_RECORD, only)

    def batches() -> Iterator[FrameBatch]:
        try:
            with path.open("rb") as file:
                while data := file.read(1 << 20):
                    yield decoder.feed(data)
        except OSError as error:
            raise RecordingError(
                f"{path} cannot be read: {os.strerror(error.errno or 0)}"
            ) from None

    return batches(), decoder.counts


@contextmanager
def locked(directory: Path) -> Iterator[bool]:
    """Hold the lock on a recording's journal, so that only one process makes files of it.

    Yields whether there is a journal to be recovered. Raises RecordingError where the run still
    goes on, another process recovers it now, or the journal is not a regular file.
    """
    path = directory / NAME
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        yield False
        return
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise RecordingError(f"{path} is not a file: this is not a recording of whylate")
        if not try_lock(fd):
            raise RecordingError(
                f"the run that makes {directory} still goes on, or it is being recovered: "
                "wait for it"
            )
        # Another process may have finished it between our open and our lock.
        yield path.exists()
    finally:
        os.close(fd)
