"""`whylate board console`: a board's serial console, by hand or in a script."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from whylate.cli.board.terminal_filter import TerminalFilter
from whylate.cli.board_options import board_options
from whylate.cli.parameter_types import DURATION

if TYPE_CHECKING:
    from whylate.boards.board import Board, Console
    from whylate.boards.open import BoardOptions
    from whylate.probe.client import Stream

#: Ctrl-], as in telnet.
LEAVE = b"\x1d"
#: How much of what was printed is searched for --until.
_WINDOW = 1 << 16
_PIECE = 1 << 16
_TURN_S = 0.2


@click.command(name="console")
@click.argument("board")
@click.option("--cycle", is_flag=True,
              help="Switch it off and on first, and see it boot. It stays on.")  # fmt: skip
@click.option("--for", "for_ns", type=DURATION,
              help="Leave after this.  [default with --until: 5min]")  # fmt: skip
@click.option("--until", metavar="TEXT",
              help="Leave when this was printed; exit status 1 where it was not.")  # fmt: skip
@click.option("--log", type=click.Path(path_type=Path, dir_okay=False),
              help="Append what is printed to this file too.")  # fmt: skip
@board_options
def console(
    board: str,
    cycle: bool,
    for_ns: int | None,
    until: str | None,
    log: Path | None,
    options: BoardOptions,
) -> None:
    """Use the serial console of BOARD. Ctrl-] leaves.

    On a terminal every key goes to the board, Ctrl-C too. Where the input is no terminal, it is
    sent to the board and --for or --until says when to leave. All that the board prints goes to
    the console's own log in any case.
    """
    from whylate.boards.board import BoardError
    from whylate.boards.open import open_board
    from whylate.boards.ready import held

    terminal = sys.stdin.isatty()
    if not terminal and for_ns is None and until is None:
        raise click.UsageError("the input is no terminal: say --for TIME or --until TEXT")
    if until is not None and for_ns is None:
        for_ns = 300 * 10**9
    opened = open_board(board, options)
    with contextlib.ExitStack() as stack:
        copy = stack.enter_context(_appended(log)) if log is not None else None
        stack.enter_context(held(opened, _tell))
        line = opened.console
        if line is None:
            raise BoardError(f"{board} has no serial console that we have")
        stream = _cycled(opened, line) if cycle else line.connect()
        stack.enter_context(closing(stream))
        session = _Session(stream, copy, for_ns, until)
        if terminal:
            _tell(f"connected to {board}: Ctrl-] leaves")
            with _raw(sys.stdin.fileno()):
                found = session.carry_out()
            click.echo(err=True)
        else:
            found = session.carry_out()
        _tell(session.ended)
    if not found:
        sys.exit(1)


def _cycled(board: Board, line: Console) -> Stream:
    """Switch a board off and on, and connect to it as early as that goes."""
    from whylate.boards.board import BoardError

    power = board.power
    if power is None:
        raise BoardError(f"{board.name} has no supply that can be switched")
    power.off()
    board.stay_on()
    try:
        stream = line.connect()
    except BoardError:
        # A virtual board's line is only there while it is on.
        power.on()
        return line.connect()
    power.on()
    return stream


class _Session:
    """Bytes to and from a console, until something ends it."""

    def __init__(
        self, stream: Stream, copy: IO[bytes] | None, for_ns: int | None, until: str | None
    ) -> None:
        self._stream = stream
        self._copy = copy
        self._deadline = None if for_ns is None else time.monotonic() + for_ns / 1e9
        self._until = until.encode() if until is not None else None
        self._filter = TerminalFilter() if sys.stdout.isatty() else None
        self._window = b""
        self._input: int | None = sys.stdin.fileno()
        self._keys = os.isatty(self._input)
        #: Why it ended, for the user.
        self.ended = "left the console"

    def carry_out(self) -> bool:
        """Pass bytes on; whether the text that was waited for came, if one was."""
        while (wait_s := self._left()) > 0:
            sources = [self._stream.fileno(), *([] if self._input is None else [self._input])]
            ready = select.select(sources, [], [], wait_s)[0]
            if self._input in ready and not self._send():
                return self._until is None
            if self._stream.fileno() in ready:
                data = self._stream.read(_PIECE)
                if not data:
                    self.ended = "the console's line has ended: the board was switched off"
                    return self._until is None
                if self._show(data):
                    self.ended = "the text was printed"
                    return True
        if self._until is not None:
            self.ended = "the text was not printed in its time"
        return self._until is None

    def _left(self) -> float:
        return _TURN_S if self._deadline is None else self._deadline - time.monotonic()

    def _send(self) -> bool:
        """Send what was typed; whether the user stays."""
        assert self._input is not None  # noqa: S101 - it was ready
        data = os.read(self._input, 4096)
        typed, leave, _ = data.partition(LEAVE) if self._keys else (data, b"", b"")
        if not data:
            self._input = None
        if typed:
            try:
                self._stream.write(typed)
            except OSError:
                self.ended = "the console takes nothing any more"
                return False
        return not leave

    def _show(self, data: bytes) -> bool:
        """Print what came; whether the text was in it."""
        if self._copy is not None:
            self._copy.write(data)
        shown = self._filter.feed(data) if self._filter is not None else data
        sys.stdout.buffer.write(shown)
        sys.stdout.buffer.flush()
        if self._until is None:
            return False
        self._window = (self._window + data)[-_WINDOW:]
        return self._until in self._window


@contextmanager
def _raw(fd: int) -> Iterator[None]:
    """Pass every key on for as long as the context lasts; the terminal is put back."""
    saved = termios.tcgetattr(fd)

    def leave(number: int, frame: object) -> None:
        del frame
        sys.exit(128 + number)

    before = {one: signal.signal(one, leave) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setraw(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, saved)
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def _appended(path: Path) -> Iterator[IO[bytes]]:
    from whylate.recording.errors import DiskError

    try:
        with path.open("ab", buffering=0) as file:
            yield file
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None


def _tell(text: str) -> None:
    from whylate.text import plain

    click.echo(f"whylate: {plain(text, 300)}", err=True)
