"""`whylate bisect`: which of many differences makes the difference."""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate bisect --help` shows of it.
VERBS = {
    "diff": ("bisect.diff", "List in what two boards, images or recordings differ."),
    "commits": ("bisect.commits", "Find which commit makes the difference of two versions."),
    "images": ("bisect.images", "Find which differences make the difference of two images."),
    "settings": ("bisect.settings", "Find which settings make the difference of two variants."),
}


@click.group(name="bisect", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """Find which of many differences makes the difference."""
