"""A group of verbs that imports a verb only when it is called: `whylate --help` answers at once."""

from __future__ import annotations

import importlib
from typing import Any

import click


class LazyVerbs(click.Group):
    """Verbs by name, each with the module of whylate.cli that has it and its line in the help.

    The verb's command is called as the verb there, or `command`.
    """

    def __init__(self, *args: Any, verbs: dict[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        del ctx
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb's command."""
        del ctx
        if cmd_name not in self._verbs:
            return None
        module = importlib.import_module(f"whylate.cli.{self._verbs[cmd_name][0]}")
        # Another thing of that name may be imported there.
        named = getattr(module, cmd_name, None)
        command = named if isinstance(named, click.Command) else module.command
        assert isinstance(command, click.Command)  # noqa: S101 - our own modules
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, text) for verb, (_, text) in self._verbs.items()])
