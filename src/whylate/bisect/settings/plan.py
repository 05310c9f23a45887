"""The plan of a bisection from that of a study with two variants."""

from __future__ import annotations

from whylate.bisect.outcome import statistic_of_workload
from whylate.bisect.settings.model import BisectPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.host_files import IMAGE
from whylate.study.model import StudyPlan

#: Fewer runs are not enough for both variants alone.
_FEWEST_RUNS = 40


def bisect_plan(study: StudyPlan, statistic: str | None, runs: int, margin: float) -> BisectPlan:
    """Return the plan; raises RequestError for a study that cannot be bisected."""
    if len(study.variants) != 2:
        raise RequestError(
            f"a bisection is between two variants, and the plan has {len(study.variants)}"
        )
    if len(study.loads) != 1:
        raise RequestError(f"a bisection has one set of loads, and the plan has {len(study.loads)}")
    if any(IMAGE in variant.knobs for variant in study.variants):
        raise RequestError("the variants have images: a bisection of settings changes knobs alone")
    if runs < _FEWEST_RUNS:
        raise RequestError(f"--runs {runs}: the two variants alone take up to {_FEWEST_RUNS} runs")
    if not 0 < margin < 0.5:
        raise RequestError(f"--margin {margin:g}: expected a part of the gap between 0 and 0.5")
    plan = BisectPlan(
        study=study,
        statistic=statistic_of_workload(study.workload, statistic),
        margin=margin,
        runs=runs,
    )
    if len(plan.items) < 2:
        raise RequestError(
            "the variants differ in one knob, which makes all of the difference: compare them with "
            "whylate study"
        )
    return plan
