"""A comparison on the terminal: the verdict first, then what it rests on."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.compare.model import ArmFigures, Comparison, Question, StatisticRow
from whylate.compare.words import (
    amount_text,
    more_runs_text,
    percent_text,
    scope_text,
    signed_text,
)
from whylate.report.beside import (
    EVENTS_SHOWN,
    environment_line,
    event_cells,
    events_heading,
    hit_lines,
)
from whylate.text import plain

#: Pairs that are shown one by one.
PAIRS_SHOWN = 12
STYLES = {
    "better": "bold green",
    "same": "bold green",
    "worse": "bold red",
    "inconclusive": "bold yellow",
    "no verdict": "bold red",
}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print a comparison; names are plain text, never markup."""
    console.print(Text(f"A  {arm_text(comparison.first)}"))
    console.print(Text(f"B  {arm_text(comparison.second)}"))
    console.print()
    if comparison.statistics:
        console.print(_table(comparison))
    for pair, ours, theirs in comparison.pairs[:PAIRS_SHOWN]:
        change = percent_text(theirs / ours) if ours > 0 and theirs > 0 else ""
        numbers = f"{_amount(ours, comparison.unit)} → {_amount(theirs, comparison.unit)}"
        console.print(Text(f"  {plain(pair, 80)}: {numbers}  {change}"))
    if len(comparison.pairs) > PAIRS_SHOWN:
        console.print(
            Text(f"  … and {len(comparison.pairs) - PAIRS_SHOWN} more pairs", style="dim")
        )
    for row in comparison.statistics:
        if row.refused is not None and row.ratio is None:
            console.print(Text(f"– {plain(row.refused, 300)}", style="dim"))
    if any(row.ratio is not None and row.low is None for row in comparison.statistics):
        console.print(Text("– too few runs for intervals", style="dim"))
    _print_beside(comparison, console)
    console.print()
    for text in comparison.cautions:
        console.print(Text.assemble(("caution  ", "yellow"), plain(text, 400)))
    console.print(
        Text.assemble(
            (f"{headline(comparison)}  ", STYLES[comparison.verdict]),
            plain(f"{comparison.why}.", 600),
        )
    )
    if comparison.more_runs is not None:
        console.print(Text(more_runs_text(comparison.more_runs)))


def _print_beside(comparison: Comparison, console: Console) -> None:
    """Print events, footnotes, hits, and what both sides ran on."""
    if comparison.counters:
        console.print(_events_table(comparison))
    environment = environment_line(comparison)
    for text in (
        *_footnotes(comparison),
        *student_lines(comparison),
        *hit_lines(comparison),
        *([environment] if environment is not None else []),
    ):
        console.print(Text(text, style="dim"))


def headline(comparison: Comparison) -> str:
    """Return the verdict as a few words."""
    if comparison.verdict in ("better", "worse"):
        return f"B is {comparison.verdict}"
    return comparison.verdict


def many_text(count: int) -> str:
    """Say that no verdict is adjusted for the other comparisons."""
    return (
        f"{count} comparisons, each at {Question().alpha * 100:.0f} % by itself: of equal sides "
        "about one in twenty is called better or worse."
    )


def many(count: int) -> dict[str, object]:
    """Return the same for JSON; nothing for one comparison."""
    return {"together": {"comparisons": count, "each_at": Question().alpha}} if count > 1 else {}


def arm_text(arm: ArmFigures) -> str:
    """Return a side's name and what it is made of."""
    runs = f"{arm.runs} run{'s' if arm.runs != 1 else ''}"
    if arm.boots is not None and arm.runs > 1:
        runs += f" of {arm.boots} boot{'s' if arm.boots != 1 else ''}"
    return f"{plain(arm.name, 100)}: {runs}"


def _table(comparison: Comparison) -> Table:
    judged = any(row.verdict is not None for row in comparison.statistics)
    # A verdict in each row leaves less room.
    table = Table(box=None, padding=(0, 1 if judged else 2, 0, 0), pad_edge=False)
    linear = any(row.linear for row in comparison.statistics)
    table.add_column("")
    for heading in ("A", "B", "B − A" if linear else "B / A", "95 % interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    if judged:
        table.add_column("", no_wrap=True)
    for row in comparison.statistics:
        verdict = [Text(row.verdict, STYLES[row.verdict])] if row.verdict is not None else []
        if row.ratio is None:
            table.add_row(Text(plain(row.name, 80)), *["–"] * 5, *verdict)
            continue
        table.add_row(
            Text(plain(row.name, 80)),
            Text(typical_text(row.first, row.unit, at_least=row.first_at_least)),
            Text(typical_text(row.second, row.unit, at_least=row.second_at_least)),
            _change(row, row.ratio),
            "–" if row.low is None or row.high is None else
            f"{_change(row, row.low)} … {_change(row, row.high)}",
            "–" if row.p is None else p_text(row.p),
            *verdict,
        )  # fmt: skip
    return table


def _events_table(comparison: Comparison) -> Table:
    """Lay out what both sides counted, which has no part in the verdict."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(Text(events_heading(comparison), style="dim"), overflow="fold")
    for heading in ("A", "B", "change", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in comparison.counters[:EVENTS_SHOWN]:
        table.add_row(*map(Text, event_cells(row)))
    if len(comparison.counters) > EVENTS_SHOWN:
        more = len(comparison.counters) - EVENTS_SHOWN
        table.add_row(Text(f"… and {more} more events", style="dim"))
    return table


def typical_text(value: float | None, unit: str, *, at_least: bool) -> str:
    """Write the typical value of a side; ≥ where it may be more."""
    if value is None:
        return "–"
    return ("≥ " if at_least else "") + _amount(value, unit)


def _amount(value: float, unit: str) -> str:
    return plain(amount_text(value, unit), 60)


def _change(row: StatisticRow, ratio: float) -> str:
    return signed_text(ratio) if row.linear else percent_text(ratio)


def p_text(p: float) -> str:
    """Write a p-value: two digits, and never zero."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _footnotes(comparison: Comparison) -> list[str]:
    if comparison.p is None:
        return []
    how = "within pairs of runs" if comparison.paired else "of runs"
    together = sum(row.p is not None for row in comparison.statistics)
    tests = f"permutations {how}"
    if together > 1:
        tests += (
            f", adjusted for all {together} statistics; that any differs: {p_text(comparison.p)}"
        )
    return [f"Typical runs; intervals {scope_text(comparison.scope)}. p: {tests}"]


def student_lines(comparison: Comparison) -> list[str]:
    """Return the line of Student's t; none where it was not computed."""
    if comparison.student is None:
        return []
    student = comparison.student
    text = f"Student's t: {signed_text(student.difference)} ± {student.half_width:.4g}"
    if student.relative is not None and student.relative_half_width is not None:
        relative = signed_text(100 * student.relative)
        text += f" ({relative} % ± {student.relative_half_width * 100:.2g} %)"
    return [f"{text}, if the values are independent, normal, and of one variance"]
