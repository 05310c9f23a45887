"""A board as one cycle of a soak sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.boards.board import Board, Finished, Power, StartedProbe, Tell
from whylate.probe.client import Stream
from whylate.soak.console import TailedConsole


@dataclass(frozen=True)
class CycleBoard:
    """A board whose console's log is that of one cycle. Implements what a run needs of Board."""

    board: Board
    console: TailedConsole | None

    @property
    def name(self) -> str:
        """The name by which the user calls it."""
        return self.board.name

    @property
    def power(self) -> Power | None:
        """Its supply."""
        return self.board.power

    def hold(self, tell: Tell) -> None:
        """Take the board."""
        self.board.hold(tell)

    def boot(self, tell: Tell) -> None:
        """Boot it."""
        self.board.boot(tell)

    def stay_on(self) -> None:
        """Leave it switched on at the end of the cycle."""
        self.board.stay_on()

    def close(self) -> None:
        """Leave it."""
        self.board.close()

    def start_probe(self, tell: Tell) -> StartedProbe:
        """Start the probe."""
        return self.board.start_probe(tell)

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file."""
        self.board.put(data, path, mode)

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command."""
        return self.board.run(argv, data=data, timeout_s=timeout_s)

    def stream(self, argv: Sequence[str]) -> Stream:
        """Start a command."""
        return self.board.stream(argv)
