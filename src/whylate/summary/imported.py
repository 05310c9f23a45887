"""What is known of a run that another tool made, and what becomes of a limit on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import msgspec
import numpy as np

from whylate.quantities import format_count, format_short_ns
from whylate.recording.imported.executions.model import Executions
from whylate.recording.imported.model import ImportedRun
from whylate.recording.imported.recording import About, ImportedRecording
from whylate.stats.limits import binomial_limits
from whylate.stats.run.ordered import Ordered, order_counted
from whylate.stats.run.quantiles import EXCEEDANCES
from whylate.summary.executions import (
    ExecutionsSummary,
    count_executions,
    summarize_executions,
)
from whylate.summary.model import Estimate, Requirement
from whylate.summary.quantiles import QUANTILES
from whylate.summary.requirements import LatencyLimit, RateLimit, parse_requirement

_CONFIDENCE = 0.95


class ImportedSummary(msgspec.Struct, frozen=True):
    """Everything that is printed of an imported run. Times are in ns.

    activations: overflow among them; None where only a mean and a maximum were kept. latency_ns:
    as in Figures, without intervals. mean_ns: what the mean is at least, and mean_most_ns at most;
    None where it was not kept. no_intervals: why there are
    none.
    """

    recording: str
    about: About
    activations: int | None
    latency_ns: dict[str, Estimate]
    mean_ns: float | None
    mean_most_ns: float | None
    no_intervals: str
    requirements: list[Requirement]


class NumbersSummary(msgspec.Struct, frozen=True):
    """What is printed of imported numbers, in about.unit; sd: with n - 1, None of one alone."""

    recording: str
    about: About
    n: int
    smallest: float
    median: float
    mean: float
    largest: float
    sd: float | None


def summarize_imported(
    imported: ImportedRecording, requirements: Sequence[str] = ()
) -> ImportedSummary | NumbersSummary | ExecutionsSummary:
    """Return what is known; limits are of latencies, and of all else none is judged."""
    data = imported.data
    if isinstance(data, Executions):
        return summarize_executions(imported, count_executions(data, str(imported.directory)))
    if not isinstance(data, ImportedRun):
        values = np.array(data.values)
        return NumbersSummary(
            str(imported.directory), imported.about, values.size, float(values.min()),
            float(np.median(values)), float(values.mean()), float(values.max()),
            float(values.std(ddof=1)) if values.size > 1 else None,
        )  # fmt: skip
    ordered = ordered_of(data)
    estimates = _estimates(data, ordered)
    return ImportedSummary(
        recording=str(imported.directory),
        about=imported.about,
        activations=ordered.n if ordered is not None else data.activations,
        latency_ns=estimates,
        mean_ns=data.average_ns,
        mean_most_ns=None if data.average_ns is None else data.average_ns + data.average_cut_ns,
        no_intervals=_no_intervals(data),
        requirements=[_judge(text, data, ordered, estimates) for text in requirements],
    )


def _no_intervals(run: ImportedRun) -> str:
    """Say why no figure has an interval: it takes how late activations cluster in time."""
    if run.latency_ns is None:
        return "they take all latencies"
    if run.ordered:
        return "when each of its activations was due, and which were missed, is not known"
    return "the order in which its latencies came is not known"


def ordered_of(run: ImportedRun) -> Ordered | None:
    """Sort latencies, those beyond the histogram's end at the largest within it.

    None where there are none.
    """
    if run.latency_ns is None or run.counts is None or not run.n:
        return None
    return order_counted(run.latency_ns, run.counts, run.overflow)


def _estimates(run: ImportedRun, ordered: Ordered | None) -> dict[str, Estimate]:
    """Return the quantiles that there are enough activations for, and the maximum."""

    def estimate(name: str, q: Fraction) -> Estimate:
        if ordered is None:
            return _printed(run, name, q)
        needed_n = math.ceil(EXCEEDANCES / min(q, 1 - q))
        if ordered.n < needed_n:
            return Estimate(None, None, None, reason=_needs(name, needed_n, ordered.n))
        index = math.ceil(q * ordered.n) - 1
        at_least = ordered.at_most(index) is None
        return Estimate(ordered.at_least(index), None, None, at_least=at_least)

    by_name = {name: estimate(name, q) for name, q in QUANTILES.items()}
    return by_name | {"max": _maximum(run, ordered)}


def _printed(run: ImportedRun, name: str, q: Fraction) -> Estimate:
    """Return a quantile that the tool printed itself; it is refused of too few activations."""
    value_ns = dict(run.quantiles_ns).get(name)
    if value_ns is None:
        what = f"no {name}" if run.quantiles_ns else "no latency but the largest"
        return Estimate(None, None, None, reason=f"{run.tool} kept {what}")
    needed_n = math.ceil(EXCEEDANCES / min(q, 1 - q))
    if run.activations is not None and run.activations < needed_n:
        return Estimate(None, None, None, reason=_needs(name, needed_n, run.activations))
    return Estimate(round(value_ns), None, None)


def _needs(name: str, needed_n: int, n: int) -> str:
    return (
        f"{name} needs {EXCEEDANCES} activations beyond it, that is {format_count(needed_n)} "
        f"activations; there are {format_count(n)}"
    )


def _maximum(run: ImportedRun, ordered: Ordered | None) -> Estimate:
    if run.max_ns is not None:
        return Estimate(round(run.max_ns), None, None, at_least=run.overruns > 0)
    if ordered is None:
        return Estimate(None, None, None, reason=f"{run.tool} kept no maximum")
    largest = ordered.at_least(ordered.n - 1)
    return Estimate(largest, None, None, at_least=run.overflow > 0)


def _judge(
    text: str, run: ImportedRun, ordered: Ordered | None, estimates: dict[str, Estimate]
) -> Requirement:
    """Judge a limit: what is seen can break it, and what such a file lacks lets none be kept.

    A quantile breaks its limit where more activations are beyond the limit than it allows, by
    Clopper and Pearson's lower limit for independent ones (95 %), those beyond the histogram's end
    at that end. To pass takes an interval, and an account of every activation: neither is known.
    """
    limit = parse_requirement(text)
    verdict: Literal["fail", "no verdict"] = "no verdict"
    if isinstance(limit, RateLimit):
        why = "How often something comes takes when it came, and that is not known."
        return Requirement(limit.text, verdict, why)
    estimate = estimates[limit.statistic]
    if estimate.value is None:
        return Requirement(limit.text, verdict, f"Not known: {estimate.reason}.")
    sign = "at least " if estimate.at_least else ""
    value = f"{sign}{format_short_ns(estimate.value)}"
    why = f"{limit.statistic} is {value}"
    broken = not limit.holds(estimate.value)
    if limit.statistic == "max":
        verdict = "fail" if broken else verdict
        why = (
            f"The largest latency is {value}."
            if broken
            else (f"{why}, but no run can prove a maximum.")
        )
    elif broken and ordered is not None and _too_many(ordered, limit):
        verdict = "fail"
        why += ", by more than chance would have it were its activations independent."
    elif broken:
        why += ": too near to tell."
    else:
        lacks = run.lacks[-1] if run.lacks else "what a verdict would take"
        why += f", which does not pass, for the run lacks {lacks}."
    return Requirement(limit.text, verdict, why)


def _too_many(ordered: Ordered, limit: LatencyLimit) -> bool:
    # The first that breaks it, in whole nanoseconds.
    first_ns = limit.limit_ns + 1 if limit.inclusive else limit.limit_ns
    beyond = ordered.n - ordered.bound.count_below(first_ns)
    allowed = float(1 - QUANTILES[limit.statistic])
    return binomial_limits(beyond, ordered.n, _CONFIDENCE)[0] > allowed


def verdict_of(requirements: Sequence[Requirement]) -> str:
    """Join what became of the limits: "fail", "no verdict", or "pass" where none was asked."""
    verdicts = {requirement.verdict for requirement in requirements}
    return "fail" if "fail" in verdicts else "no verdict" if verdicts else "pass"
