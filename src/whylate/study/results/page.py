"""A study's page: for each board and load its verdicts, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whylate.recording.errors import DiskError
from whylate.report.page.comparison import EffectLine, Effects, Group, render, write
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

    effects: of each board and load, where the study is of factors.
    """
    of = {(one.board, one.load): _effects(one) for one in effects}
    groups = []
    for board in plan.boards:
        standings = [evidence.standing(key, done) for key in evidence.keys(board)]
        for load in plan.loads:
            found = [
                one.comparison for one in standings if one.key.load == load.name and one.comparison
            ]
            arms = evidence.arms(board, load.name, done)
            if arms:
                title = f"{board}, {load.name}"
                groups.append(Group(title, arms, found, of.get((board, load.name))))
    variants = [f"{one.name}: {_knobs(one.knobs)}" for one in plan.variants]
    made = max((one.started for one in done), default="")
    path = directory / PAGE
    try:
        write(path, render(f"Study {directory.name}", variants, made, groups))
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _effects(found: BoardEffects) -> Effects:
    """Return effects as the page shows them: knobs by letters, A×B for what both do together."""
    if found.why_not is not None:
        return Effects([], [], found.why_not)
    letters = {
        one.knobs[0]: chr(ord("A") + n)
        for n, one in enumerate(one for one in found.effects if len(one.knobs) == 1)
    }
    names = ["×".join(letters[knob] for knob in one.knobs) for one in found.effects]
    lines = [
        EffectLine(name, "; ".join(one.knobs), p_text(one.p), one.p <= ALPHA)
        for name, one in zip(names, found.effects, strict=True)
    ]
    if found.left_out:
        names_left = ", ".join(found.left_out)
        lines.append(EffectLine("", f"left out: {names_left} ({LEFT_OUT})", "", clear=False))
    shown = [name for name in _PLOTTED if name in found.effects[0].ratios]
    plots = [_plot(statistic, names, found.effects) for statistic in shown]
    return Effects(lines, [plot for plot in plots if plot is not None])


def _plot(statistic: str, names: Sequence[str], effects: Sequence[Effect]) -> Forest | None:
    rows = []
    for name, one in zip(names, effects, strict=True):
        ratio, low, high = one.ratios[statistic]
        rows.append(Ratio(name, ratio, low, high, one.p <= ALPHA and not low <= 1 <= high))
    return forest(f"{statistic}: what each makes of it", rows)


def _knobs(knobs: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in knobs.items()) or "as found"
