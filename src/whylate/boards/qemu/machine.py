"""A QEMU process: started, found again by another command, ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.files import write_whole
from whylate.recording.console.crashes import Crash, find_crashes
from whylate.starting import kill_and_reap, signals_wait
from whylate.text import clean

#: How long QEMU may take to end after a signal.
END_S = 10.0
#: How long a boot may still take after the kernel has reported a stalled CPU.
STALLED_S = 20.0
#: Such reports, for which the console is searched every POLL_S.
STALLS = frozenset({"rcu stall", "soft lockup", "hard lockup"})
POLL_S = 1.0
#: How much of the last output is in an error message.
LAST_WORDS = 400
#: How much of the console's end is searched for a crash.
CRASH_BYTES = 1 << 18
#: How much of a log is read at once.
_PIECE = 1 << 20


class BootAgainError(BoardError):
    """A boot failed for a reason outside the board: the next boot may succeed."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Machine:
    """The QEMU of one board, known by the files in the board's directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def console_log(self) -> Path:
        """The file with what the console printed since the board was switched on."""
        return self.directory / "console.log"

    @property
    def console_socket(self) -> Path:
        """The console's bytes of both directions; one user at a time."""
        return self.directory / "console"

    @property
    def port_socket(self) -> Path:
        """The probe's line."""
        return self.directory / "port"

    @property
    def control_socket(self) -> Path:
        """The socket for QEMU's monitor, while a board is resumed."""
        return self.directory / "control"

    @property
    def pid(self) -> int | None:
        """The process of the board; None where it is off."""
        # Read once: another thread may end it meanwhile.
        process = self._process
        if process is not None:
            return process.pid if process.poll() is None else None
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.directory / "pid").read_text())
            # The number may belong to another process by now.
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if str(self.console_log).encode() in command:
                return pid
        return None

    def start(self, command: Sequence[str], *, outlive: bool, console: bytes = b"") -> None:
        """Start QEMU; raises BoardError. At any exception it has been ended.

        outlive: it continues when this process ends. console: what its console printed before.
        """
        # A host that is killed must not leave its boards running.
        if not outlive and (setpriv := shutil.which("setpriv")):
            command = [setpriv, "--pdeathsig", "KILL", *command]
        try:
            for name in ("console", "port", "control", "console.log", "shell.log", "pid"):
                (self.directory / name).unlink(missing_ok=True)
            if console:
                self.console_log.write_bytes(console)
            log = (self.directory / "qemu.log").open("wb")
        except OSError as error:
            raise self._unwritable(error) from None
        with log, contextlib.ExitStack() as unless_noted:
            try:
                with signals_wait():
                    process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                    # Nothing else could find it again.
                    unless_noted.callback(kill_and_reap, process)
            except OSError as error:
                raise BoardError(f"{command[0]} cannot be started: {error.strerror}") from None
            if outlive:
                # Reaps it if it ends before us.
                threading.Thread(target=process.wait, name="board", daemon=True).start()
            try:
                # At once: to a reader of half a number the board would seem to be off.
                write_whole(self.directory / "pid", str(process.pid).encode())
            except OSError as error:
                raise self._unwritable(error) from None
            self._process = process
            unless_noted.pop_all()

    def wait_for(self, text: bytes, timeout_s: float, begin: int = 0) -> None:
        """Wait until the console has printed text; raises BoardError with its last words.

        begin: bytes of its log that are not searched.

        BootAgainError where QEMU failed an assertion, and where the kernel has reported a stalled
        CPU and has not recovered in STALLED_S.
        """
        deadline = time.monotonic() + timeout_s
        search = _Search(self.console_log, text, begin)
        search_at = time.monotonic() + POLL_S
        stalled = False
        while not search.matches():
            if self.pid is None:
                # It may have printed the text and then ended.
                if search.matches():
                    return
                ended = f"QEMU ended before the board was up: {self.last_words()}"
                if self._aborted():
                    raise BootAgainError("QEMU failed", ended)
                raise BoardError(ended)
            if not stalled and time.monotonic() > search_at:
                search_at = time.monotonic() + POLL_S
                stalled = any(crash.kind in STALLS for crash in self._crashes())
                if stalled:
                    deadline = min(deadline, time.monotonic() + STALLED_S)
            if time.monotonic() > deadline:
                if stalled:
                    raise BootAgainError(
                        "a CPU stalled",
                        "a CPU of the board stalled while it booted; the console's last "
                        f"words: {self.last_words()}",
                    )
                raise BoardError(
                    f"the board did not come up within {timeout_s:.0f} s; the console's last "
                    f"words: {self.last_words()}"
                )
            time.sleep(0.02)

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait until QEMU has ended by itself; False where it has not."""
        deadline = time.monotonic() + timeout_s
        while self.pid is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def stop(self) -> None:
        """End QEMU, as if the supply were cut; raises BoardError where it would not end."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            pid = self.pid
            if pid is None:
                break
            with contextlib.suppress(ProcessLookupError):
                # A stopped process would not handle SIGTERM.
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, number)
            self.wait_for_end(END_S)
        if self.pid is not None:
            raise BoardError(f"QEMU (process {self.pid}) does not end")
        for name in ("console", "port", "control", "pid"):
            (self.directory / name).unlink(missing_ok=True)
        self._process = None

    def last_words(self) -> str:
        """Return the end of what QEMU and the console printed, safe to print."""
        for crash in self._crashes():
            return clean(f"{crash.kind}: {crash.headline}", LAST_WORDS)
        words = []
        for name in ("qemu.log", "console.log"):
            with contextlib.suppress(OSError):
                end = _end(self.directory / name, LAST_WORDS)
                words.append(end.decode(errors="replace").strip())
        text = " | ".join(line for word in words for line in word.splitlines()[-4:] if line)
        return clean(text, LAST_WORDS) or "none"

    def _crashes(self) -> tuple[Crash, ...]:
        with contextlib.suppress(OSError):
            return find_crashes(_end(self.console_log, CRASH_BYTES))
        return ()

    def _aborted(self) -> bool:
        return self._process is not None and self._process.poll() == -signal.SIGABRT

    def _unwritable(self, error: OSError) -> BoardError:
        return BoardError(f"{self.directory} cannot be written: {error.strerror}")


