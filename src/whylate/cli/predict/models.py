"""`whylate predict models`: which changes have a model, and which have none."""

from __future__ import annotations

import sys

import click

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
def command(change: str | None) -> None:
    """Show which changes have a model, and which have none and why; or of one CHANGE.

    Exit status: 0 there is a model, or all are shown; 3 no model.
    """
    for name in [*MODELS, *NO_MODEL] if change is None else [change]:
        text = MODELS.get(name) or f"no model: {NO_MODEL[name]}"
        click.echo(f"{name:<12}  {text}")
    sys.exit(3 if change in NO_MODEL else 0)
