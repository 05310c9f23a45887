"""Print an answer: the causes, families of episodes, single activations, and advice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.causes.advice import load_advice
from whylate.causes.answer import Answer, TracedActivation
from whylate.causes.window.piece import Cause, Piece
from whylate.quantities import format_percent, format_short_ns
from whylate.report.causes import (
    CauseRow,
    FamilyRow,
    activation_title,
    cause_name,
    cause_rows,
    family_rows,
    headline,
    late_unit,
    no_answer,
    notes,
    significant_causes,
    unrecorded_text,
)

#: Pieces shorter than this part of the latency are left out of a breakdown.
SHORTEST_PIECE = 0.01


def print_answer(answer: Answer, console: Console, worst: int = 0) -> None:
    """Print the answer; texts of the board are plain text. worst: number of breakdowns."""
    population = answer.population
    if population is None:
        console.print(Text(no_answer(answer)))
        return
    console.print(Text(headline(answer, population), style="bold"))
    console.print()
    console.print(_causes_table(cause_rows(population)))
    for line in notes(answer, population):
        console.print(Text(line, style="dim"))
    if families := family_rows(answer):
        console.print()
        console.print(_families_table(families, late_unit(answer)))
        if text := unrecorded_text(answer):
            console.print(Text(text, style="dim"))
    for traced in answer.worst[:worst]:
        console.print()
        console.print(_breakdown(traced, answer))
    for cause in significant_causes(population):
        words = load_advice(cause)
        console.print()
        console.print(
            Text.assemble(
                (f"{cause.value}: ", "bold"), words.what,
                ("\nCheck: ", "bold"), words.check,
                ("\nHelps: ", "bold"), words.helps,
            )
        )  # fmt: skip


def _table(columns: Iterable[tuple[str, bool]]) -> Table:
    """Return an empty table; columns: heading, and whether it holds numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading, number in columns:
        # A long function goes on in the next line: its end may be what tells it from another.
        table.add_column(heading, justify="right" if number else "left", no_wrap=number,
                         overflow="ellipsis" if number else "fold")  # fmt: skip
    return table


def _causes_table(rows: Iterable[CauseRow]) -> Table:
    numbers = ("share", "95 % CI", "each", "in late", "in control")
    table = _table([("", False), ("cause", False), *((heading, True) for heading in numbers)])
    for row in rows:
        table.add_row(
            "▶" if row.significant else "",
            Text(row.name, style="bold" if row.significant else ""),
            format_percent(row.share, 1),
            row.interval,
            row.each,
            row.in_late,
            row.in_control,
        )
    return table


def _families_table(rows: Iterable[FamilyRow], unit: str) -> Table:
    numbers = (f"{unit}s", "each", "median", "in control", "worst")
    table = _table([("", False), ("in common", False), *((heading, True) for heading in numbers)])
    for row in rows:
        table.add_row(
            Text(row.letter, style="bold"),
            Text(row.common),
            row.episodes,
            row.lower_bound,
            row.median,
            row.in_control,
            row.worst,
        )
    return table


def _breakdown(traced: TracedActivation, answer: Answer) -> Text:
    activation = traced.breakdown
    pieces = [
        f"{cause_name(cause, detail)} {format_short_ns(length_ns)}"
        for cause, detail, length_ns in longest_pieces(
            activation.pieces or (), activation.latency_ns
        )
    ] or [Cause.NOT_OBSERVED.value]
    return Text.assemble((activation_title(traced, answer), "bold"), " = " + " + ".join(pieces))


def longest_pieces(pieces: Iterable[Piece], latency_ns: int) -> list[tuple[Cause, str, int]]:
    """Return causes, details and lengths in order, without the shortest.

    Pieces of one cause that only short pieces separate are merged. Short pieces of one cause
    count from where they are long enough together.
    """
    least_ns = SHORTEST_PIECE * latency_ns
    longest: list[tuple[Cause, str, int]] = []
    short_ns: dict[tuple[Cause, str], int] = defaultdict(int)
    for piece in pieces:
        key = piece.cause, piece.detail
        if longest and longest[-1][:2] == key:
            longest[-1] = (*key, longest[-1][2] + piece.length_ns)
            continue
        short_ns[key] += piece.length_ns
        if short_ns[key] >= least_ns:
            longest.append((*key, short_ns[key]))
            short_ns.clear()
    return longest
