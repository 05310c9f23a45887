"""`whylate board`: boards themselves, apart from what is measured on them."""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate board --help` shows of it.
VERBS = {
    "list": ("board.list_boards", "Show all boards: what they are, on or off, who has them."),
    "status": ("board.status", "Show what every board does, and its last result."),
    "watch": ("board.watch", "Watch boards while they are used, here or in a browser."),
    "on": ("board.power", "Switch boards on and wait until they take commands."),
    "off": ("board.power", "Switch boards off, whatever they do."),
    "cycle": ("board.power", "Switch boards off and on again."),
    "console": ("board.console", "Use a board's serial console."),
    "run": ("board.run", "Run a command on a board."),
    "flash": ("board.flash", "Write an image to a board's card."),
    "facts": ("board.facts", "Show what can be read of a board."),
    "selftest": ("board.selftest", "Try power, console, network and probe of a board."),
    "soak": ("board.soak", "Boot, run and switch off, again and again."),
}


@click.group(name="board", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """List boards, switch them, use their consoles, try them and soak them.

    A BOARD is local, ssh://[user@]host[:port], a virtual board, or a target or place of labgrid's.
    """
