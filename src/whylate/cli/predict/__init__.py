"""`whylate predict`: what would a change bring, before it is tried?"""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate predict --help` shows of it.
VERBS = {
    "without": ("predict.without", "Predict latencies without a cause, or with it faster."),
}


@click.group(name="predict", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """Predict what a change would bring, from recordings that exist."""
