"""`whylate board selftest`: which parts of a board work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whylate.cli.board_options import board_options
from whylate.cli.print_json import json_option, print_json
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.boards.options import BoardOptions
    from whylate.run.selftest import State, StepResult

_STYLES: dict[State, str] = {
    "ok": "green",
    "failed": "red",
    "not there": "dim",
    "not tried": "yellow",
}


@click.command(name="selftest")
@click.argument("board")
@json_option
@board_options
def selftest(board: str, as_json: bool, options: BoardOptions) -> None:
    """Try power, boot, console, network and probe of BOARD, each timed.

    A board that was off is switched on, and off again at the end; one that was on is left on. If
    its state is unknown, it goes off again only if it had to be switched on.

    Exit status: 0 all that was tried works, 1 something failed.
    """
    from whylate.boards.open import open_board
    from whylate.boards.ready import held
    from whylate.cli.live import LiveView
    from whylate.run.selftest import selftest as try_all

    opened = open_board(board, options)
    with LiveView() as view, held(opened, view.log):
        tried = try_all(opened, view.log)
    if as_json:
        print_json({"board": board, "tried": tried})
    else:
        _print_table(tried)
    sys.exit(int(any(part.state == "failed" for part in tried)))


def _print_table(tried: list[StepResult]) -> None:
    from rich.table import Table
    from rich.text import Text

    from whylate.report.plain_console import plain_console

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for part in tried:
        state = Text(part.state, _STYLES[part.state])
        table.add_row(part.name, state, f"{part.seconds:.2f} s", plain(part.why))
    plain_console().print(table)
