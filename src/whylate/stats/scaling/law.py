"""Fit a law to a few places, and bound what would be measured at another place.

Fitted are logarithms, by least squares. The interval is the set of values that could be measured
at the new place without the fit of all places together being significantly worse (the likelihood
ratio; Bates and Watts 1988, Nonlinear Regression Analysis, chapter 6). Of a law that is linear in
its parameters it is the prediction interval of regression. A parameter at the end of its range is
no difficulty, as it is for an interval made of derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whylate.stats.arrays import Floats

#: A bound that is further away than this factor is none.
_FURTHEST = 1e4
#: Of the logarithm of a bound.
_EXACT = 1e-3

#: A quantity of the parameters of a law, above zero.
Quantity = Callable[[Floats], float]


@dataclass(frozen=True)
class Law:
    """value(place, parameters) > 0. low, high: ranges of the parameters. starts: first guesses."""

    value: Callable[[float, Floats], float]
    low: tuple[float, ...]
    high: tuple[float, ...]
    starts: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LawFit:
    """A fitted law. squares: the sum of the squared residuals of logarithms."""

    law: Law
    places: tuple[float, ...]
    logs: Floats
    sampling_sd: float
    parameters: Floats
    squares: float

    @property
    def freedom(self) -> int:
        """Degrees of freedom: places that are more than parameters."""
        return len(self.places) - len(self.parameters)

    @cached_property
    def spread(self) -> float:
        """The standard deviation of a measurement about the law, of logarithms.

        That of the residuals, or of the sampling of a place where that is larger.
        """
        return max(math.sqrt(self.squares / self.freedom), self.sampling_sd, 1e-6)

    def is_better_than(self, other: LawFit, level: float = 0.95) -> bool:
        """Whether the fit is significantly better than one with a parameter less."""
        return other.squares - self.squares > self._most(level)

    def _most(self, level: float) -> float:
        """By how much the squares may grow by chance."""
        from scipy.special import stdtrit

        return (float(stdtrit(self.freedom, (1 + level) / 2)) * self.spread) ** 2

    def ratios(self) -> list[float]:
        """Return what was measured at each place to what the law has there."""
        return [
            math.exp(log) / self.law.value(place, self.parameters)
            for place, log in zip(self.places, self.logs, strict=True)
        ]

    @property
    def misfit(self) -> float:
        """The worst of these ratios, as a factor above 1."""
        return max(max(ratio, 1 / ratio) for ratio in self.ratios())

    def interval(self, quantity: Quantity, level: float = 0.95) -> tuple[float, float]:
        """Return between which values a measurement of a quantity lies; 0 and inf: no bound.

        Raises ValueError where there is no degree of freedom.
        """
        if self.freedom < 1:
            raise ValueError("as many parameters as places leave nothing for an interval")
        most = self._most(level)
        middle = math.log(quantity(self.parameters))
        low = self._end(quantity, middle, -1, most)
        high = self._end(quantity, middle, 1, most)
        return (0.0 if low is None else math.exp(low), math.inf if high is None else math.exp(high))

    def _end(self, quantity: Quantity, middle: float, sign: int, most: float) -> float | None:
        from scipy.optimize import brentq

        def worse(apart: float) -> float:
            return self._squares_with(quantity, middle + sign * apart) - self.squares - most

        near, far = 0.0, math.sqrt(most)
        while worse(far) < 0:
            near, far = far, 2 * far
            if far > math.log(_FURTHEST):
                return None
        return middle + sign * float(brentq(worse, near, far, xtol=_EXACT))

    def _squares_with(self, quantity: Quantity, log: float) -> float:
        """Return the least squares where a quantity was measured as well."""

        def off(parameters: Floats) -> Floats:
            own = _residuals(self.law, self.places, self.logs, parameters)
            return np.append(own, math.log(quantity(parameters)) - log)

        return _least(self.law, off, self.parameters)[1]


def fit_law(
    law: Law, places: Sequence[float], values: Sequence[float], sampling_sd: float = 0.0
) -> LawFit:
    """Return the law nearest to what was measured, by logarithms.

    sampling_sd: of the logarithm of a value, by its sampling alone. Raises ValueError for fewer
    different places than parameters, or a value that is not above zero.
    """
    fewest = len(law.low)
    if len(set(places)) < fewest or len(places) != len(values):
        raise ValueError(f"{fewest} different places are needed")
    if not all(0 < value < math.inf for value in values):
        raise ValueError("values above zero are needed")
    logs = np.log(np.array(values, np.float64))

    def off(parameters: Floats) -> Floats:
        return _residuals(law, places, logs, parameters)

    parameters, squares = min((_least(law, off, start) for start in law.starts), key=lambda p: p[1])
    return LawFit(law, tuple(places), logs, sampling_sd, parameters, squares)


def _residuals(law: Law, places: Sequence[float], logs: Floats, parameters: Floats) -> Floats:
    return np.array([math.log(law.value(place, parameters)) for place in places]) - logs


def _least(
    law: Law, off: Callable[[Floats], Floats], start: Sequence[float] | Floats
) -> tuple[Floats, float]:
    from scipy.optimize import least_squares

    low, high = np.array(law.low), np.array(law.high)
    # A start on the end of a range is moved inside by the method itself, and far.
    inside = np.clip(np.asarray(start, np.float64), low + 1e-9, high - 1e-9)
    fit = least_squares(off, inside, bounds=(low, high), x_scale="jac")
    return fit.x, 2 * float(fit.cost)
