"""A quantile of one run, with an interval that allows for dependence and for overruns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from whylate.stats.limits import binomial_limits
from whylate.stats.run.cpu_series import CpuSeries, TimeBlocks
from whylate.stats.run.dependence import Dependence, estimate_dependence, more_dependent
from whylate.stats.run.ordered import Ordered

#: A quantile is refused with fewer expected exceedances than this.
EXCEEDANCES = 10
#: Effective exceedances from which the lower limit of their number is at least one.
_EFFECTIVE_EXCEEDANCES = 3.7
#: With fewer exceedances than this, dependence is also read at a lower threshold.
_EVENTS_THAT_SHOW = 50
#: Resolution of printed values: three digits, in their coarsest place.
_PRINTED = 200
#: Ties at a quantile that do not matter, as a part of what lies on either side of it.
_FEW_TIES = 0.05
#: Where no more than one row in so many exceeds a value, the rows are looked up, not counted.
_RARE = 64

Refusal = Literal["few", "dependent", "overruns"]


@dataclass(frozen=True)
class Quantile:
    """A quantile in ns with its interval, or why there is none.

    value_ns: an order statistic; None where refused ("few", "dependent").
    low_ns, high_ns: limits; high_ns is None also where overruns leave no upper bound
    ("overruns"). at_least: the overruns below value_ns, were they longer, would raise it
    by more than a two-hundredth, which is what is printed of it.
    effective_n: effective rows behind the interval. needed_n: rows that would probably do.
    """

    value_ns: int | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    at_least: bool = False
    effective_n: float | None = None
    lacking: Refusal | None = None
    needed_n: int | None = None


def estimate_quantile(
    ordered: Ordered,
    series: Sequence[CpuSeries],
    blocks: TimeBlocks,
    q: Fraction,
    confidence: float = 0.95,
    most: Sequence[CpuSeries] | None = None,
) -> Quantile:
    """Estimate the q-quantile of latency (0 < q < 1) of these series together.

    Estimates the value that a fraction q of activations does not exceed, in this run's
    conditions (this boot, this placement): the plain order statistic, ceil(q n), overruns at
    their bound. Its bias is of order 1 / n. The interval inverts limits for the fraction of
    activations above it (Woodruff 1952, JASA 47): Clopper-Pearson on effective counts (Korn
    and Graubard 1998), mapped back through the order statistics. The lower end takes overruns
    at their bound, the upper end takes them as infinite.

    most: the same rows at the most that each can be, where some are known by two bounds; the
    lower end takes the rows of series, the upper end these.

    Refused: fewer than 10 expected exceedances ("few"), or so few independent ones that an
    upper limit would lie beyond the largest value ("dependent").
    """
    n = ordered.n
    rare = min(q, 1 - q)
    needed_n = math.ceil(EXCEEDANCES / rare)
    if n < needed_n:
        return Quantile(lacking="few", needed_n=needed_n)

    index = math.ceil(q * n) - 1
    low_value = ordered.at_least(index)
    high_value = ordered.at_most(index)
    low_found = _dependence_at(blocks, series, ordered, low_value, overruns_exceed=False)
    high_found = low_found
    if ordered.overruns or most is not None:
        # An unknown order statistic lies above all known ones: overruns are what exceeds them.
        known = ordered.known
        threshold = known.at(known.n - 1) if known.n else low_value
        threshold = threshold if high_value is None else high_value
        high_found = _dependence_at(
            blocks, series if most is None else most, ordered, threshold, overruns_exceed=True
        )

    for near in _neighbours(n, q):
        # Ten events can look independent by chance: they are held to what more events show,
        # and to the clusters further out, for which the quantile may lie too low by chance.
        near_found = _dependence_at(
            blocks, series, ordered, ordered.at_least(near), overruns_exceed=bool(ordered.overruns)
        )
        low_found, high_found = low_found.at_least(near_found), high_found.at_least(near_found)

    above = float(1 - q)
    dependent = more_dependent(low_found, high_found)
    effective_n = n / dependent.design_effect
    fewest = effective_n * float(rare)
    if binomial_limits(fewest, effective_n, confidence)[0] * effective_n < 1:
        more = math.ceil(n * max(1.01, _EFFECTIVE_EXCEEDANCES / fewest))
        return Quantile(lacking="dependent", needed_n=more, effective_n=effective_n)

    low_n, high_n = n * low_found.deflate(confidence), n * high_found.deflate(confidence)
    most_above = binomial_limits(low_n * above, low_n, confidence)[1]
    least_above = binomial_limits(high_n * above, high_n, confidence)[0]
    low_index = max(0, n - 1 - math.floor(n * most_above))
    high_index = min(n - 1, n - max(1, math.floor(n * least_above)))
    high_ns = ordered.at_most(high_index)
    return Quantile(
        value_ns=low_value,
        low_ns=ordered.at_least(low_index),
        high_ns=high_ns,
        at_least=high_value is None or high_value - low_value > abs(low_value) / _PRINTED,
        effective_n=effective_n,
        lacking="overruns" if high_ns is None else None,
    )


def _neighbours(n: int, q: Fraction) -> list[int]:
    """Order statistics whose dependence is also looked at where few events exceed the quantile.

    Those with 50 and with half as many events beyond them.
    """
    events = math.floor(n * min(q, 1 - q))
    if events >= _EVENTS_THAT_SHOW or n < 2 * _EVENTS_THAT_SHOW:
        return []
    beyond = [_EVENTS_THAT_SHOW, events // 2]
    return [n - 1 - count if 2 * q > 1 else count for count in beyond]


def _dependence_at(
    blocks: TimeBlocks,
    series: Sequence[CpuSeries],
    ordered: Ordered,
    value_ns: int,
    *,
    overruns_exceed: bool,
) -> Dependence:
    """Dependence of the indicator of exceeding value_ns, counted over all series in time.

    With a coarse clock many rows may equal value_ns: then "above" and "at or above" are two
    indicators, either of which may be nearly constant, and the more dependent one is taken.
    """

    def counted(limit_ns: int) -> Dependence:
        sure = ordered.known if overruns_exceed else ordered.bound
        if (ordered.n - sure.count_below(limit_ns + 1)) * _RARE <= ordered.n:
            rows = [cpu.exceeding(limit_ns, overruns=overruns_exceed)[0] for cpu in series]
            return estimate_dependence(blocks.count(rows), blocks.totals)
        counts = blocks.count_above(series, limit_ns, overruns=overruns_exceed)
        return estimate_dependence(counts, blocks.totals)

    above = counted(value_ns)
    first, end = ordered.bound.count_below(value_ns), ordered.bound.count_below(value_ns + 1)
    if end - first <= _FEW_TIES * min(first, ordered.n - end):
        return above
    return more_dependent(above, counted(value_ns - 1))
