"""Write the page of a study: for each board and load its verdicts and the runs behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whylate.report.page.comparison import EffectLine, Effects, Group, render
from whylate.report.page.render import write_or_say
from whylate.report.plots.forest import Forest, Ratio, forest
from whylate.report.terminal.comparison import p_text
from whylate.study.model import FinishedRun, StudyPlan
from whylate.study.results.effects import BoardEffects, Effect
from whylate.study.results.evidence import ALPHA, Evidence
from whylate.study.results.table import LEFT_OUT

PAGE = "report.html"
#: Statistics whose effects are plotted.
_PLOTTED = ("p50", "p99", "p99.9", "max")


def write_page(
    directory: Path,
    plan: StudyPlan,
    evidence: Evidence,
    done: Sequence[FinishedRun],
    effects: Sequence[BoardEffects],
) -> Path:
    """Write the page into the study's directory and return it; raises RecordingError, DiskError.

    effects: of each board and load, for a study of factors.
    """
    by_board = {(item.board, item.load): _effects(item) for item in effects}
    groups = []
    for board in plan.boards:
        standings = [evidence.standing(key, done) for key in evidence.keys(board)]
        for load in plan.loads:
            comparisons = [
                standing.comparison
                for standing in standings
                if standing.key.load == load.name and standing.comparison is not None
            ]
            arms = evidence.arms(board, load.name, done)
            if arms:
                title = f"{board}, {load.name}"
                groups.append(Group(title, arms, comparisons, by_board.get((board, load.name))))
    variants = [f"{variant.name}: {_knobs(variant.knobs)}" for variant in plan.variants]
    made = max((run.started for run in done), default="")
    path = directory / PAGE
    write_or_say(path, render(f"Study {directory.name}", variants, made, groups))
    return path


def _effects(estimated: BoardEffects) -> Effects:
    """Return effects as the page shows them: A, B for knobs, A×B for their interaction."""
    if estimated.why_not is not None:
        return Effects([], [], estimated.why_not)
    single = [effect.knobs[0] for effect in estimated.effects if len(effect.knobs) == 1]
    symbols = {knob: chr(ord("A") + number) for number, knob in enumerate(single)}
    names = ["×".join(symbols[knob] for knob in effect.knobs) for effect in estimated.effects]
    lines = [
        EffectLine(name, "; ".join(effect.knobs), p_text(effect.p), effect.p <= ALPHA)
        for name, effect in zip(names, estimated.effects, strict=True)
    ]
    if estimated.left_out:
        text = f"left out: {', '.join(estimated.left_out)} ({LEFT_OUT})"
        lines.append(EffectLine("", text, "", clear=False))
    shown = [name for name in _PLOTTED if name in estimated.effects[0].ratios]
    plots = [_plot(statistic, names, estimated.effects) for statistic in shown]
    return Effects(lines, [plot for plot in plots if plot is not None])


def _plot(statistic: str, names: Sequence[str], effects: Sequence[Effect]) -> Forest | None:
    rows = []
    for name, effect in zip(names, effects, strict=True):
        ratio, low, high = effect.ratios[statistic]
        rows.append(Ratio(name, ratio, low, high, effect.p <= ALPHA and not low <= 1 <= high))
    return forest(f"{statistic}: ratio of each effect", rows)


def _knobs(knobs: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in knobs.items()) or "as found"
