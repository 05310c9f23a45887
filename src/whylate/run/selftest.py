"""Trying what a board is made of: power, console, network, probe; each timed."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable
from contextlib import closing
from typing import IO, Literal

import msgspec

from whylate.boards.board import Board, BoardBusyError, BoardError, Console, Tell
from whylate.boards.facts.reading import clean
from whylate.probe.client import Client, ProbeError

#: A shell's prompt comes within this on any board.
ANSWER_S = 10.0
_COMMAND_S = 30.0
#: Prints name and state of every network interface but the loopback.
_NETWORK = (
    "for d in /sys/class/net/*; do n=${d##*/}; [ $n = lo ] || [ ! -e $d/operstate ] || "
    'echo "$n $(cat $d/operstate)"; done'
)

State = Literal["ok", "failed", "not there", "not tried"]


class StepResult(msgspec.Struct, frozen=True):
    """One thing that was tried: what came of it in how many seconds, and one line about it."""

    name: str
    state: State
    seconds: float
    why: str


class _NotThereError(Exception):
    """The board has nothing of the kind."""


def selftest(board: Board, tell: Tell) -> list[StepResult]:
    """Try a board that is held, and return what came of it; a board that was off is off again.

    A board that was on is not switched. Where that cannot be told, whatever boot() switched on is
    left to the board's close(). Raises BoardError only for a supply that cannot even be asked
    whether it is on.
    """
    test = _Test(board, tell)
    try:
        return test.carry_out()
    finally:
        test.close()


class _Test:
    def __init__(self, board: Board, tell: Tell) -> None:
        self._board = board
        self._tell = tell
        self._tried: list[StepResult] = []
        began = time.monotonic()
        #: How the board was found; None: that cannot be told.
        self._found_on = board.power.is_on() if board.power is not None else True
        self._asked_s = time.monotonic() - began
        #: Where the console's log ended when we came.
        self._log_end = _LogEnd(board.console)

    def carry_out(self) -> list[StepResult]:
        self._tried.append(self._power())
        if self._found_on:
            # Whatever comes to pass, and though boot() may find no sign of life any more.
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
                self._tried.append(StepResult(name, "not tried", 0.0, "the board is not up"))
        if self._found_on is None:
            why = "whether it was on before cannot be told: it goes off if it had to be switched on"
            self._tried.append(StepResult("power off", "not tried", 0.0, why))
        elif not self._found_on:
            self._try("power off", self._power_off)
        return self._tried

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
        self._tried.append(
            StepResult(name, state, round(time.monotonic() - began, 3), clean(why, 400))
        )
        return state != "failed"

    def _power(self) -> StepResult:
        if self._board.power is None:
            return StepResult("power", "not there", 0.0, "no supply that we can switch")
        said = {
            True: "it is on, and is left on",
            False: "it is off",
            None: "whether it is on cannot be told: neither its supply says so nor the board",
        }
        return StepResult("power", "ok", round(self._asked_s, 3), said[self._found_on])

    # -- the other steps: each returns one line, or raises

    def _boot(self) -> str:
        self._board.boot(self._tell)
        if self._found_on is False:
            return "switched on, and it takes commands"
        return "it takes commands"

    def _console(self) -> str:
        console = self._board.console
        if console is None:
            raise _NotThereError("no serial console that we have")
        printed = 0 if self._found_on else self._log_end.printed()
        said = f"{printed} bytes were printed while it booted; " if printed else ""
        try:
            answered = _answers(console)
        except BoardBusyError:
            return f"{said}the board's shell works over it"
        if answered:
            return f"{said}it answers Enter"
        raise BoardError(f"{said}nothing came back within {ANSWER_S:g} s of Enter")

    def _network(self) -> str:
        done = self._board.run(["sh", "-c", _NETWORK], timeout_s=_COMMAND_S)
        found = [
            (words[0], words[1])
            for line in clean_lines(done.output)
            if len(words := line.split()) == 2
        ]
        up = [name for name, state in found if state in {"up", "unknown"}]
        if up:
            return f"{', '.join(up[:8])}: up"
        if not found:
            raise _NotThereError("no network interface")
        raise _NotThereError(f"no link: {', '.join(f'{n} is {s}' for n, s in found[:8])}")

    def _probe(self) -> str:
        started = self._board.start_probe(self._tell)
        with closing(started.stream) as stream:
            client = Client(stream)
            welcome = client.hello()
            client.keepalive(started.keepalive_s)
            client.finish()
        count = len(welcome.cpus)
        return (
            f"whylate-probe {clean(welcome.version, 40)} for {clean(welcome.arch, 40)} answers, "
            f"{count} CPU{'s' if count != 1 else ''}"
        )

    def _power_off(self) -> str:
        power = self._board.power
        if power is None:
            raise _NotThereError("no supply that we can switch")
        power.off()
        if power.is_on():
            raise BoardError("the supply was switched off and says that it is still on")
        return "it is off"


def clean_lines(output: bytes) -> list[str]:
    """Return the first lines of what a board printed, safe to show."""
    return [clean(line, 200) for line in output[:4096].decode(errors="replace").splitlines()]


def _answers(console: Console) -> bool:
    """Press Enter on a console; whether anything came back."""
    with closing(console.connect()) as stream, contextlib.suppress(OSError):
        stream.write(b"\r")
        return bool(select.select([stream], [], [], ANSWER_S)[0]) and bool(stream.read(4096))
    return False


class _LogEnd:
    """Where a console's log ended, to tell what comes after; also in a log that begins anew."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        #: Kept open: a file that is gone cannot lend its number to the next one then.
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
        """Let go of the old log."""
        if self._old is not None:
            self._old.close()

    def _open(self) -> IO[bytes] | None:
        with contextlib.suppress(OSError):
            if self._console is not None:
                return self._console.log.open("rb")
        return None
