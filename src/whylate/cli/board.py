"""`whylate board`: boards themselves, apart from what is measured on them."""

from __future__ import annotations

import importlib

import click

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


class _Verbs(click.Group):
    """Imports a verb only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of a day's work."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb's command."""
        del ctx
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"whylate.cli.{VERBS[cmd_name][0]}")
        command = getattr(module, cmd_name, None) or module.command
        assert isinstance(command, click.Command)  # noqa: S101 - our own modules
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


@click.group(name="board", cls=_Verbs)
def command() -> None:
    r"""List boards, switch them, use their consoles, try them and soak them.

    A BOARD is local, ssh://[user@]host[:port], a virtual board, or a target or place of labgrid's.
    """
