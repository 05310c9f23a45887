"""The generalised Pareto distribution: how latencies go on beyond a high threshold.

Whatever the distribution of latencies, what exceeds a threshold by how much comes close to this
one as the threshold rises (Pickands 1975, Annals of Statistics 3; Coles 2001, An Introduction to
Statistical Modeling of Extreme Values, chapter 4). That holds of one mechanism: it does not
hold for one that has not occurred yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.limits import fishers_p

#: No fit below it: from there on the likelihood has no maximum. From -1/2 on the usual theory of
#: its errors does not hold (Smith 1985, Biometrika 72).
_LEAST_SHAPE = -0.95
#: Values of shape / scale that are tried first, as parts of their limit below zero and, above it,
#: of 1 / mean excess.
_TRIED_BELOW = np.geomspace(0.999, 1e-3, 16)
_TRIED_ABOVE = np.geomspace(1e-3, 20, 24)
#: So many of the largest are held against what the others let expect: by twenty too, because a
#: mode that has ten itself hides among ten.
LARGEST = (10, 20)


@dataclass(frozen=True)
class Pareto:
    """Excesses over a threshold: survival is (1 + shape y / scale)^(-1 / shape).

    shape: above 0 a heavy tail, 0 exponential, below 0 a tail that ends at -scale / shape.
    scale_ns: above 0.
    """

    shape: float
    scale_ns: float

    def log_survival(self, excess_ns: Floats) -> Floats:
        """Return the logarithm of the chance that an excess is longer; -inf beyond the end."""
        if abs(self.shape) < 1e-9:
            return -excess_ns / self.scale_ns
        inside = np.maximum(1 + self.shape * excess_ns / self.scale_ns, 0)
        with np.errstate(divide="ignore"):
            log_chance: Floats = -np.log(inside) / self.shape
        return log_chance

    def exceeded_once_in(self, exceedances: float) -> float:
        """Return the excess that one of so many exceedances goes beyond, ns."""
        growth = math.log(exceedances)
        if abs(self.shape) < 1e-9:
            return self.scale_ns * growth
        return self.scale_ns * math.expm1(self.shape * growth) / self.shape

    def level_error(self, exceedances: float, fitted: int) -> float:
        """Return the standard error of exceeded_once_in, ns, were all that was fitted independent.

        fitted: so many excesses in all. From the expected information of shape and scale (Smith
        1985, Biometrika 72; shape above -1/2) and a Poisson count, by the delta method (Coles
        2001, section 4.3.3). Episodes that come in clusters, and runs that differ, only add to it.
        """
        shape, growth = self.shape, math.log(exceedances)
        if abs(shape) < 1e-6:
            by_shape, by_scale = self.scale_ns * growth * growth / 2, growth
        else:
            power = math.exp(shape * growth)
            by_shape = self.scale_ns * (power * (shape * growth - 1) + 1) / shape**2
            by_scale = (power - 1) / shape
        by_count = self.scale_ns * math.exp(shape * growth)
        variance = (
            (1 + shape) ** 2 * by_shape**2
            + 2 * (1 + shape) * (self.scale_ns * by_scale) ** 2
            - 2 * (1 + shape) * self.scale_ns * by_shape * by_scale
            + by_count**2
        )
        return math.sqrt(max(0.0, variance) / fitted)


def fit_pareto(excess_ns: Floats, largest: int = 0) -> Pareto:
    """Fit by maximum likelihood; the `largest` so many are only known to be longer than the next.

    excess_ns: shape (k,), above 0, in any order; k - largest is 10 at least, ValueError else.

    Davison and Smith (1990, JRSS B 52). With theta = shape / scale the likelihood of d = k -
    largest known excesses and of m censored ones at c is greatest in the shape at
    (sum log(1 + theta y) + m log(1 + theta c)) / d, which leaves one unknown (Grimshaw 1993,
    Technometrics 35, for m = 0). The shape is biased towards lighter tails, by about 3 / k. Not
    refused here for few excesses or a light tail: `whylate.stats.tail.return_level` has the limits.
    """
    from scipy.optimize import minimize_scalar

    known_ns = np.sort(excess_ns)
    end_ns = float(known_ns[-1])
    if largest:
        known_ns = known_ns[:-largest]
        end_ns = float(known_ns[-1]) if len(known_ns) else 0.0
    if len(known_ns) < 10:
        raise ValueError("a tail is fitted to 10 known excesses at least")

    def shape_of(ratio: Floats) -> Floats:
        total = np.log1p(np.multiply.outer(ratio, known_ns)).sum(axis=-1)
        shape: Floats = (total + largest * np.log1p(ratio * end_ns)) / len(known_ns)
        return shape

    def misfit(ratio: Floats) -> Floats:
        shape = shape_of(ratio)
        total = shape * len(known_ns) - largest * np.log1p(ratio * end_ns)
        misfits: Floats = len(known_ns) * (np.log(shape / ratio) + 1) + total
        return np.where(shape < _LEAST_SHAPE, np.inf, misfits)

    tried = np.concatenate((-_TRIED_BELOW / end_ns, _TRIED_ABOVE / known_ns.mean()))
    best = int(np.argmin(misfit(tried)))
    between = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
    # A ratio of 0, the exponential, is not evaluated: the search only comes near it.
    ratio = np.array(
        minimize_scalar(
            lambda ratio: float(misfit(np.array(ratio))),
            bounds=between,
            method="bounded",
            options={"xatol": 1e-6 * (between[1] - between[0])},
        ).x
    )
    shape = float(shape_of(ratio))
    return Pareto(shape, shape / float(ratio))


def second_mode_p(excess_ns: Floats, largest: int) -> float:
    """Return the p-value of the largest excesses being those of the others' distribution.

    excess_ns: shape (k,), above 0; largest + 10 at least, ValueError else.

    A generalised Pareto is fitted to the excesses, of which the largest are only known to be longer
    than the next. Given that, the chance of each to be as long as it was is uniform, and Fisher's
    combination of them is small where they are longer than they ought to be: a second mode of low
    density makes them so. One event of it hardly shows; none cannot. The fit is taken as known, and
    clusters as independent, so that of one mechanism it falls below .01 in 2 to 4 %.
    """
    fitted = fit_pareto(excess_ns, largest)
    at = fitted.log_survival(np.sort(excess_ns)[-largest - 1 :])
    return fishers_p(np.exp(at[1:] - at[0]).tolist())
