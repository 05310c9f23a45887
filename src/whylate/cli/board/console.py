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

from whylate.boards.errors import BoardError
from whylate.cli.board_options import board_options
from whylate.cli.messages import print_message
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.parameter_types import DURATION
from whylate.recording.errors import DiskError

if TYPE_CHECKING:
    from whylate.boards.board import Board, Console
    from whylate.boards.options import BoardOptions
    from whylate.probe.client import Stream

#: Ctrl-], as in telnet.
LEAVE = b"\x1d"
#: Bytes of output that are searched for --until.
_WINDOW = 1 << 16
_PIECE = 1 << 16
_TURN_S = 0.2


@click.command(name="console", cls=GroupedCommand)
@click.argument("board")
@click.option("--cycle", is_flag=True,
              help="Switch the board off and on first. It stays on.")  # fmt: skip
@click.option("--for", "for_ns", type=DURATION,
              help="Leave after this.  [default with --until: 5min]")  # fmt: skip
@click.option("--until", metavar="TEXT",
              help="Leave when this is printed; exit status 1 if it is not.")  # fmt: skip
@click.option("--log", type=click.Path(path_type=Path, dir_okay=False),
              help="Append the output to this file too.")  # fmt: skip
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

    On a terminal every key goes to the board, Ctrl-C too. Other input is sent to the board, and
    --for or --until must end the session. The console's own log keeps all output in any case.
    """
    from whylate.boards.open import open_board
    from whylate.boards.ready import held

    terminal = sys.stdin.isatty()
    if not terminal and for_ns is None and until is None:
        raise click.UsageError("the input is no terminal: use --for TIME or --until TEXT")
    if until is not None and for_ns is None:
        for_ns = 300 * 10**9
    opened = open_board(board, options)
    with contextlib.ExitStack() as stack:
        copy = stack.enter_context(_open_log(log)) if log is not None else None
        stack.enter_context(held(opened, print_message))
        line = opened.console
        if line is None:
            raise BoardError(f"{board} has no serial console here")
        stream = _power_cycle(opened, line) if cycle else line.connect()
        stack.enter_context(closing(stream))
        session = _Session(stream, copy, for_ns, until)
        if terminal:
            print_message(f"connected to {board}: Ctrl-] leaves")
            with _raw(sys.stdin.fileno()):
                complete = session.run()
            click.echo(err=True)
        else:
            complete = session.run()
        print_message(session.end_reason)
    if not complete:
        sys.exit(1)


def _power_cycle(board: Board, line: Console) -> Stream:
    """Switch a board off and on; return the console, connected as early as possible."""
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
        from whylate.cli.board.terminal_filter import TerminalFilter

        self._stream = stream
        self._copy = copy
        self._deadline = None if for_ns is None else time.monotonic() + for_ns / 1e9
        self._until = until.encode() if until is not None else None
        self._filter = TerminalFilter() if sys.stdout.isatty() else None
        self._window = b""
        self._input: int | None = sys.stdin.fileno()
        self._keys = os.isatty(self._input)
        #: For the user.
        self.end_reason = "left the console"

    def run(self) -> bool:
        """Pass bytes on until the end; return False if the awaited text did not come."""
        while (wait_s := self._wait_s()) > 0:
            sources = [self._stream.fileno(), *([] if self._input is None else [self._input])]
            ready = select.select(sources, [], [], wait_s)[0]
            if self._input in ready and not self._send():
                return self._until is None
            if self._stream.fileno() in ready:
                data = self._stream.read(_PIECE)
                if not data:
                    self.end_reason = "the console's line has ended: the board was switched off"
                    return self._until is None
                if self._show(data):
                    self.end_reason = "the text was printed"
                    return True
        if self._until is not None:
            self.end_reason = "the text was not printed in time"
        return self._until is None

    def _wait_s(self) -> float:
        return _TURN_S if self._deadline is None else self._deadline - time.monotonic()

    def _send(self) -> bool:
        """Send what was typed; return False if the user leaves."""
        assert self._input is not None  # noqa: S101 - it was ready
        data = os.read(self._input, 4096)
        typed, leave, _ = data.partition(LEAVE) if self._keys else (data, b"", b"")
        if not data:
            self._input = None
        if typed:
            try:
                self._stream.write(typed)
            except OSError:
                self.end_reason = "the console no longer accepts input"
                return False
        return not leave

    def _show(self, data: bytes) -> bool:
        """Print output; return whether the awaited text is in it."""
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
    """Pass every key on within the context; then restore the terminal."""
    saved = termios.tcgetattr(fd)

    def leave(number: int, frame: object) -> None:
        del frame
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setraw(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, saved)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _open_log(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("ab", buffering=0) as file:
            yield file
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
