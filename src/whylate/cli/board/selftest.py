"""`whylate board selftest`: what works of a board."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whylate.cli.board_options import board_options
from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from whylate.boards.open import BoardOptions
    from whylate.run.selftest import State, StepResult

_STYLES: dict[State, str] = {
    "ok": "green",
    "failed": "red",
    "not there": "dim",
    "not tried": "yellow",
}


@click.command(name="selftest")
@click.argument("board")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
@board_options
def selftest(board: str, as_json: bool, options: BoardOptions) -> None:
    """Try power, boot, console, network and probe of BOARD, each timed.

    A board that was off is switched on, and off again at the end; one that was on is left on.
    Where that cannot be told, it goes off again only if it had to be switched on.
    Exit status 1 when something failed.
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
    sys.exit(int(any(one.state == "failed" for one in tried)))


def _print_table(tried: list[StepResult]) -> None:
    from rich.table import Table
    from rich.text import Text

    from whylate.report.plain_console import plain_console
    from whylate.text import plain

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for one in tried:
        table.add_row(
            one.name, Text(one.state, _STYLES[one.state]), f"{one.seconds:.2f} s", plain(one.why)
        )
    plain_console().print(table)
