"""Runs of several boards, or repetitions of one, on one screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_ns
from whylate.report.terminal.lines import board_line
from whylate.summary.model import Summary
from whylate.summary.pooled import NAMES, Pooled, PooledFigure
from whylate.text import plain


def print_runs(board: str, summaries: Sequence[Summary], console: Console) -> None:
    """Print a line for each run of a board: its counts, its figures, and why it has no verdict."""
    first = summaries[0]
    console.print(board_line(board, first.kernel, first.cpu_model))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("run")
    counts = ("seen", "overrun") if first.scheduled else ("seen",)
    for heading in (*counts, *NAMES):
        table.add_column(heading, justify="right")
    if first.virtual_time:
        table.add_column("samples")
    for summary in summaries:
        figures = summary.together.latency_ns
        cells = [
            _value(figures[name].value, at_least=figures[name].at_least) if name in figures else ""
            for name in NAMES
        ]
        row = [_name(summary), *(f"{getattr(summary.together, name):,}" for name in counts)]
        row += cells
        if first.virtual_time:
            row.append((summary.samples_sha256 or "")[:12])
        table.add_row(*row)
    console.print(table)
    for summary in summaries:
        for reason in summary.trust.reasons[:2]:
            console.print(
                Text(f"no verdict on {_name(summary)}: {plain(reason, 300)}", style="red")
            )
    for summary in summaries:
        for requirement in summary.requirements:
            console.print(
                Text(f"{_name(summary)}: {requirement.verdict}: {plain(requirement.text, 80)}")
            )


def print_pooled(pooled: Pooled, console: Console) -> None:
    """Print each figure over the runs: its median with an interval, and its range."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("over the runs", "median", "95 % interval", "lowest", "highest", "runs"):
        table.add_column(heading, justify="left" if heading == "over the runs" else "right")
    for figure in pooled.figures:
        interval = "too few runs"
        if figure.low_ns is not None and figure.high_ns is not None:
            interval = f"{_bounded(figure, figure.low_ns)} … {_bounded(figure, figure.high_ns)}"
        known = len(figure.values_ns)
        table.add_row(
            figure.name,
            _bounded(figure, figure.median_ns),
            interval,
            _bounded(figure, figure.values_ns[0]),
            _bounded(figure, figure.values_ns[-1]),
            str(known) if known == pooled.runs else f"{known} of {pooled.runs}",
        )
    if pooled.figures:
        console.print(table)
    if pooled.left_out:
        console.print(
            Text(
                f"{pooled.left_out} of {pooled.runs + pooled.left_out} runs have no verdict and "
                "are left out",
                style="red",
            )
        )


def _bounded(figure: PooledFigure, value_ns: float) -> str:
    return _value(round(value_ns), at_least=figure.at_least(value_ns))


def print_failure(board: str, why: str, console: Console) -> None:
    """Print why a board has no recording."""
    console.print(Text.assemble((f"{plain(board, 60)}: ", "bold red"), plain(why, 1000)))


def _name(summary: Summary) -> str:
    return plain(summary.recording.rstrip("/").rsplit("/", 1)[-1], 60)


def _value(value: int | None, *, at_least: bool) -> str:
    if value is None:
        return "–"
    return ("≥ " if at_least else "") + format_ns(value)
