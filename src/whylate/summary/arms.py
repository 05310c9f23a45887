"""What an experiment on executions shows: was the treatment applied, and what does it change?"""

from __future__ import annotations

import msgspec
import numpy as np

from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.recording.sections import ArmReport
from whylate.recording.store.executions import ExecutionFile, Executions
from whylate.recording.treatments import Treatment
from whylate.recording.waits import bin_edges
from whylate.stats.executions import arms as stats

#: Executions that an arm needs.
FEWEST = 50
#: Of the reads before treated executions fewer may find no memory there.
_MOST_FAILED = 0.05
#: What checks a walk.
_WALKED: dict[Treatment, str] = {"code": "calling functions", "tlb": "touching pages"}


class Bounded(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval; None where nothing bounds it."""

    value: float
    low: float | None
    high: float | None

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class ArmFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Executions of an arm.

    entries: were drawn for it; returned: of those; rows: have a duration. failed: the part of the
    reads that found no memory there. reading_ns: how long reading took before one, the median.
    median_ns, longer (than twice the placebo's median), excess_ns an execution: None without rows.
    """

    name: str
    entries: int
    returned: int
    rows: int
    failed: float
    reading_ns: Bounded | None
    median_ns: float | None = None
    longer: int | None = None
    excess_ns: float | None = None


class ExperimentFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Treated executions against those of the placebo.

    reads: lines of 64 bytes that are read, or flushed, before each; or functions, or pages.
    not_applied: why nothing is compared: the treatment was surely not applied, or there are too few
    executions; None: it was.
    median_ns, excess_ns: treated minus placebo; limit_ns: twice the placebo's median. share: the
    part of the excess that goes away by the treatment, below 0 where there is more.
    """

    treatment: Treatment
    reads: int
    arms: list[ArmFigures]
    not_applied: str | None
    limit_ns: float | None = None
    median_ns: Bounded | None = None
    excess_ns: Bounded | None = None
    share: Bounded | None = None


def experiment_figures(
    treatment: Treatment | None, reports: list[ArmReport], file: ExecutionFile | None, seed: int
) -> ExperimentFigures | None:
    """Return what an experiment shows; None of a run without one, or one that broke off.

    Raises RecordingError.
    """
    if treatment is None or file is None or len(reports) < 2:
        return None
    executions = file.arms(seed)
    arms = [_arm(*pair) for pair in zip(reports, executions, strict=True)]
    reason = _not_applied(treatment, arms)
    figures = ExperimentFigures(
        treatment=treatment, reads=reports[0].reads, arms=arms, not_applied=reason
    )
    if reason is not None:
        return figures
    placebo, treated = (stats.Arm(each.began_ns, each.duration_ns) for each in executions)
    compared = stats.compare_arms(placebo, treated, seed)
    sides = (compared.placebo, compared.treated)
    return msgspec.structs.replace(
        figures,
        arms=[_with_durations(*pair) for pair in zip(arms, sides, strict=True)],
        limit_ns=compared.limit_ns,
        median_ns=_bounded(compared.median_ns),
        excess_ns=_bounded(compared.excess_ns),
        share=_bounded(compared.share) if compared.share is not None else None,
    )


def _arm(report: ArmReport, executions: Executions) -> ArmFigures:
    reads = report.entries * report.reads
    reading = None
    if report.bins:
        edges = np.array([bin_edges(part.bin) for part in report.bins], np.int64)
        counts = np.array([part.count for part in report.bins], np.int64)
        reading = _bounded(stats.median_of_bins(edges[:, 0], edges[:, 1], counts))
    return ArmFigures(
        name="treated" if report.treated else "placebo",
        entries=report.entries,
        returned=report.returned,
        rows=executions.duration_ns.size,
        failed=report.failed / reads if reads else 0.0,
        reading_ns=reading,
    )


def _with_durations(arm: ArmFigures, figures: stats.ArmFigures) -> ArmFigures:
    return msgspec.structs.replace(
        arm, median_ns=figures.median_ns, longer=figures.longer, excess_ns=figures.excess_ns
    )


def _bounded(estimate: stats.Bounded) -> Bounded:
    return Bounded(estimate.value, estimate.low, estimate.high)


def _not_applied(treatment: Treatment, arms: list[ArmFigures]) -> str | None:
    """Return why a treatment was surely not applied, or cannot be judged (manipulation check)."""
    placebo, treated = arms
    fewest = min(arm.rows for arm in arms)
    if fewest < FEWEST:
        return (
            f"an arm has {format_count(fewest)} executions with a row, and needs {FEWEST}: make a "
            "longer run"
        )
    if treated.failed > _MOST_FAILED:
        return (
            f"{format_percent(treated.failed)} of the reads before treated executions found no "
            "memory there"
        )
    hot, cold = placebo.reading_ns, treated.reading_ns
    if hot is None or cold is None or hot.high is None or cold.low is None:
        return "how long reading took is not known"
    if cold.low <= hot.high:
        times = f"{format_short_ns(round(cold.value))} and {format_short_ns(round(hot.value))}"
        if treatment in _WALKED:
            return (
                f"{_WALKED[treatment]} took no surely longer time after a walk than after its "
                f"placebo ({times}): this board models no such caches, or they are as large"
            )
        if treatment == "flush":
            return (
                "reading the code took no surely longer time after it was flushed than after "
                f"other memory was ({times}): it was not flushed, or this board models no caches"
            )
        what = (
            "the code was in the caches already"
            if treatment == "prefetch"
            else "memory is as quick as the caches here"
        )
        return (
            "reading other lines took no surely longer time than reading one line again and again "
            f"({times}): {what}, or this board models no caches"
        )
    return None
