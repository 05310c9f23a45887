"""`whylate board flash`: an image on a board's card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.board_options import board_options, wait_option
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.boards.options import BoardOptions


@click.command(name="flash")
@click.argument("image", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("board")
@wait_option
@board_options
def flash(image: Path, board: str, options: BoardOptions) -> None:
    """Write IMAGE to the card of BOARD, through its SD mux, read it back, and boot from it.

    IMAGE is raw, .xz or .gz. The board is switched off first, and left off if the card does not
    keep what was written.
    """
    from whylate.boards.flash import card_of
    from whylate.boards.flash import flash as write
    from whylate.boards.open import open_board
    from whylate.boards.ready import held
    from whylate.cli.live import LiveView

    opened = open_board(board, options)
    with LiveView() as view, held(opened, view.log):
        write(opened, card_of(opened), image, view.log)
    click.echo(f"{plain(board, 80)} booted from {image}")
