"""Options under headings in --help, so that a verb with many of them can be read."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import click

#: A function that becomes a verb, or the verb.
_V = TypeVar("_V", bound=Callable[..., Any])


class Heading(StrEnum):
    """The headings, in the order in which --help shows those that a verb has."""

    WHAT = "What to measure"
    LENGTH = "How much"
    COMPARED = "What to compare"
    EXPLAINED = "What to explain"
    NUMBERS = "Files of numbers"
    TRACE = "Another tool's trace (with --import)"
    WHERE = "Where"
    LOAD = "Load and settings"
    EXPERIMENT = "Experiment (with --experiment)"
    RECORDING = "Recording"
    VERDICT = "Verdict"
    OUTPUT = "Output"
    OTHER = "Other"


class HeadedOption(click.Option):
    """An option that stands under a heading."""

    def __init__(self, *names: Any, heading: Heading = Heading.OTHER, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.heading = heading


def option_under(heading: Heading) -> Callable[..., Callable[[_V], _V]]:
    """Return click.option() for options that stand under a heading."""
    return partial(click.option, cls=HeadedOption, heading=heading)


class GroupedCommand(click.Command):
    """A command whose --help shows its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading that has options."""
        groups: dict[Heading, list[tuple[str, str]]] = {heading: [] for heading in Heading}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                groups[getattr(parameter, "heading", Heading.OTHER)].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class CommandWords(GroupedCommand):
    """A command that passes the words behind `--` on as its parameter `argv`; None without `--`.

    click alone does not tell an argument before `--` from one behind it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before `--`, and keep what stands behind it."""
        at = args.index("--") if "--" in args else None
        ctx.params["argv"] = None if at is None else tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage with the command at its end."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]
