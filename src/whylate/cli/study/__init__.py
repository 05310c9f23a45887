"""`whylate study`: which variant is better, on boards and under loads."""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate study --help` shows of it.
VERBS = {
    "run": ("study.run", "Make the runs of a study, or resume it."),
    "show": ("study.show", "Show the state of a study."),
}


@click.group(name="study", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """Compare variants of a board's settings in interleaved runs, until there is a verdict."""
