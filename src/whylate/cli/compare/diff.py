"""`whylate diff`: in what two recordings differ, and where."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.messages import refuse_imported
from whylate.cli.print_json import json_option, print_json
from whylate.text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.recording.difference import Activation, Parting, RepetitionParting
    from whylate.recording.reader import Recording

#: Facts that differ, in the printed table; --json has all.
MAX_FACTS = 20


@click.command(name="diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--context", type=click.IntRange(0, 100), default=3, show_default=True, metavar="N",
              help="Activations shown before and after the difference.")  # fmt: skip
@json_option
def command(first: Path, second: Path, context: int, as_json: bool) -> None:
    """Show in what the recordings FIRST and SECOND differ: plans, settings, facts, and figures.

    Of latencies the first activation that differs is shown, and of a benchmark the first
    repetition. In virtual time runs repeat to the nanosecond unless something differs; in real time
    their figures always differ, and what else does is of interest.

    Exit status: 0 all figures are the same, 1 some differ, 3 a recording is incomplete.
    """
    from whylate.recording.difference import differing_facts
    from whylate.recording.reader import open_recording
    from whylate.report.plain_console import plain_console

    refuse_imported([first, second], "which of its latencies is of which activation: whylate "
                    "compare takes it")  # fmt: skip
    ours, theirs = open_recording(first), open_recording(second)
    figures = _compare_figures(ours, theirs, context)
    facts = differing_facts(ours.manifest, theirs.manifest)
    missing = [*_missing_data(first, ours), *_missing_data(second, theirs)]
    if as_json:
        print_json(
            {
                "same": not figures.differ and not missing,
                "lacking": missing,
                "workloads": list(figures.workloads),
                "partings": figures.partings,
                "repetition_parting": figures.repetition,
                "differing_facts": [
                    {"name": name, "first": ours, "second": theirs} for name, ours, theirs in facts
                ],
            }
        )
    else:
        console = plain_console()
        _print_facts(console, facts)
        _print_figures(console, figures)
        if not (ours.manifest.plan.virtual_time and theirs.manifest.plan.virtual_time):
            console.print("Not both runs were in virtual time: runs in real time always differ.")
        for text in missing:
            console.print(plain(text, 400), style="red")
    if figures.differ:
        sys.exit(1)
    sys.exit(3 if missing else 0)


@dataclass(frozen=True)
class Figures:
    """How the figures of two recordings differ. workloads: of both. total: rows of the first."""

    workloads: tuple[str, str]
    total: int
    rows: str = "latencies"
    partings: Sequence[Parting] = ()
    repetition: RepetitionParting | None = None

    @property
    def differ(self) -> bool:
        """Whether any figure differs."""
        first, second = self.workloads
        return first != second or bool(self.partings) or self.repetition is not None


def _compare_figures(ours: Recording, theirs: Recording, context: int) -> Figures:
    """Compare the rows of two recordings; those of different workloads have nothing in common."""
    from whylate.recording.difference import partings, repetition_parting
    from whylate.recording.workloads.point_names import point_names

    plan, other = ours.manifest.plan, theirs.manifest.plan
    workloads = plan.workload.kind, other.workload.kind
    if workloads[0] != workloads[1]:
        return Figures(workloads, 0)
    if plan.benchmark is None:
        differences = partings(ours.numbered, theirs.numbered, context)
        total = sum(cpu.size for cpu in ours.numbered)
        return Figures(workloads, total, partings=differences)
    rows = ours.repetitions
    parting = repetition_parting(
        rows, theirs.repetitions, point_names(plan.benchmark.points), plan.benchmark.order
    )
    return Figures(workloads, rows.n, "repetitions", repetition=parting)


def _missing_data(path: Path, recording: Recording) -> list[str]:
    """Return what a recording lacks: two that end after the same second need not be the same."""
    name = plain(str(path), 200)
    missing = []
    if recording.manifest.state != "complete":
        missing.append(f"{name} is incomplete: its run was {plain(recording.manifest.state, 40)}")
    if recording.manifest.plan.benchmark is not None:
        if not recording.repetitions.n:
            missing.append(f"{name} has no repetitions")
    elif not any(cpu.size for cpu in recording.numbered):
        missing.append(f"{name} has no samples")
    return missing


def _print_facts(console: Console, facts: list[tuple[str, str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not facts:
        console.print("Plans, settings and facts are the same.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("differs", "first", "second"):
        table.add_column(heading, overflow="fold")
    for row in facts[:MAX_FACTS]:
        table.add_row(*(Text(plain(word, 80)) for word in row))
    console.print(table)
    if len(facts) > MAX_FACTS:
        console.print(f"… and {len(facts) - MAX_FACTS} more (--json has all)")


def _print_figures(console: Console, figures: Figures) -> None:
    first, second = figures.workloads
    if first != second:
        console.print(plain(f"One measured {first}, the other {second}: no figure of both.", 200))
    elif figures.repetition is not None:
        _print_repetition(console, figures.repetition)
    elif figures.partings:
        _print_differences(console, figures.partings)
    else:
        console.print(f"All {figures.total:,} {figures.rows} are the same.")


def _print_repetition(console: Console, parting: RepetitionParting) -> None:
    values = " and ".join(
        "missing" if value is None else f"{value:,}" for value in (parting.first, parting.second)
    )
    console.print(
        plain(
            f"The first difference is repetition {parting.repetition} of turn {parting.turn} "
            f"({parting.point}): {parting.column} is {values}. {parting.same_before:,} before it "
            f"are the same, {parting.differing:,} in all differ.",
            600,
        )
    )


def _print_differences(console: Console, differences: Sequence[Parting]) -> None:
    from rich.table import Table

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
