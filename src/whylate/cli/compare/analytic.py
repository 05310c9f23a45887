"""What `whylate bound --analytic` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_count, format_short_ns
from whylate.recording.reader import open_recording
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.compare.analytic import AnalyticBound

#: Pieces that have a row of their own, the largest first.
_MOST_ROWS = 15
_EQUATION = "L = sum of the pieces that come once + sum over what comes again of N(L) C"
_ASSUMPTIONS = (
    "C: longest execution. N(t): most arrivals in any time t of a window; longer times are cut "
    "into such. It holds if no piece is ever longer, nor comes more often, than was seen; if after "
    "code that enables interrupts no more follows than 20 activations or more showed; and if a "
    "section of lower priority, with interrupts disabled and then preemption, and a thread of "
    "higher priority come once in a latency."
)


def split_sampled(paths: list[Path]) -> list[Path]:
    """Return the recordings that have latencies: those of sampled sections have none."""
    return [path for path in paths if open_recording(path).manifest.plan.benchmark is None]


def print_analytic(worst: AnalyticBound, console: Console) -> None:
    """Print the bound, its pieces, its equation, and what was not observed."""
    console.print()
    at_least = "≥ " if worst.at_least else ""
    seen = f"largest seen {at_least}{format_short_ns(worst.largest_ns)}"
    if worst.bound_ns is None:
        text = (
            "no bound: recurring interrupts could use the whole CPU; windows show at most "
            f"{format_short_ns(worst.horizon_ns)}, and more with a longer --interval"
        )
        console.print(Text(f"{text}; {seen}", style="bold red"))
    else:
        text = f"All longest pieces together: {format_short_ns(worst.bound_ns)}"
        console.print(Text(f"{text}; {seen}", style="bold"))
    if worst.is_refuted:
        console.print(
            Text(
                "The pieces alone make less than what was seen: one of them was not observed, and "
                "the bound is the largest seen.",
                style="bold red",
            )
        )
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("piece", "longest", "times", "together"):
        table.add_column(heading, justify="left" if heading == "piece" else "right")
    for piece in worst.pieces[:_MOST_ROWS]:
        table.add_row(
            Text(plain(piece.name, 120)),
            format_short_ns(piece.longest_ns),
            format_count(piece.times),
            format_short_ns(piece.together_ns),
        )
    console.print(table)
    if len(worst.pieces) > _MOST_ROWS:
        rest = sum(piece.together_ns for piece in worst.pieces[_MOST_ROWS:])
        more = len(worst.pieces) - _MOST_ROWS
        console.print(Text(f"{more} more, together {format_short_ns(rest)}", style="dim"))
    source = f"{format_count(worst.windows)} windows of at most {format_short_ns(worst.horizon_ns)}"
    if worst.maxima:
        source += f", and {format_count(worst.maxima)} interrupts and softirqs from all of the run"
    console.print(Text(f"{_EQUATION}; from {source}.", style="dim"))
    console.print(Text(_ASSUMPTIONS, style="dim"))
    if worst.bound_ns is not None and worst.bound_ns > worst.horizon_ns:
        longer = (
            f"L is longer than any window: more than {format_short_ns(worst.horizon_ns)} apart, "
            "arrivals are taken to come as densely. A recording with a longer --interval beside "
            "this shows more."
        )
        console.print(Text(longer, style="dim"))
    for lacking in worst.unobserved:
        console.print(Text(f"not observed: {plain(lacking, 300)}", style="dim"))
