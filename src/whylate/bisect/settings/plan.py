"""The plan of a bisection from that of a study with two variants."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.bisect.outcome import statistic_of_workload
from whylate.bisect.sets.limits import check_limits
from whylate.bisect.settings.model import BisectPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.host_files import IMAGE
from whylate.study.model import StudyPlan


def bisect_plan(
    study: StudyPlan,
    statistic: str | None,
    runs: int,
    margin: float,
    *,
    keep: Sequence[str] = (),
    pin: Sequence[str] = (),
) -> BisectPlan:
    """Return the plan; raises RequestError for a study that cannot be bisected.

    keep, pin: patterns of knobs that are not exchanged, and that are exchanged together.
    """
    if len(study.variants) != 2:
        raise RequestError(
            f"a bisection is between two variants, and the plan has {len(study.variants)}"
        )
    if any(IMAGE in variant.knobs for variant in study.variants):
        raise RequestError("the variants have images: a bisection of settings changes knobs alone")
    check_limits(study, runs, margin)
    plan = BisectPlan(
        study=study,
        statistic=statistic_of_workload(study.workload, statistic),
        margin=margin,
        runs=runs,
        keep=list(keep),
        pin=list(pin),
    )
    if len(plan.items) < 2 and (keep or pin):
        raise RequestError(
            "the patterns leave fewer than two settings to exchange: give others, or compare the "
            "variants with whylate study"
        )
    if len(plan.items) < 2:
        raise RequestError(
            "the variants differ in one knob, which makes all of the difference: compare them with "
            "whylate study"
        )
    return plan
