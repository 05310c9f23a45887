"""The interface of a board: power, a console, files, commands and a probe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from whylate.lab.description import VirtualBoard
    from whylate.probe.binaries import ProbeBinary
    from whylate.probe.client import Stream

#: Shows a line of progress to the user ("copying the probe to board7").
Notify = Callable[[str], None]


def notify_nobody(text: str) -> None:
    """Show nothing."""


#: Path on the board, content, mode.
ImageFile = tuple[str, bytes, int]


@dataclass(frozen=True)
class Finished:
    """A command that has ended on a board."""

    #: As a shell reports it: 128 + n for a command that signal n ended.
    status: int
    output: bytes
    #: Empty where the connection has one stream for both.
    error: bytes = b""


#: How a virtual board in virtual time comes up for a run; its own snapshot is made at its boot.
CameUp = Literal["booted", "resumed from a snapshot", "resumed from a snapshot of its own"]


@dataclass(frozen=True)
class StartedProbe:
    """A probe that runs on a board, and the line to it."""

    stream: Stream
    binary: ProbeBinary
    #: The probe ends after this much silence; 0 where it sees the connection end.
    keepalive_s: float = 0.0
    #: A caveat about how it was started, for the reader of the results; empty: none.
    warning: str = ""
    #: How a virtual board in virtual time came up for this run.
    came_up: CameUp | Literal[""] = ""
    #: Of a virtual board in real time: the CPUs of this machine that emulate its own.
    host_cpus: int | None = None


class Power(Protocol):
    """A board's supply."""

    def on(self) -> None:
        """Switch it on; no error if it is on already. Raises BoardError."""

    def off(self) -> None:
        """Cut it, whatever the board does; no error if it is off already. Raises BoardError."""

    def is_on(self) -> bool | None:
        """Return whether it is on; None where the supply does not report it. Raises BoardError."""


class Console(Protocol):
    """A board's serial console. It is always drained, so that the board never waits."""

    @property
    def log(self) -> Path:
        """The file to which everything that the console prints is appended as it comes."""

    def connect(self) -> Stream:
        """Return the bytes of both directions from now on; one user at a time.

        Closing the stream leaves the console drained. Raises BoardBusyError and BoardError.
        """


class Board(Protocol):
    """A machine under test. Opening one touches nothing; hold() does."""

    @property
    def name(self) -> str:
        """The name by which the user calls it."""

    @property
    def power(self) -> Power | None:
        """Its supply, where we can switch it."""

    @property
    def console(self) -> Console | None:
        """Its serial console, where we have it. Only while it is held."""

    def hold(self, notify: Notify) -> None:
        """Take exclusive hold of the board; nothing is switched on yet.

        Raises BoardBusyError with the holder's name, and BoardError.
        """

    def boot(self, notify: Notify) -> None:
        """Switch it on where it is off and has a supply, and wait until it takes commands.

        Raises BoardError, also after a timeout.
        """

    def stay_on(self) -> None:
        """Leave it switched on when it is closed, and when this process ends; before boot()."""

    def close(self) -> None:
        """Restore its state, switched off if it was off, and release it."""

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Start the probe for its architecture, uploading it if needed; raises BoardError."""

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file on the board whole or not at all; raises BoardError."""

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command to its end with `data` as its input; raises BoardError.

        Also where it takes longer than `timeout_s`: it is then ended, as far as possible.
        """

    def stream(self, argv: Sequence[str]) -> Stream:
        """Start a command and return the stream of its input and output; raises BoardError.

        Closing the stream hangs up on the command.
        """


@runtime_checkable
class Networked(Protocol):
    """A board that has a network only where that is asked for before it boots."""

    def use_network(self) -> None:
        """Have a network interface that reaches this machine, from the next boot on."""


class PlannedBoard(Board, Protocol):
    """A virtual board, which can carry out a plan in virtual time without a host."""

    @property
    def cpus(self) -> int:
        """How many CPUs it has."""

    @property
    def release(self) -> str:
        """The release of its kernel; raises BoardError where there is no image."""

    @property
    def virtual(self) -> VirtualBoard:
        """Its description."""

    def need_cpus(self, count: int) -> None:
        """Have so many CPUs at the next boot, unless a number was asked for."""

    def carry_out(
        self, plan: bytes, seed: int, notify: Notify, files: Sequence[ImageFile] = ()
    ) -> StartedProbe:
        """Boot with a plan for the probe; the stream is its output. Raises BoardError.

        files: added to the image for this boot.

        The board must be held and off, and is off again when the stream is closed.
        """
