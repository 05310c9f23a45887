"""`whylate study`: which variant is better, on boards and under loads, decided by a rule."""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate study --help` shows of it.
VERBS = {
    "run": ("study.run", "Make the runs of a study, or go on with them."),
    "show": ("study.show", "Show how a study stands."),
}


@click.group(name="study", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """Compare variants of a board's settings, run by run, in turns, until it is decided."""
