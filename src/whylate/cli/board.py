"""`whylate board`: boards themselves, apart from what is measured on them."""

from __future__ import annotations

import click

from whylate.cli.lazy import LazyVerbs

#: Verb, the module that has it, and the line that `whylate board --help` shows of it.
VERBS = {
    "list": ("board_list", "Show all boards: what they are, on or off, who has them."),
    "on": ("board_power", "Switch boards on and wait until they take commands."),
    "off": ("board_power", "Switch boards off, whatever they do."),
    "cycle": ("board_power", "Switch boards off and on again."),
    "console": ("board_console", "Use a board's serial console."),
    "run": ("board_run", "Run a command on a board."),
    "flash": ("board_flash", "Write an image to a board's card."),
    "facts": ("facts", "Show what can be read of a board."),
    "selftest": ("board_selftest", "Try power, console, network and probe of a board."),
    "soak": ("board_soak", "Boot, run and switch off, again and again."),
}


@click.group(name="board", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """List boards, switch them, use their consoles, try them and soak them.

    A BOARD is local, ssh://[user@]host[:port], a virtual board, or a target or place of labgrid's.
    """
