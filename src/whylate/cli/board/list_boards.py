"""`whylate board list`: all known boards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from whylate.boards.errors import BoardError
from whylate.cli.board_options import board_options
from whylate.cli.messages import print_message
from whylate.cli.print_json import json_option, print_json
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.boards.labgrid.environment import Listed
    from whylate.boards.options import BoardOptions

PowerState = Literal["on", "off", "unknown"]
_STYLES: dict[PowerState, str] = {"on": "green", "off": "dim", "unknown": "dim"}


@dataclass(frozen=True)
class Row:
    """A board of the list. kernel: its release, or why there is none; None where unknown."""

    name: str
    kind: str
    state: PowerState
    kernel: str | None
    #: Who has it; None: nobody, as far as can be seen from here.
    owner: str | None
    note: str = ""


@click.command(name="list")
@json_option
@board_options
def command(as_json: bool, options: BoardOptions) -> None:
    """Show all boards: this machine, the virtual boards, and those of a labgrid bench.

    A bench has the targets of --env or LG_ENV and the places of LG_COORDINATOR. Nothing is
    switched, so whether a board of a bench is on is unknown. Boards over SSH need no list: any
    ssh://[user@]host is a board.
    """
    rows = [_local(), *_virtual()]
    failed = False
    for bench in _benches(options):
        try:
            rows += bench()
        except BoardError as error:
            failed = True
            print_message(str(error))
    if as_json:
        print_json({"boards": rows})
    else:
        _print_table(rows)
    if failed:
        sys.exit(3)


def _local() -> Row:
    return Row("local", "this machine", "on", os.uname().release, None)


def _virtual() -> list[Row]:
    from whylate.boards.qemu.board import QemuBoard
    from whylate.lab.description import names, virtual_board
    from whylate.lab.image import is_fetched

    rows = []
    for name in names():
        described = virtual_board(name)
        board = QemuBoard(described)
        kernel, note = "no image", f"whylate lab build {name}"
        if is_fetched(described):
            note = ""
            try:
                kernel = board.release
            except BoardError as error:
                kernel, note = "no image", str(error)
        rows.append(
            Row(name, "virtual", "on" if board.power.is_on() else "off", kernel, board.owner, note)
        )
    return rows


def _benches(options: BoardOptions) -> list[Callable[[], list[Row]]]:
    """Return a function for each named bench that lists its boards; imports nothing of labgrid."""
    benches: list[Callable[[], list[Row]]] = []
    if options.environment is not None or os.environ.get("LG_ENV"):

        def target_rows() -> list[Row]:
            from whylate.boards.labgrid.environment import list_targets

            return [
                _bench_row(target, "labgrid target") for target in list_targets(options.environment)
            ]

        benches.append(target_rows)
    if os.environ.get("LG_COORDINATOR"):

        def place_rows() -> list[Row]:
            from whylate.boards.labgrid.places import list_places

            return [_bench_row(place, "labgrid place") for place in list_places()]

        benches.append(place_rows)
    return benches


def _bench_row(listed: Listed, kind: str) -> Row:
    note = ", ".join(listed.parts)
    if listed.state not in {"free", "taken"}:
        note = f"{listed.state}; {note}"
    return Row(listed.name, kind, "unknown", None, listed.owner, note)


def _print_table(rows: list[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    from whylate.report.plain_console import plain_console

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("board", "kind", "state", "kernel", "who has it"):
        table.add_column(title, no_wrap=title in {"board", "state"}, overflow="fold")
    for row in rows:
        kernel = row.kernel or "unknown"
        table.add_row(
            Text(plain(row.name, 80), "bold"),
            Text(row.kind),
            Text(row.state, _STYLES[row.state]),
            Text(plain(f"{kernel} ({row.note})" if row.note else kernel, 200)),
            Text(plain(row.owner, 120)) if row.owner else Text("nobody", "dim"),
        )
    plain_console().print(table)
