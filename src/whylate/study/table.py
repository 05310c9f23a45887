"""How the comparisons of a study stand: one line each."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from whylate.compare.model import StatisticRow
from whylate.compare.words import percent_text
from whylate.report.comparison import STYLES, p_text
from whylate.report.text import plain
from whylate.study.effects import EffectsOf
from whylate.study.evidence import ALPHA, Standing

_SHOWN = ("p50", "p99", "p99.9", "max")


def standings_table(rows: Iterable[tuple[Standing, int]]) -> Table:
    """Lay out how comparisons stand, each with the most rounds that it may take."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("board", "load", "variant", "rounds", *_SHOWN, ""):
        table.add_column(heading, justify="right" if heading in ("rounds", *_SHOWN) else "left")
    for one, most in rows:
        figures = {row.name: row for row in one.found.statistics} if one.found else {}
        verdict = Text("…")
        if one.found is not None and one.over:
            verdict = Text(one.found.verdict, style=STYLES[one.found.verdict])
        table.add_row(
            Text(plain(one.key.board, 30)),
            Text(one.key.load),
            Text(one.key.variant),
            str(one.rounds) if one.over else f"{one.rounds} of {most}",
            *(_cell(figures.get(name)) for name in _SHOWN),
            verdict,
        )
    return table


def effects_table(found: EffectsOf) -> Table:
    """Lay out effects: each of a knob, or of several together, in a line."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("effect", overflow="fold")
    names = list(found.effects[0].ratios) if found.effects else []
    for name in (*names, "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.effects:
        clear = one.p <= ALPHA
        table.add_row(
            Text(plain(" × ".join(one.knobs), 100), style="bold" if clear else ""),
            *(percent_text(value) for value, _, _ in one.ratios.values()),
            p_text(one.p),
        )
        table.add_row(
            "", *(Text(f"{percent_text(low)} … {percent_text(high)}", style="dim")
                  for _, low, high in one.ratios.values()), "",
        )  # fmt: skip
    return table


def _cell(row: StatisticRow | None) -> str:
    return "–" if row is None or row.ratio is None else percent_text(row.ratio)
