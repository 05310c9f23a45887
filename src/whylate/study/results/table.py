"""Tables of a study on the terminal: its comparisons and its effects."""

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


#: Why statistics have no effects.
LEFT_OUT = "right-censored by overruns"


def standings_table(rows: Iterable[tuple[Standing, int]]) -> Table:
    """Lay out the state of comparisons, each with the most rounds that it may take."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    rows = list(rows)
    shown = _shown([standing for standing, _ in rows])
    for heading in ("board", "load", "variant", "rounds", *shown, ""):
        table.add_column(Text(plain(heading, 40)), overflow="fold",
                         justify="right" if heading in ("rounds", *shown) else "left")  # fmt: skip
    for standing, most in rows:
        comparison = standing.comparison
        figures = {row.name: row for row in comparison.statistics} if comparison else {}
        verdict = Text("…")
        if comparison is not None and standing.over:
            verdict = Text(comparison.verdict, style=STYLES[comparison.verdict])
        table.add_row(
            Text(plain(standing.key.board, 30)),
            Text(plain(standing.key.load, 40)),
            Text(plain(standing.key.variant, 40)),
            str(standing.rounds) if standing.over else f"{standing.rounds} of {most}",
            *(_cell(figures.get(name)) for name in shown),
            verdict,
        )
    return table


def _shown(standings: Sequence[Standing]) -> Sequence[str]:
    """Return the statistics that have a column: a fixed few of latencies, the first of points."""
    names = dict.fromkeys(
        row.name
        for standing in standings
        if standing.comparison is not None
        for row in standing.comparison.statistics
    )
    return _SHOWN if not names or _SHOWN[0] in names else list(names)[: len(_SHOWN)]


def effects_table(effects: BoardEffects) -> Table:
    """Lay out effects in two lines each: ratios, and their intervals."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("effect", overflow="fold")
    names = list(effects.effects[0].ratios) if effects.effects else []
    for name in (*names, "p"):
        table.add_column(Text(plain(name, 40)), justify="right", no_wrap=True)
    for effect in effects.effects:
        ratios = effect.ratios.values()
        table.add_row(
            Text(plain(" × ".join(effect.knobs), 100), style="bold" if effect.p <= ALPHA else ""),
            *(percent_text(ratio) for ratio, _, _ in ratios),
            p_text(effect.p),
        )
        intervals = (f"{percent_text(low)} … {percent_text(high)}" for _, low, high in ratios)
        table.add_row("", *(Text(interval, style="dim") for interval in intervals), "")
    if effects.left_out:
        text = f"left out: {', '.join(effects.left_out)} ({LEFT_OUT})"
        table.add_row(Text(text, style="dim"))
    return table


def _cell(row: StatisticRow | None) -> str:
    return "–" if row is None or row.ratio is None else percent_text(row.ratio)
