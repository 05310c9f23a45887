"""Stop a whole virtual machine from outside: its emulator gets SIGSTOP and SIGCONT.

The board's clock keeps running (QEMU's own `stop` would stop it), as when a hypervisor takes the
CPU away or firmware runs in system management mode.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import signal
import subprocess
import threading
import time

from whylate.boards.board import Board, Notify
from whylate.boards.errors import BoardError
from whylate.lab.faults.catalogue import FaultUse
from whylate.lab.faults.log import Event, FaultLog
from whylate.probe.client import Stream

#: "now at 12345 nsecs": the kernel's CLOCK_MONOTONIC, for root.
CLOCK_FILE = "/proc/timer_list"
_NOW = re.compile(rb"now at (\d{1,19}) nsecs")
#: The fastest answer bounds the difference of the two clocks best.
CLOCK_TRIES = 30
ANSWER_S = 20.0
LONGEST_ANSWER = 400


class MachineStops:
    """Stops a process periodically, in a thread, between start() and end()."""

    def __init__(self, use: FaultUse, pid: int, board: Board, notify: Notify) -> None:
        self._use = use
        self._pid = pid
        self._offset_ns, self.uncertain_ns = _clock_offset(board)
        notify(
            f"{use.name}: the board's clock is known to ±{self.uncertain_ns / 1e6:.1f} ms, "
            "and so are the starts in the log"
        )
        self._events: list[Event] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine-stops", daemon=True)
        self._rescue: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin."""
        # If whylate is killed while the machine is stopped, this shell continues it.
        script = 'cat >/dev/null; kill -CONT "$1" 2>/dev/null'
        self._rescue = subprocess.Popen(
            ["sh", "-c", script, "sh", str(self._pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._thread.start()

    def end(self) -> FaultLog:
        """End with the machine running, and return the log."""
        self._over.set()
        self._thread.join()
        if self._rescue is not None:
            assert self._rescue.stdin is not None  # noqa: S101 - a pipe was asked for
            self._rescue.stdin.close()
            self._rescue.wait()
        return FaultLog(self._use, self._events)

    def _run(self) -> None:
        number = self._use.number
        period_s, jitter_s = number("period_us") / 1e6, number("jitter_us") / 1e6
        rng = random.Random(number("seed"))  # noqa: S311 - no secret
        grid = begin = time.monotonic()
        while not number("seconds") or grid - begin < number("seconds"):
            grid += period_s
            if self._over.wait(max(0.0, grid + rng.uniform(0, jitter_s) - time.monotonic())):
                return
            if not self._stop_once(number("size_us") / 1e6):
                return
            # Skip the periods that elapsed meanwhile.
            while grid + period_s <= time.monotonic():
                grid += period_s

    def _stop_once(self, size_s: float) -> bool:
        try:
            os.kill(self._pid, signal.SIGSTOP)
            start_ns = time.monotonic_ns()
            time.sleep(size_s)
        except ProcessLookupError:
            return False
        finally:
            end_ns = time.monotonic_ns()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)
        # All CPUs are stopped; the log names the first.
        self._events.append(Event(start_ns + self._offset_ns, end_ns - start_ns, 0))
        return True


def _clock_offset(board: Board) -> tuple[int, int]:
    """Return the board's CLOCK_MONOTONIC minus the host's, and its error bound, in ns."""
    # The shell answers each line itself, which is faster than a new process.
    script = f"while read x; do {{ read x; read x; read x; }} <{CLOCK_FILE}; echo $x; done"
    best: tuple[int, int] | None = None
    with contextlib.closing(board.stream(["sh", "-c", script])) as stream:
        for _ in range(CLOCK_TRIES):
            before = time.monotonic_ns()
            try:
                stream.write(b"\n")
                answer = _line(stream)
            except OSError as error:
                raise BoardError(f"the board does not answer: {error.strerror}") from None
            after = time.monotonic_ns()
            match = _NOW.search(answer)
            if match is None:
                raise BoardError(f"the board's clock is unknown: {CLOCK_FILE} has no time")
            half = (after - before) // 2
            if best is None or half < best[1]:
                best = int(match[1]) - (before + half), half
    assert best is not None  # noqa: S101 - the loop runs
    return best


def _line(stream: Stream) -> bytes:
    """Return the next line; raises BoardError."""
    line = b""
    deadline = time.monotonic() + ANSWER_S
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or len(line) > LONGEST_ANSWER:
            raise BoardError(f"the board did not answer with its clock within {ANSWER_S:.0f} s")
        if select.select([stream.fileno()], [], [], left)[0]:
            piece = stream.read(LONGEST_ANSWER)
            if not piece:
                raise BoardError("the board closed the connection when asked for its clock")
            line += piece
    return line
