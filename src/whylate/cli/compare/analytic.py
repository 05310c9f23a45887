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
#: Pieces that are named where there is no bound.
_MOST_BUSY = 3
_EQUATION = "L = sum of the pieces that come once + sum over what comes again of C(N(L))"
_OF_WINDOWS = "N(t): most arrivals in any time t of a window; longer times are cut into such."
_OF_RUNS = (
    "N(t): most arrivals in any time t; of interrupts and softirqs in all of the run, of others in "
    "windows, and longer times are cut into such."
)
_ONE_BY_ONE = "C(n): n times the longest execution."
_IN_A_ROW = (
    "C(n): longest n executions in a row, by the longest total of 4 and of 16, or n times the "
    "longest one."
)
_ASSUMPTIONS = (
    "It holds if no piece is ever longer, nor comes more often, than was seen; if after "
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
        _print_no_bound(worst, seen, console)
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
    arrivals = _OF_RUNS if worst.maxima else _OF_WINDOWS
    executions = _IN_A_ROW if worst.has_totals else _ONE_BY_ONE
    console.print(Text(f"{executions} {arrivals} {_ASSUMPTIONS}", style="dim"))
    if worst.bound_ns is not None and worst.is_cut:
        longer = (
            f"L is longer than any window: more than {format_short_ns(worst.horizon_ns)} apart, "
            "arrivals are taken to come as densely. A recording with a longer --interval beside "
            "this shows more."
        )
        console.print(Text(longer, style="dim"))
    for lacking in worst.unobserved:
        console.print(Text(f"not observed: {plain(lacking, 300)}", style="dim"))


def _print_no_bound(worst: AnalyticBound, seen: str, console: Console) -> None:
    """Print why the sum has no end, and what windows show alone, where they show another."""
    if not worst.maxima:
        text = (
            "no bound: recurring interrupts could use the whole CPU; windows show at most "
            f"{format_short_ns(worst.horizon_ns)}, and more with a longer --interval"
        )
        console.print(Text(f"{text}; {seen}", style="bold red"))
        return
    busy = sorted(worst.pieces, key=lambda piece: -piece.utilisation)
    most = ", ".join(
        f"{plain(piece.name, 120)} {100 * piece.utilisation:.0f} %" for piece in busy[:_MOST_BUSY]
    )
    share = 100 * sum(piece.utilisation for piece in busy)
    text = (
        "no bound: if what recurs always took as long, and came as densely, as it ever did, it "
        f"could take {share:.0f} % of the CPU ({most})"
    )
    console.print(Text(f"{text}; {seen}", style="bold red"))
    if worst.windows_bound_ns is None:
        alone = "Nor is there a bound from windows alone."
    else:
        alone = (
            f"From windows alone: {format_short_ns(worst.windows_bound_ns)}. That is no bound for "
            "what was seen: it does not cover interrupts and softirqs that were longer, or "
            "came more densely, outside of windows."
        )
    console.print(Text(alone))
