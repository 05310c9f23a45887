"""`whylate lab`: the virtual boards' images, and injected faults of latency."""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate lab --help` shows of it.
VERBS = {
    "build": ("lab.build", "Fetch kernels and make the images of virtual boards."),
    "pair": ("lab.pair", "Make two root file systems that differ in hundreds of things."),
    "faults": ("lab.inject", "List the injected faults, or describe one."),
    "inject": ("lab.inject", "Inject faults into a board in real time, and report what they did."),
}


@click.group(name="lab", cls=LazyVerbs, verbs=VERBS)
def command() -> None:
    """Make the virtual boards and roots for them, and try injected faults of latency on them."""
