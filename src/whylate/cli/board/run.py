"""`whylate board run`: a command on a board."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click

from whylate.boards.errors import BoardError
from whylate.cli.board_options import board_options, wait_option
from whylate.cli.parameter_types import DURATION
from whylate.text import plain_lines

if TYPE_CHECKING:
    from whylate.boards.board import Finished
    from whylate.boards.options import BoardOptions

#: The most that is sent to a command.
MAX_INPUT = 64 << 20


@click.command(name="run", context_settings={"ignore_unknown_options": False})
@click.argument("board")
@click.argument("argv", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@click.option("--stdin", "with_input", is_flag=True,
              help="Send whylate's own input to the command.")  # fmt: skip
@click.option("--timeout", "timeout_ns", type=DURATION, default="60s", show_default=True,
              help="End the command after this.")  # fmt: skip
@wait_option
@board_options
def run(
    board: str, argv: tuple[str, ...], with_input: bool, timeout_ns: int, options: BoardOptions
) -> None:
    """Run COMMAND on BOARD, and print its output at its end.

    The exit status is the command's, or 3 if it could not be run. No shell reads the command: write
    sh -c '...' for one. A board that is off is switched on for it, and off again.
    """
    from whylate.boards.open import open_board
    from whylate.boards.ready import ready
    from whylate.cli.live import LiveView

    data = sys.stdin.buffer.read(MAX_INPUT + 1) if with_input else b""
    if len(data) > MAX_INPUT:
        raise BoardError(f"the input is larger than {MAX_INPUT >> 20} MiB")
    done: Finished | None = None
    try:
        with (
            LiveView() as view,
            ready(open_board(board, options), view.log) as opened,
        ):
            view.log(f"running {argv[0][:80]}")
            done = opened.run(argv, data=data, timeout_s=timeout_ns / 1e9)
    finally:
        # Also if the board could not be restored.
        if done is not None:
            pass_on(done.output, sys.stdout.buffer, terminal=sys.stdout.isatty())
            pass_on(done.error, sys.stderr.buffer, terminal=sys.stderr.isatty())
    sys.exit(done.status)


def pass_on(data: bytes, to: IO[bytes], *, terminal: bool) -> None:
    """Write what a board printed: unchanged to a file, escaped to a terminal."""
    if terminal:
        text = data.decode(errors="backslashreplace")
        data = plain_lines(text, len(text)).encode()
    to.write(data)
    to.flush()