class _Search:
    """Searches a growing log for a text, each part once."""

    def __init__(self, path: Path, text: bytes, begin: int = 0) -> None:
        self._path = path
        self._text = text
        self._at = begin
        #: The end of what was read: the text may begin there.
        self._before = b""

    def matches(self) -> bool:
        """Return whether the log has the text by now."""
        with contextlib.suppress(OSError), self._path.open("rb", buffering=0) as log:
            if os.fstat(log.fileno()).st_size < self._at:
                # The log was replaced.
                self._at, self._before = 0, b""
            log.seek(self._at)
            while data := log.read(_PIECE):
                self._at += len(data)
                seen = self._before + data
                if self._text in seen:
                    return True
                self._before = seen[-len(self._text) :]
        return False


def _end(path: Path, size: int) -> bytes:
    """Return the last bytes of a file, at most `size`; raises OSError."""
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return file.read(size)


#: The beginning is kept, up to the limit of a recording's own copy, and the end.
HEAD_BYTES = 64 << 20
TAIL_BYTES = 4 << 20
#: Less than this is not worth a system call.
STEP_BYTES = 1 << 20
#: A file system frees only whole blocks.
_BLOCK = 1 << 12
#: FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
_PUNCH_HOLE = 0x01 | 0x02


class BoundedLog:
    """Watches a console's log and frees its middle, in a separate thread."""

    def __init__(self, path: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._path = path
        self._head = head
        self._tail = tail
        #: The log's device and inode, and the offset up to which its middle was freed.
        self._file: tuple[int, int] = (0, 0)
        self._done = head
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._watch, name="console-log", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop watching; no error if not started."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def free_middle(self) -> None:
        """Free what is neither beginning nor end; raises OSError."""
        with self._path.open("r+b", buffering=0) as log:
            status = os.fstat(log.fileno())
            if (status.st_dev, status.st_ino) != self._file or status.st_size < self._done:
                self._file, self._done = (status.st_dev, status.st_ino), self._head
            end = (status.st_size - self._tail) // _BLOCK * _BLOCK
            if end - self._done >= STEP_BYTES:
                _punch(log.fileno(), self._done, end - self._done)
                self._done = end

    def _watch(self) -> None:
        while not self._stop.wait(POLL_S):
            # There is no log before QEMU runs, and not every file system can punch holes.
            with contextlib.suppress(OSError):
                self.free_middle()


def _punch(fd: int, offset: int, length: int) -> None:
    # Python's posix_fallocate() can only allocate.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.fallocate64(
        ctypes.c_int(fd), ctypes.c_int(_PUNCH_HOLE), ctypes.c_int64(offset), ctypes.c_int64(length)
    )
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
