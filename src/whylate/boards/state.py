"""State of boards that this machine keeps between commands, and the locks on them."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path
from types import TracebackType

from whylate.boards.errors import BoardBusyError, BoardError
from whylate.files import try_lock

#: A Unix socket's path must fit 108 bytes, so this stays short.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}")


def state_directory(board: str) -> Path:
    """Return the directory of a board, made where it is not; raises BoardError.

    Below WHYLATE_RUN, or the user's runtime directory, or a private directory among the temporary
    files.
    """
    if not _NAME.fullmatch(board):
        raise BoardError(f"{board[:80]!r} is not a valid name of a board")
    base = _base()
    directory = base / board
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BoardError(f"{base} cannot be used: {error.strerror}") from None
    return directory


def state_directories() -> list[Path]:
    """Return the directories of all boards that were used here; raises BoardError."""
    base = _base()
    try:
        return sorted(path for path in base.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError as error:
        raise BoardError(f"{base} cannot be read: {error.strerror}") from None


def _base() -> Path:
    """Return the directory that has those of all boards, made where it is not."""
    named, runtime = os.environ.get("WHYLATE_RUN"), os.environ.get("XDG_RUNTIME_DIR")
    if named:
        base = Path(named)
    elif runtime and os.access(runtime, os.W_OK):
        base = Path(runtime) / "whylate"
    else:
        base = Path(tempfile.gettempdir()) / f"whylate-{os.getuid()}"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = base.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise BoardError(f"{base} is not ours: remove it, or set WHYLATE_RUN to another place")
    except OSError as error:
        raise BoardError(f"{base} cannot be used: {error.strerror}") from None
    return base


class BoardLock:
    """Holds a board for this process. The lock ends with its holder."""

    def __init__(self, directory: Path, board: str) -> None:
        self._path = directory / "lock"
        self._board = board
        self._fd = -1

    @property
    def held(self) -> bool:
        """Whether this process holds the board."""
        return self._fd >= 0

    def acquire(self) -> None:
        """Lock the board; raises BoardBusyError with the holder's name, and BoardError."""
        if self.held:
            return
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise BoardError(f"{self._path} cannot be written: {error.strerror}") from None
        try:
            locked = try_lock(fd)
        except OSError as error:
            os.close(fd)
            raise BoardError(f"{self._path} cannot be locked: {error.strerror}") from None
        if not locked:
            owner = _owner(fd)
            os.close(fd)
            raise BoardBusyError(
                f"the board {self._board} is taken: {owner or 'another process'} has it"
            )
        self._fd = fd
        # For others' error messages. The lock holds even if the disk is full: the board that is to
        # be switched off may have filled it.
        with contextlib.suppress(OSError):
            os.ftruncate(fd, 0)
            since = time.strftime("%H:%M:%S")
            os.write(fd, f"process {os.getpid()} of user {os.getuid()}, since {since}".encode())

    def release(self) -> None:
        """Release the board; no error if it is not held."""
        if self.held:
            fd, self._fd = self._fd, -1
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)

    def owner(self) -> str | None:
        """Return who holds the board now, or None."""
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            return None if try_lock(fd, shared=True) else _owner(fd) or "another process"
        except OSError:
            return "another process"
        finally:
            os.close(fd)

    def seen_owner(self) -> str | None:
        """Return the same without touching the lock: who acquires it meanwhile is not refused."""
        try:
            status = self._path.stat()
            locks = Path("/proc/locks").read_text()
            owner = self._path.read_bytes()[:120]
        except OSError:
            return None
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
        if f" {device}:{status.st_ino} " not in locks:
            return None
        return _printable(owner) or "another process"

    def __enter__(self) -> BoardLock:
        """Acquire it."""
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release it."""
        self.release()


def _owner(fd: int) -> str:
    try:
        return _printable(os.pread(fd, 120, 0))
    except OSError:
        return ""


def _printable(text: bytes) -> str:
    return "".join(c for c in text.decode(errors="replace") if c.isprintable())
