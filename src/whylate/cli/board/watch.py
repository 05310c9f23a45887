"""`whylate board watch`: boards seen from the desk, beside whoever uses them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.boards.errors import BoardError
from whylate.cli.board_options import environment_option
from whylate.cli.messages import print_message
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.print_json import json_option, print_json

if TYPE_CHECKING:
    from whylate.watch.boards import Place, Watch

#: The time between two looks.
REFRESH_S = 1.0
#: Lines where the output is no terminal.
_LINES = 60


@click.command(name="watch", cls=GroupedCommand)
@click.argument("boards", nargs=-1, metavar="[BOARD]...")
@click.option("--web", is_flag=True, help="Show them on a page for a browser on this machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=None,
              help="The page's port.  [default: any]")  # fmt: skip
@click.option("--once", is_flag=True, help="Print what is seen now, and leave.")
@environment_option
@json_option
def watch(
    boards: tuple[str, ...],
    web: bool,
    port: int | None,
    once: bool,
    environment: Path | None,
    as_json: bool,
) -> None:
    """Watch BOARDs while others use them; without BOARD, all that are in use.

    Of each: who uses it and how, the last lines of its console with crashes marked, and the run in
    progress beside the previous run of its plan. Only files of this user on this machine are read:
    no board, console or process notices, and q or Ctrl-C ends nothing else.
    """
    from whylate.watch.boards import Watch

    if port is not None and not web:
        raise click.UsageError("--port is of the page: it goes with --web")
    if web and (once or as_json):
        raise click.UsageError("--web shows the boards until Ctrl-C: no --once or --json beside it")
    places = _chosen(boards, environment)
    seen = Watch(places)
    if as_json:
        print_json({"boards": seen.poll(), "left_out": seen.left_out})
    elif web:
        from whylate.watch.web.server import serve

        with contextlib.suppress(KeyboardInterrupt):
            serve(seen, port or 0, lambda url: print_message(f"{url} (Ctrl-C leaves)"))
    elif once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _print(seen)
    else:
        with contextlib.suppress(KeyboardInterrupt):
            _show(seen)


def _chosen(boards: Sequence[str], environment: Path | None) -> Callable[[], Sequence[Place]]:
    """Return what lists the boards to show; raises BoardError for an unknown name."""
    from whylate.watch.boards import places_in_use

    if not boards:
        return places_in_use
    places = [_place(name, environment) for name in dict.fromkeys(boards)]
    return lambda: places


def _place(name: str, environment: Path | None) -> Place:
    """Return a board that was used here, or that can be opened; nothing is opened."""
    from whylate.boards.notes import state_of
    from whylate.boards.open import open_board
    from whylate.boards.options import BoardOptions
    from whylate.watch.boards import Place, used_places

    used = [place for place in used_places() if place.name == name]
    # Two environment files may have targets of one name.
    if len(used) == 1 and environment is None:
        return used[0]
    return Place(name, state_of(open_board(name, BoardOptions(environment=environment))))


def _print(watch: Watch) -> None:
    from whylate.report.plain_console import plain_console
    from whylate.watch.card import board_card
    from whylate.watch.terminal import render_boards

    console = plain_console()
    cards = [board_card(view) for view in watch.poll()]
    if not cards:
        console.print("no board is in use")
        return
    for line in render_boards(cards, 1000, max(_LINES, len(cards) * 20))[:-1]:
        console.print(line, soft_wrap=True)
    if watch.left_out:
        console.print(f"{watch.left_out} more boards in use are not shown: name those to watch")


def _show(watch: Watch) -> None:
    """Show boards on the terminal until q is typed."""
    from rich.console import Group
    from rich.live import Live

    from whylate.cli.board.watch_keys import typed_keys
    from whylate.report.plain_console import plain_console
    from whylate.watch.card import board_card
    from whylate.watch.terminal import render_boards

    console = plain_console()
    with (
        typed_keys() as typed,
        Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live,
    ):
        while True:
            began = time.monotonic()
            try:
                cards = [board_card(view) for view in watch.poll()]
            except BoardError as error:
                live.stop()
                raise error from None
            width, height = console.size
            lines = render_boards(cards, width, height, watch.left_out)
            if not cards:
                lines[0].plain = "no board is in use: waiting. q leaves"
            live.update(Group(*lines), refresh=True)
            # Reading takes long where a journal is large: this process must not take a whole CPU.
            if typed(max(REFRESH_S, time.monotonic() - began)):
                return
