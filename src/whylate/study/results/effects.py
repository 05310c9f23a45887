"""What each knob of a study does, and what they do together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from whylate.compare.cautions import distrust
from whylate.compare.runs import Arm, lacking
from whylate.stats.comparison.factorial import combinations_of, fit_effects
from whylate.study.model import FinishedRun, StudyPlan
from whylate.study.results.evidence import Evidence

_SEED = 7
#: Logarithms by which overruns may raise a statistic all the same.
_HARDLY = 0.01


class Effect(msgspec.Struct, frozen=True):
    """What a knob does, or several together beyond what each does alone.

    ratios: by statistic what the second setting makes of the first, with its 95 % interval. p: over
    all statistics together, adjusted for all effects.
    """

    knobs: list[str]
    ratios: dict[str, tuple[float, float, float]]
    p: float


class BoardEffects(msgspec.Struct, frozen=True):
    """All effects on a board under a load; why_not: why there are none.

    left_out: statistics of which overruns hide how high they are in some run.
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
    """Estimate and test all effects of the whole rounds; raises RecordingError."""
    runs = evidence.runs(board, load, done)
    rounds = sorted(next(iter(runs.values())))
    arms = [Arm(name, tuple(of.values())) for name, of in runs.items()]
    if len(rounds) < 2:
        return BoardEffects(board, load, len(rounds), [], "two whole rounds are the least")
    together = Arm("all", tuple(run for arm in arms for run in arm.runs))
    bad = distrust(together, Arm("", ()))
    if bad is not None:
        return BoardEffects(board, load, len(rounds), [], bad)
    statistics = together.runs[0].statistics
    had = [one for one in statistics if lacking(one, together, together) is None]
    # What is only known to be at least so high would make an effect of a stall, or hide one.
    borne = [
        one
        for one in had
        if float((together.most(one.name) - together.compared(one.name)).max()) <= _HARDLY
    ]
    if not borne:
        return BoardEffects(board, load, len(rounds), [], "no statistic can be had of all runs")
    settings = combinations_of(len(plan.factors))
    found = fit_effects(
        np.array([[run.values[one.name].compared for one in borne] for run in together.runs]),
        np.repeat(np.array(settings), len(rounds), axis=0),
        np.tile(np.array(rounds), len(settings)),
        np.array([one.weight for one in borne]),
        np.random.default_rng(_SEED),
    )
    effects = []
    for number, chosen in enumerate(found.names):
        sizes = zip(found.estimate[number], found.low[number], found.high[number], strict=True)
        effects.append(
            Effect(
                [_said(plan, knob) for knob in chosen],
                {
                    one.name: (math.exp(value), math.exp(low), math.exp(high))
                    for one, (value, low, high) in zip(borne, sizes, strict=True)
                },
                float(found.adjusted[number]),
            )
        )
    left_out = [one.name for one in had if one not in borne]
    return BoardEffects(board, load, len(rounds), effects, left_out=left_out)


def _said(plan: StudyPlan, knob: int) -> str:
    one = plan.factors[knob]
    return f"{one.knob}: {one.settings[0]} → {one.settings[1]}"
