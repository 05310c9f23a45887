"""`whylate board status`: all boards in a table."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.board_options import environment_option
from whylate.cli.messages import print_message
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.print_json import json_option, print_json
from whylate.text import plain

if TYPE_CHECKING:
    from rich.table import Table

    from whylate.cli.board.known_boards import Known, KnownBoards
    from whylate.watch.model import BoardView, LastRun, PowerState

REFRESH_S = 1.0
#: The time between two questions to a coordinator.
LIST_S = 10.0
#: Characters of who has a board: its command may be long, and the column is narrow.
OWNER_SHOWN = 70


@click.command(name="status", cls=GroupedCommand)
@click.option("--watch", "follow", is_flag=True, help="Refresh the table until q is typed.")
@environment_option
@json_option
def status(follow: bool, environment: Path | None, as_json: bool) -> None:
    """Show all boards: power, who has them, image, when they were last seen, and the last result.

    Nothing is switched, and no board is asked: the power of a board on a bench is what whylate
    switched it to last, and the image what whylate wrote to its card.
    """
    from whylate.cli.board.known_boards import known_boards
    from whylate.report.plain_console import plain_console
    from whylate.watch.boards import Watch

    known = known_boards(environment)
    seen = Watch(lambda: [board.place for board in known.boards], consoles=False)
    if as_json:
        rows = _with_bench(known.boards, seen.poll())
        print_json({"boards": rows, "left_out": known.left_out})
    elif follow and sys.stdin.isatty() and sys.stdout.isatty():
        known = _follow(environment, known)
    else:
        plain_console().print(_table(_with_bench(known.boards, seen.poll())))
        if known.left_out:
            plain_console().print(_left_out(known))
    for problem in known.problems:
        print_message(problem)
    if known.problems:
        sys.exit(3)


def _follow(environment: Path | None, known: KnownBoards) -> KnownBoards:
    """Show the table until q is typed; return the boards that were known last."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from whylate.cli.board.known_boards import known_boards
    from whylate.cli.board.watch_keys import typed_keys
    from whylate.report.plain_console import plain_console
    from whylate.watch.boards import Watch

    listed_at = time.monotonic()
    seen = Watch(lambda: [board.place for board in known.boards], consoles=False)
    with (
        contextlib.suppress(KeyboardInterrupt),
        typed_keys() as typed,
        Live(console=plain_console(), screen=True, auto_refresh=False) as live,
    ):
        while True:
            if time.monotonic() - listed_at > LIST_S:
                known = known_boards(environment)
                listed_at = time.monotonic()
            table = _table(_with_bench(known.boards, seen.poll()))
            problems = [Text(plain(problem), "red") for problem in known.problems]
            below = f"{_left_out(known)}. q leaves" if known.left_out else "q leaves"
            live.update(Group(table, *problems, Text(below, "dim")), refresh=True)
            if typed(REFRESH_S):
                break
    return known


def _left_out(known: KnownBoards) -> str:
    return f"{known.left_out} more boards that were used here are not shown"


@dataclass(frozen=True)
class Row:
    """A board of the table. owner: who has it; None: nobody, as far as can be seen from here."""

    name: str
    power: PowerState
    power_note: str
    owner: str | None
    image: str
    seen: str
    last: LastRun | None


def _with_bench(known: Sequence[Known], views: Sequence[BoardView]) -> list[Row]:
    """Return the rows of the table: what is seen here, and what the bench says."""
    rows = []
    for board, view in zip(known, views, strict=True):
        holders = [f"{use.holder}{': ' if use.command else ''}{use.command}" for use in view.uses]
        owner = ", ".join(holders) or (plain(board.owner, 120) if board.owner else None)
        image = view.image or plain(board.kernel, 100)
        rows.append(Row(view.name, view.power, view.power_note, owner, image, view.seen, view.last))
    return rows


def _table(rows: Sequence[Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from whylate.watch.card import last_run_text, moment
    from whylate.watch.terminal import POWER_STYLES

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("board", "power", "who has it", "image", "last seen", "last result"):
        table.add_column(title, no_wrap=title in {"board", "power", "last seen"}, overflow="fold")
    for row in rows:
        style = "" if row.last is None or row.last.sound else "red"
        table.add_row(
            Text(row.name, "bold"),
            Text(row.power, POWER_STYLES[row.power]),
            Text(plain(row.owner, OWNER_SHOWN)) if row.owner else Text("nobody", "dim"),
            Text(row.image or "unknown", "" if row.image else "dim"),
            Text(moment(row.seen) if row.seen else "never", "" if row.seen else "dim"),
            Text(last_run_text(row.last), style) if row.last else Text("none", "dim"),
        )
    return table
