"""Test what a board is made of: power, console, network, probe; each step timed."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable
from contextlib import closing
from typing import IO, Literal

import msgspec

from whylate.boards.board import Board, Console, Notify
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.probe.errors import ProbeError
from whylate.run.read import connected
from whylate.text import clean

#: The prompt of a shell comes within this on any board.
ANSWER_S = 10.0
_COMMAND_S = 30.0
#: Prints name and state of each network interface except the loopback.
_NETWORK = (
    "for d in /sys/class/net/*; do n=${d##*/}; [ $n = lo ] || [ ! -e $d/operstate ] || "
    'echo "$n $(cat $d/operstate)"; done'
)

State = Literal["ok", "failed", "not there", "not tried"]


class StepResult(msgspec.Struct, frozen=True):
    """One step of the test: its state, how long it took, and one line on it."""

    name: str
    state: State
    seconds: float
    why: str


class _NotThereError(Exception):
    """The board has no such part."""


def selftest(board: Board, notify: Notify) -> list[StepResult]:
    """Test a board that is held, and return its steps; a board that was off is off again.

    A board that was on is not switched. If that is unknown, close() of the board switches off what
    boot() switched on. Raises BoardError only for a supply that cannot report its state.
    """
    test = _Test(board, notify)
    try:
        return test.carry_out()
    finally:
        test.close()


class _Test:
    def __init__(self, board: Board, notify: Notify) -> None:
        self._board = board
        self._tell = notify
        self._results: list[StepResult] = []
        began = time.monotonic()
        #: Whether the board was on before the test; None: unknown.
        self._was_on = board.power.is_on() if board.power is not None else True
        self._asked_s = time.monotonic() - began
        #: The end of the console's log before the test.
        self._log_end = _LogEnd(board.console)

    def carry_out(self) -> list[StepResult]:
        self._results.append(self._power())
        if self._was_on:
            # Also if boot() finds no sign of life.
            self._board.stay_on()
        up = self._try("boot", self._boot)
        for name, step in (
            ("console", self._console),
            ("network", self._network),
            ("probe", self._probe),
        ):
            if up:
                self._try(name, step)
            else:
                self._results.append(StepResult(name, "not tried", 0.0, "the board is not up"))
        if self._was_on is None:
            why = "it is unknown whether it was on: it goes off if it had to be switched on"
            self._results.append(StepResult("power off", "not tried", 0.0, why))
        elif not self._was_on:
            self._try("power off", self._power_off)
        return self._results

    def close(self) -> None:
        self._log_end.close()

    def _try(self, name: str, step: Callable[[], str]) -> bool:
        self._tell(f"trying {name}")
        began = time.monotonic()
        state: State = "ok"
        try:
            why = step()
        except _NotThereError as error:
            state, why = "not there", str(error)
        except (BoardError, ProbeError) as error:
            state, why = "failed", str(error)
        self._results.append(
            StepResult(name, state, round(time.monotonic() - began, 3), clean(why, 400))
        )
        return state != "failed"

    def _power(self) -> StepResult:
        if self._board.power is None:
            return StepResult("power", "not there", 0.0, "no supply that can be switched")
        text = {
            True: "it is on, and is left on",
            False: "it is off",
            None: "it is unknown whether it is on: neither its supply nor the board reports it",
        }
        return StepResult("power", "ok", round(self._asked_s, 3), text[self._was_on])

    # The other steps: each returns one line, or raises.

    def _boot(self) -> str:
        self._board.boot(self._tell)
        if self._was_on is False:
            return "switched on, and it takes commands"
        return "it takes commands"

    def _console(self) -> str:
        console = self._board.console
        if console is None:
            raise _NotThereError("no serial console")
        printed = 0 if self._was_on else self._log_end.printed()
        boot_log = f"{printed} bytes were printed while it booted; " if printed else ""
        try:
            answered = _answers(console)
        except BoardBusyError:
            return f"{boot_log}the board's shell works over it"
        if answered:
            return f"{boot_log}it answers Enter"
        raise BoardError(f"{boot_log}nothing came back within {ANSWER_S:g} s of Enter")

    def _network(self) -> str:
        done = self._board.run(["sh", "-c", _NETWORK], timeout_s=_COMMAND_S)
        interfaces = [
            (words[0], words[1])
            for line in clean_lines(done.output)
            if len(words := line.split()) == 2
        ]
        up = [name for name, state in interfaces if state in {"up", "unknown"}]
        if up:
            return f"{', '.join(up[:8])}: up"
        if not interfaces:
            raise _NotThereError("no network interface")
        raise _NotThereError(
            f"no link: {', '.join(f'{name} is {state}' for name, state in interfaces[:8])}"
        )

    def _probe(self) -> str:
        with connected(self._board, self._tell) as (client, welcome):
            client.finish()
        count = len(welcome.cpus)
        return (
            f"whylate-probe {clean(welcome.version, 40)} for {clean(welcome.arch, 40)} answers, "
            f"{count} CPU{'s' if count != 1 else ''}"
        )

    def _power_off(self) -> str:
        power = self._board.power
        if power is None:
            raise _NotThereError("no supply that can be switched")
        power.off()
        if power.is_on():
            raise BoardError("the supply was switched off and reports that it is still on")
        return "it is off"


def clean_lines(output: bytes) -> list[str]:
    """Return the first lines of what a board printed, safe to show."""
    return [clean(line, 200) for line in output[:4096].decode(errors="replace").splitlines()]


def _answers(console: Console) -> bool:
    """Press Enter on a console; return whether anything came back."""
    with closing(console.connect()) as stream, contextlib.suppress(OSError):
        stream.write(b"\r")
        return bool(select.select([stream], [], [], ANSWER_S)[0]) and bool(stream.read(4096))
    return False


class _LogEnd:
    """The end of a console's log, to count what is printed later, also into a new log file."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        #: Kept open, so that a new file cannot get the inode number of a deleted one.
        self._old = self._open()
        self._size = os.fstat(self._old.fileno()).st_size if self._old is not None else 0

    def printed(self) -> int:
        """Return how many bytes were printed since."""
        new = self._open()
        if new is None:
            return 0
        with new:
            now = os.fstat(new.fileno())
            if self._old is not None and os.path.samestat(os.fstat(self._old.fileno()), now):
                return max(0, now.st_size - self._size)
            return now.st_size

    def close(self) -> None:
        """Close the old log."""
        if self._old is not None:
            self._old.close()

    def _open(self) -> IO[bytes] | None:
        with contextlib.suppress(OSError):
            if self._console is not None:
                return self._console.log.open("rb")
        return None
