"""`whylate diff`: where two repeatable runs part."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.recording.difference import Activation, Parting
    from whylate.recording.reader import Recording


@click.command(name="diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--context", type=click.IntRange(0, 100), default=3, show_default=True,
              help="Activations shown before and behind.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(first: Path, second: Path, context: int, as_json: bool) -> None:
    """Show the first activation at which the recordings FIRST and SECOND part.

    For runs in virtual time, which repeat each other to the nanosecond unless something differs:
    what differs in their plans and in the facts of their boards is shown too. Exit status 0 where
    every latency is the same, 1 where they part, 3 where one of them is not whole.
    """
    from whylate.cli.imported import refuse_imported
    from whylate.recording.difference import differing_facts, partings
    from whylate.recording.reader import open_recording
    from whylate.report.plain_console import plain_console
    from whylate.text import plain

    refuse_imported([first, second], "which of its latencies is of which activation: whylate "
                    "compare takes it")  # fmt: skip
    ours, theirs = open_recording(first), open_recording(second)
    found = partings(ours.samples, theirs.samples, context)
    facts = differing_facts(ours.manifest, theirs.manifest)
    lacking = [*_lacking(first, ours), *_lacking(second, theirs)]
    if as_json:
        _print_json(found, facts, lacking)
    else:
        console = plain_console()
        _print_facts(console, facts)
        _print_partings(console, found, sum(len(cpu.activation) for cpu in ours.samples))
        if not (ours.manifest.plan.virtual_time and theirs.manifest.plan.virtual_time):
            console.print("Not both runs were in virtual time: in real time no two are the same.")
        for text in lacking:
            console.print(plain(text, 400), style="red")
    if found:
        sys.exit(1)
    sys.exit(3 if lacking else 0)


def _lacking(path: Path, recording: Recording) -> list[str]:
    """Say what a recording lacks: two that end after the same second need not be the same."""
    from whylate.text import plain

    name = plain(str(path), 200)
    found = []
    if recording.manifest.state != "complete":
        found.append(f"{name} is not whole: its run was {plain(recording.manifest.state, 40)}")
    if not any(len(cpu.activation) for cpu in recording.samples):
        found.append(f"{name} has no samples")
    return found


def _print_json(
    found: list[Parting], facts: list[tuple[str, str, str]], lacking: list[str]
) -> None:

    print_json(
        {
            "same": not found and not lacking,
            "lacking": lacking,
            "partings": found,
            "differing_facts": [
                {"name": name, "first": one, "second": other} for name, one, other in facts
            ],
        }
    )


def _print_facts(console: Console, facts: list[tuple[str, str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from whylate.text import plain

    if not facts:
        console.print("Plans and facts are the same.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("differs", "first", "second"):
        table.add_column(heading, overflow="fold")
    for row in facts[:20]:
        table.add_row(*(Text(plain(word, 80)) for word in row))
    console.print(table)
    if len(facts) > 20:
        console.print(f"… and {len(facts) - 20} more (--json has all)")


def _print_partings(console: Console, found: list[Parting], total: int) -> None:
    from rich.table import Table

    if not found:
        console.print(f"All {total:,} latencies are the same.")
        return
    first = found[0]
    console.print(
        f"They part at activation {first.at.number:,} of CPU {first.cpu}, "
        f"{first.at.due_ns / 1e9:.6f} s after its first: {first.same_before:,} are the same "
        f"before it, {first.differing:,} differ from there on."
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "activation", "due", "first", "second", "difference"):
        table.add_column(heading, justify="left" if not heading else "right")
    for one in first.around:
        table.add_row(">" if one == first.at else "", *_cells(one))
    console.print(table)
    for other in found[1:]:
        console.print(
            f"CPU {other.cpu} parts at activation {other.at.number:,}, "
            f"{other.at.due_ns / 1e9:.6f} s after its first."
        )


def _cells(one: Activation) -> tuple[str, ...]:
    a, b = one.first_latency_ns, one.second_latency_ns
    return (
        f"{one.number:,}",
        f"{one.due_ns / 1e9:.6f} s",
        "not there" if a is None else f"{a:,} ns",
        "not there" if b is None else f"{b:,} ns",
        f"{b - a:+,} ns" if a is not None and b is not None else "",
    )
