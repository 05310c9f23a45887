"""How the comparisons of a study stand: one line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from whylate.compare.model import StatisticRow
from whylate.compare.words import percent_text
from whylate.report.terminal.comparison import STYLES, p_text
from whylate.study.results.effects import BoardEffects
from whylate.study.results.evidence import ALPHA, Standing
from whylate.text import plain

_SHOWN = ("p50", "p99", "p99.9", "max")


def standings_table(rows: Iterable[tuple[Standing, int]]) -> Table:
    """Lay out how comparisons stand, each with the most rounds that it may take."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    rows = list(rows)
    shown = _shown([one for one, _ in rows])
    for heading in ("board", "load", "variant", "rounds", *shown, ""):
        table.add_column(Text(plain(heading, 40)), overflow="fold",
                         justify="right" if heading in ("rounds", *shown) else "left")  # fmt: skip
    for one, most in rows:
        figures = {row.name: row for row in one.comparison.statistics} if one.comparison else {}
        verdict = Text("…")
        if one.comparison is not None and one.over:
            verdict = Text(one.comparison.verdict, style=STYLES[one.comparison.verdict])
        table.add_row(
            Text(plain(one.key.board, 30)),
            Text(plain(one.key.load, 40)),
            Text(plain(one.key.variant, 40)),
            str(one.rounds) if one.over else f"{one.rounds} of {most}",
            *(_cell(figures.get(name)) for name in shown),
            verdict,
        )
    return table


def _shown(standings: Sequence[Standing]) -> Sequence[str]:
    """Return the statistics that have a column: of latencies the same few, of points the first."""
    found = dict.fromkeys(
        row.name
        for one in standings
        if one.comparison is not None
        for row in one.comparison.statistics
    )
    return _SHOWN if not found or _SHOWN[0] in found else list(found)[: len(_SHOWN)]


#: Why statistics have no effects.
LEFT_OUT = "overruns hide how high they are"


def effects_table(found: BoardEffects) -> Table:
    """Lay out effects: each of a knob, or of several together, in a line."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("effect", overflow="fold")
    names = list(found.effects[0].ratios) if found.effects else []
    for name in (*names, "p"):
        table.add_column(Text(plain(name, 40)), justify="right", no_wrap=True)
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
    if found.left_out:
        table.add_row(Text(f"left out: {', '.join(found.left_out)} ({LEFT_OUT})", style="dim"))
    return table


def _cell(row: StatisticRow | None) -> str:
    return "–" if row is None or row.ratio is None else percent_text(row.ratio)
