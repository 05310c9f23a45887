"""Effects of the knobs of a study, and their interactions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from whylate.compare.cautions import distrust
from whylate.compare.hits import unmet_demands
from whylate.compare.runs import Arm, lacking
from whylate.stats.comparison.factorial import combinations_of, fit_effects
from whylate.study.model import Factor, FinishedRun, StudyPlan
from whylate.study.results.evidence import Evidence

_SEED = 7
#: The most by which overruns may raise a statistic that is used, as a logarithm.
_MAX_CENSORING = 0.01


class Effect(msgspec.Struct, frozen=True):
    """The effect of a knob, or the interaction of several.

    ratios: second setting to first with its 95 % interval, by statistic. p: over all statistics
    together, adjusted for all effects.
    """

    knobs: list[str]
    ratios: dict[str, tuple[float, float, float]]
    p: float


class BoardEffects(msgspec.Struct, frozen=True):
    """All effects on a board under a load; why_not: why there are none.

    left_out: statistics that are right-censored by overruns in some run.
    """

    board: str
    load: str
    rounds: int
    effects: list[Effect]
    why_not: str | None = None
    left_out: list[str] = []


def estimate_effects(
    plan: StudyPlan, evidence: Evidence, board: str, load: str, done: Sequence[FinishedRun]
) -> BoardEffects:
    """Estimate and test all effects, of whole rounds; raises RecordingError."""
    runs = evidence.runs(board, load, done)
    rounds = sorted(next(iter(runs.values())))
    arms = [Arm(name, tuple(by_round.values())) for name, by_round in runs.items()]
    if len(rounds) < 2:
        return BoardEffects(board, load, len(rounds), [], "at least two whole rounds are needed")
    together = Arm("all", tuple(run for arm in arms for run in arm.runs))
    bad = distrust(together, Arm("", ()))
    if bad is not None:
        return BoardEffects(board, load, len(rounds), [], bad)
    unmet = unmet_demands(arms, plan.hits)
    if unmet is not None:
        return BoardEffects(board, load, len(rounds), [], unmet)
    statistics = together.runs[0].statistics
    known = [item for item in statistics if lacking(item, together, together) is None]
    # A censored statistic would turn a stall into an effect, or hide one.
    used = [
        item
        for item in known
        if float((together.most(item.name) - together.compared(item.name)).max()) <= _MAX_CENSORING
    ]
    if not used:
        return BoardEffects(board, load, len(rounds), [], "no statistic is known of all runs")
    settings = combinations_of(len(plan.factors))
    estimates = fit_effects(
        np.array([[run.values[item.name].compared for item in used] for run in together.runs]),
        np.repeat(np.array(settings), len(rounds), axis=0),
        np.tile(np.array(rounds), len(settings)),
        np.array([item.weight for item in used]),
        np.random.default_rng(_SEED),
    )
    effects = []
    for number, knobs in enumerate(estimates.names):
        logs = zip(
            estimates.estimate[number], estimates.low[number], estimates.high[number], strict=True
        )
        ratios = {
            item.name: (math.exp(value), math.exp(low), math.exp(high))
            for item, (value, low, high) in zip(used, logs, strict=True)
        }
        names = [_factor_text(plan.factors[knob]) for knob in knobs]
        effects.append(Effect(names, ratios, float(estimates.adjusted[number])))
    left_out = [item.name for item in known if item not in used]
    return BoardEffects(board, load, len(rounds), effects, left_out=left_out)


def _factor_text(factor: Factor) -> str:
    return f"{factor.knob}: {factor.settings[0]} → {factor.settings[1]}"
