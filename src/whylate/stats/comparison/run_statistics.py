"""What a run is compared by: logarithms of a few statistics of all its latencies.

No single one has power against everything that can change: the median shows a new path, p99.9 a
tail that comes more often, the mean logarithm of the top ten a tail that reaches further, and the
maximum a rare new mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.run.ordered import Ordered
from whylate.stats.run.quantiles import EXCEEDANCES

#: So many of the largest are taken together.
TOP = 10
#: Standard deviations of a beta distribution beyond which its weights are left out.
_FAR = 25.0


@dataclass(frozen=True)
class Statistic:
    """Something that each run has one of.

    least_n: the activations that a run needs for it. q: of which quantile; None: of none. weight:
    what it counts in the joint test. grows: that it grows with the length of a run. least_runs:
    with fewer a side it is refused. unit: of its values; None: that of the comparison.
    higher_is_better: of rates. quantity: what it is, where runs may have several things of one
    name.
    """

    name: str
    least_n: int = 1
    q: Fraction | None = None
    weight: float = 1.0
    grows: bool = False
    least_runs: int = 1
    unit: str | None = None
    higher_is_better: bool = False
    quantity: str = ""


def _quantile(name: str, q: Fraction, weight: float = 1.0) -> Statistic:
    return Statistic(name, math.ceil(EXCEEDANCES / min(q, 1 - q)), q, weight)


# The median differs little from run to run, so that what it shows, it shows clearly: that it counts
# less costs it little, and leaves more to the tail. Of the others the mean of the ten latest has
# most power against a tail that reaches further, and what the rest count keeps it so
# (bench/calibrate_compare.py has the figures). With 0.6, a p99 three times
# as high, in real runs whose maxima spread, was not called in half of the comparisons.
P50 = _quantile("p50", Fraction(1, 2), 0.6)
P99 = _quantile("p99", Fraction(99, 100), 0.85)
P99_9 = _quantile("p99.9", Fraction(999, 1000), 0.9)
P99_99 = _quantile("p99.99", Fraction(9999, 10000), 0.95)
TOP_10 = Statistic("top 10", 2 * TOP, grows=True)
MAX = Statistic("max", 2 * TOP, weight=0.95, grows=True)

#: Those that can be shown to be the same: two maxima never are.
MAY_BE_SAME = (P50.name, P99.name, P99_9.name, P99_99.name)
#: What the joint test looks at, from the body outwards.
STATISTICS = (P50, P99, P99_9, P99_99, TOP_10, MAX)
#: Up to here order statistics round a quantile are averaged; further out they spread too far.
_AVERAGED = Fraction(999, 1000)


@dataclass(frozen=True)
class Value:
    """A statistic of one run.

    compared: as it is compared, with everything as small as it can be; of latencies the natural
    logarithm of ns. most: the same with everything as large as it can be; inf: there is no bound.
    """

    compared: float
    most: float

    @property
    def at_least(self) -> bool:
        """Whether it may be higher than it is compared as: overruns may have been longer."""
        return self.most > self.compared


def exact_value(compared: float) -> Value:
    """Return the value of a statistic that is known in full."""
    return Value(compared, compared)


def statistic_of(ordered: Ordered, statistic: Statistic) -> Value | None:
    """Return a statistic of a run's latencies, overruns at their bound.

    None where the run has too few activations for it, or where it is no time: a latency may be
    zero or negative, and then has no logarithm.
    """
    if ordered.n < statistic.least_n:
        return None
    if statistic.q is None:
        count = TOP if statistic is TOP_10 else 1
        n = ordered.n
        if ordered.at_least(n - count) <= 0:
            return None
        least = float(np.log(ordered.bound.part(n - count, n)).mean())
        if ordered.overruns:
            return Value(least, math.inf)
        return Value(least, float(np.log(ordered.known.part(n - count, n)).mean()))
    index = math.ceil(statistic.q * ordered.n) - 1
    if statistic.q > _AVERAGED:
        value = float(ordered.at_least(index))
    else:
        value = _harrell_davis(ordered, float(statistic.q))
    if value <= 0:
        return None
    least_ns, most_ns = ordered.at_least(index), ordered.at_most(index)
    compared = math.log(value)
    if most_ns is None or least_ns <= 0:
        return Value(compared, math.inf)
    return Value(compared, compared + math.log(most_ns / least_ns))


def harrell_davis(ascending: Int64s | Floats, q: float) -> float:
    """Return the q-quantile of sorted values: a mean of the order statistics round it.

    Harrell and Davis (1982), Biometrika 69: the expectation of the order statistic (n + 1) q,
    estimated; its weights are those of a beta distribution.
    """
    if not len(ascending):
        raise ValueError("no values have no quantile")
    first, end = _averaged(len(ascending), q)
    return _mean_of(
        np.asarray(ascending[first:end], np.float64), np.arange(first, end + 1), len(ascending), q
    )


def _harrell_davis(ordered: Ordered, q: float) -> float:
    """Return the same of latencies, of which equal ones may be one value."""
    first, end = _averaged(ordered.n, q)
    values, ends = ordered.bound.stretches(first, end)
    return _mean_of(np.asarray(values, np.float64), np.append(first, ends), ordered.n, q)


def _averaged(n: int, q: float) -> tuple[int, int]:
    """Return the first of the order statistics that count, and the end of them."""
    a, b = (n + 1) * q, (n + 1) * (1 - q)
    spread = _FAR * math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    return max(0, math.floor((q - spread) * n)), min(n, math.ceil((q + spread) * n) + 1)


def _mean_of(values: Floats, edges: Int64s, n: int, q: float) -> float:
    """Return the mean of values; edges: shape (values + 1,), from which order statistic on."""
    from scipy.special import betainc

    weights = np.diff(betainc((n + 1) * q, (n + 1) * (1 - q), edges / n))
    return float(values @ weights / weights.sum())
