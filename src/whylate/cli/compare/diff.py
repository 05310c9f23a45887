"""`whylate diff`: the first difference between two repeatable runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.cli.messages import refuse_imported
from whylate.cli.print_json import json_option, print_json
from whylate.recording.reader import Recording, open_recording
from whylate.report.plain_console import plain_console
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.recording.difference import Activation, Parting

#: Facts that differ, in the printed table; --json has all.
MAX_FACTS = 20


@click.command(name="diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--context", type=click.IntRange(0, 100), default=3, show_default=True, metavar="N",
              help="Activations shown before and after the difference.")  # fmt: skip
@json_option
def command(first: Path, second: Path, context: int, as_json: bool) -> None:
    """Show the first activation in which the recordings FIRST and SECOND differ.

    For runs in virtual time: they repeat to the nanosecond unless something differs. Differences
    between their plans and between the facts of their boards are shown too.

    Exit status: 0 all latencies are the same, 1 some differ, 3 a recording is incomplete.
    """
    from whylate.recording.difference import differing_facts, partings

    refuse_imported([first, second], "which of its latencies is of which activation: whylate "
                    "compare takes it")  # fmt: skip
    ours, theirs = open_recording(first), open_recording(second)
    differences = partings(ours.samples, theirs.samples, context)
    facts = differing_facts(ours.manifest, theirs.manifest)
    missing = [*_missing_data(first, ours), *_missing_data(second, theirs)]
    if as_json:
        print_json(
            {
                "same": not differences and not missing,
                "lacking": missing,
                "partings": differences,
                "differing_facts": [
                    {"name": name, "first": ours, "second": theirs} for name, ours, theirs in facts
                ],
            }
        )
    else:
        console = plain_console()
        _print_facts(console, facts)
        _print_differences(console, differences, sum(len(cpu.activation) for cpu in ours.samples))
        if not (ours.manifest.plan.virtual_time and theirs.manifest.plan.virtual_time):
            console.print("Not both runs were in virtual time: runs in real time always differ.")
        for text in missing:
            console.print(plain(text, 400), style="red")
    if differences:
        sys.exit(1)
    sys.exit(3 if missing else 0)


def _missing_data(path: Path, recording: Recording) -> list[str]:
    """Return what a recording lacks: two that end after the same second need not be the same."""
    name = plain(str(path), 200)
    missing = []
    if recording.manifest.state != "complete":
        missing.append(f"{name} is incomplete: its run was {plain(recording.manifest.state, 40)}")
    if not any(len(cpu.activation) for cpu in recording.samples):
        missing.append(f"{name} has no samples")
    return missing


def _print_facts(console: Console, facts: list[tuple[str, str, str]]) -> None:
    if not facts:
        console.print("Plans and facts are the same.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("differs", "first", "second"):
        table.add_column(heading, overflow="fold")
    for row in facts[:MAX_FACTS]:
        table.add_row(*(Text(plain(word, 80)) for word in row))
    console.print(table)
    if len(facts) > MAX_FACTS:
        console.print(f"… and {len(facts) - MAX_FACTS} more (--json has all)")


def _print_differences(console: Console, differences: list[Parting], total: int) -> None:
    if not differences:
        console.print(f"All {total:,} latencies are the same.")
        return
    first, *rest = differences
    console.print(
        f"The first difference is activation {first.at.number:,} of CPU {first.cpu}, "
        f"{first.at.due_ns / 1e9:.6f} s after its first: {first.same_before:,} before it are the "
        f"same, {first.differing:,} from there on differ."
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "activation", "due", "first", "second", "difference"):
        table.add_column(heading, justify="left" if not heading else "right")
    for activation in first.around:
        table.add_row(">" if activation == first.at else "", *_cells(activation))
    console.print(table)
    for other in rest:
        console.print(
            f"On CPU {other.cpu} the first is activation {other.at.number:,}, "
            f"{other.at.due_ns / 1e9:.6f} s after its first."
        )


def _cells(activation: Activation) -> tuple[str, ...]:
    first, second = activation.first_latency_ns, activation.second_latency_ns
    return (
        f"{activation.number:,}",
        f"{activation.due_ns / 1e9:.6f} s",
        "missing" if first is None else f"{first:,} ns",
        "missing" if second is None else f"{second:,} ns",
        f"{second - first:+,} ns" if first is not None and second is not None else "",
    )
