"""`whylate board on`, `off` and `cycle`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from whylate.boards.errors import BoardError
from whylate.cli.board_options import board_options, wait_option
from whylate.cli.messages import print_message
from whylate.cli.parameter_types import DURATION
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.boards.board import Board, Notify, Power
    from whylate.boards.options import BoardOptions

#: A supply must not lose the load of a whole bench at once.
OFF_REST_S = 1.0
_BOARDS = click.argument("boards", nargs=-1, required=True, metavar="BOARD...")
_NO_WAIT = click.option("--no-wait", is_flag=True, help="Do not wait until they take commands.")


@click.command(name="on")
@_BOARDS
@_NO_WAIT
@wait_option
@board_options
def on(boards: tuple[str, ...], no_wait: bool, options: BoardOptions) -> None:
    """Switch BOARDs on, one after the other, and wait until they take commands.

    They stay on until `whylate board off`.
    """

    def switch(board: Board, power: Power, notify: Notify) -> str:
        was_on = power.is_on()
        _switch_on(board, power, notify, no_wait=no_wait)
        return "was on" if was_on else "on"

    _switch_each(boards, options, switch)


@click.command(name="off")
@click.argument("boards", nargs=-1, metavar="[BOARD]...")
@click.option("--all", "every", is_flag=True,
              help="All virtual boards, and all of the bench, one after the other.")  # fmt: skip
@board_options
def off(boards: tuple[str, ...], every: bool, options: BoardOptions) -> None:
    """Switch BOARDs off: the supply is cut at once.

    A board that somebody has is refused. With several there is a line for each, and a second
    between two that were on.
    """
    from whylate.boards.open import all_boards, hidden_boards
    from whylate.boards.ssh_uses import refuse_used

    if bool(boards) == every:
        raise click.UsageError("name the boards, or use --all")
    hidden = hidden_boards(options) if every else []
    if every:
        boards = tuple(all_boards(options))

    def switch(board: Board, power: Power, notify: Notify) -> str:
        refuse_used(board)
        was_off = power.is_on() is False
        notify(f"switching {board.name} off")
        power.off()
        return "was off" if was_off else "off"

    for name in hidden:
        print_message(
            f"{plain(name, 80)}: the one of the bench is not switched, since this is the name of a "
            "virtual board: give it another name"
        )
    _switch_each(boards, options, switch, rest_s=OFF_REST_S)
    if hidden:
        sys.exit(3)


@click.command(name="cycle")
@_BOARDS
@click.option("--off-for", "off_ns", type=DURATION, default="1s", show_default=True,
              help="Time between off and on.")  # fmt: skip
@_NO_WAIT
@wait_option
@board_options
def cycle(boards: tuple[str, ...], off_ns: int, no_wait: bool, options: BoardOptions) -> None:
    """Switch BOARDs off and on again, and wait until they take commands. They stay on."""
    from whylate.boards.ssh_uses import refuse_used

    def switch(board: Board, power: Power, notify: Notify) -> str:
        refuse_used(board)
        notify(f"switching {board.name} off")
        power.off()
        time.sleep(off_ns / 1e9)
        _switch_on(board, power, notify, no_wait=no_wait)
        return "on"

    _switch_each(boards, options, switch)


@contextmanager
def with_supply(board: Board, notify: Notify) -> Iterator[Power]:
    """Hold a board and yield its power supply; raises BoardError if it has none."""
    from whylate.boards.ready import held

    with held(board, notify):
        if board.power is None:
            raise BoardError(f"{board.name} has no supply that can be switched")
        yield board.power


def _switch_on(board: Board, power: Power, notify: Notify, *, no_wait: bool) -> None:
    board.stay_on()
    if no_wait:
        notify(f"switching {board.name} on")
        power.on()
    else:
        board.boot(notify)


def _switch_each(
    names: tuple[str, ...],
    options: BoardOptions,
    switch: Callable[[Board, Power, Notify], str],
    rest_s: float = 0.0,
) -> None:
    """Switch one board after the other; a failure does not stop the rest.

    rest_s: after a board whose state has changed, before the next one.
    """
    from whylate.boards.open import open_board
    from whylate.cli.live import LiveView

    failed = False
    rest_until = 0.0
    with LiveView() as view:
        for name in names:
            time.sleep(max(0.0, rest_until - time.monotonic()))
            began = time.monotonic()
            try:
                board = open_board(name, options)
                with with_supply(board, view.log) as power:
                    state = switch(board, power, view.log)
            except BoardError as error:
                if len(names) == 1:
                    raise
                failed = True
                print_message(f"{name[:80]}: {error}")
            else:
                if not state.startswith("was"):
                    rest_until = time.monotonic() + rest_s
                click.echo(f"{plain(name, 80)}: {state} ({time.monotonic() - began:.1f} s)")
    if failed:
        sys.exit(3)
