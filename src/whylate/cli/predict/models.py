"""`whylate predict models`: which changes have a model, and which have none."""

from __future__ import annotations

import sys

import click

from whylate.cli.print_json import json_option, print_document

#: What a change is, and the verb that predicts it.
MODELS = {
    "threads": "whylate predict scaling: more threads or tasks",
    "cpus": "whylate predict clock, readers: more CPUs that read one clock",
    "shared-reads": "whylate predict clock: one reading serves all who wait",
    "chunks": "whylate predict chunk: work in chunks under a lock",
    "ids": "whylate predict asid: other ids of address spaces",
    "cause": "whylate predict without: a cause removed, or faster where it runs",
}
#: What no model is about: why, and what measures it instead.
NO_MODEL = {
    "faster-clock": "what a read of another clock takes is in no recording of this one; measure "
    "both: whylate bench clock",
    "faster-timer": "a recording has no time of the timer apart from that of the wakeup; measure "
    "both: whylate study run",
    "irq-cpu": "what an interrupt costs on another CPU, and delays there, is in no window of this "
    "one; measure both: whylate study run with the setting /proc/irq/N/smp_affinity",
}


@click.command(name="models")
@click.argument("change", required=False, type=click.Choice([*MODELS, *NO_MODEL]),
                metavar="[CHANGE]")  # fmt: skip
@json_option
def command(change: str | None, as_json: bool) -> None:
    """Show which changes have a model, and which have none and why; or of one CHANGE.

    Exit status: 0 there is a model, or all are shown; 3 no model.
    """
    names = [*MODELS, *NO_MODEL] if change is None else [change]
    if as_json:
        rows = [_row(name) for name in names]
        print_document("models", {"changes": rows})
    else:
        for name in names:
            text = MODELS.get(name) or f"no model: {NO_MODEL[name]}"
            click.echo(f"{name:<12}  {text}")
    sys.exit(3 if change in NO_MODEL else 0)


def _row(name: str) -> dict[str, str | None]:
    """Return a change with the verb that predicts it, or why no model does."""
    verb, _, what = MODELS.get(name, "").partition(": ")
    why_not, _, instead = NO_MODEL.get(name, "").partition("; measure both: ")
    return {
        "change": name,
        "verb": verb or None,
        "predicts": what or None,
        "why_not": why_not or None,
        "instead": instead or None,
    }
