"""`whylate facts`: what was read of a board."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from whylate.cli.print_json import json_option, print_json
from whylate.text import plain, plain_lines, shown

#: A boot log is some 100 KiB; what is longer is cut.
MOST_CHARACTERS = 8 * 1024 * 1024
_QUOTE = re.compile(r"^[> ]*>[ ]?")

if TYPE_CHECKING:
    from whylate.recording.manifest import Fact, FactValue


@click.command(name="facts")
@click.argument("board", required=False)
@click.option("--log", type=click.File(errors="replace"), metavar="FILE",
              help="Decode this boot log instead, without a board; - reads it from the standard "
              "input.")  # fmt: skip
@json_option
def command(board: str | None, log: TextIO | None, as_json: bool) -> None:
    """Show what can be read of BOARD: kernel, CPUs, clocks, settings, threads.

    Secrets on the kernel's command line are replaced by <redacted>; serial numbers are not read.
    """
    from whylate.boards.facts import WANTED, facts
    from whylate.boards.open import open_board
    from whylate.boards.ready import ready
    from whylate.cli.live import LiveView
    from whylate.run.read import read_board

    if log is not None:
        if board is not None:
            raise click.UsageError("--log reads a file, and no board: name one of them")
        _show_log(log, as_json=as_json)
        return
    board = board or "local"
    known: list[Fact] | None = None
    try:
        with LiveView() as view, ready(open_board(board), view.log) as opened:
            known = facts(*read_board(opened, WANTED, view.log))
    finally:
        # Also if the board could not be restored.
        if known is not None and as_json:
            print_json({"board": board, "facts": known})
        elif known is not None:
            _print_table(known)


def _show_log(log: TextIO, *, as_json: bool) -> None:
    """Show the facts of a boot log; of quoted mail, without its quoting marks."""
    from whylate.boards.facts.bootlog import bootlog_facts

    name = getattr(log, "name", "-")
    name = "standard input" if name in ("-", "<stdin>") else shown(Path(name).name, 60)
    lines = log.read(MOST_CHARACTERS).split("\n")
    known = bootlog_facts((_QUOTE.sub("", line) for line in lines), name)
    if as_json:
        print_json({"log": name, "facts": known})
    else:
        _print_table(known)


def _print_table(known: list[Fact]) -> None:
    from rich.table import Table
    from rich.text import Text

    from whylate.report.plain_console import plain_console

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for fact in known:
        if fact.value is None:
            value = Text(plain(fact.source), style="dim")
        else:
            value = Text(plain_lines(format_value(fact.value), 20_000))
        table.add_row(fact.name, value)
    plain_console().print(table)


def format_value(value: FactValue) -> str:
    """Return a fact's value as text: lists of short words on one line, of phrases one a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        separator = "\n" if any(" " in item for item in value) else " "
        return separator.join(value) or "none"
    return str(value) if value != "" else "none"
