"""The Universal Scalability Law: contention, and coherence between each two that work.

X(n) = g n / (1 + a (n - 1) + b n (n - 1)), with the contention a, 0 to 1, and the coherence b
(Gunther 1993, A simple capacity model of massively parallel transaction systems, CMG '93). g is
what a single thread would do; n = 1 need not be measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from whylate.stats.arrays import Floats
from whylate.stats.scaling.law import Law, LawFit, fit_law

#: Three parameters, and a place more that can contradict them.
FEWEST = 4
#: A law that is off by a larger factor somewhere is refused.
MOST_MISFIT = 1.1


class UnfitError(ValueError):
    """The measurements do not follow the law, or are too few; the text is the reason."""


@dataclass(frozen=True)
class Universal:
    """A fitted law; alone: the throughput of a single thread."""

    alone: float
    contention: float
    coherence: float
    fit: LawFit

    def throughput(self, n: int) -> float:
        """Return what n threads do together."""
        return self.fit.law.value(n, self.fit.parameters)

    def interval(self, n: int) -> tuple[float, float]:
        """Return between which values a measurement with n threads lies, at 95 %."""
        return self.fit.interval(lambda parameters: self.fit.law.value(n, parameters))

    @property
    def peak(self) -> float | None:
        """With how many threads the throughput is largest; None: it only rises."""
        if self.coherence <= 1e-9:
            return None
        return math.sqrt((1 - self.contention) / self.coherence)


def universal_throughput(n: float, alone: float, contention: float, coherence: float) -> float:
    """Return the throughput of n threads by the law, in the unit of `alone`."""
    return alone * n / (1 + contention * (n - 1) + coherence * n * (n - 1))


def fit_universal(
    counts: Sequence[int], throughputs: Sequence[float], sampling_sd: float = 0.0
) -> Universal:
    """Return the law fitted to throughputs of different numbers of threads, by logarithms.

    sampling_sd: of the logarithm of a throughput. Raises UnfitError with the reason.
    """
    pairs = sorted(zip(counts, throughputs, strict=True))
    if len(set(counts)) < FEWEST:
        raise UnfitError(
            f"the law has three parameters, so that {FEWEST} different numbers are needed to fit "
            f"and to check it; measured were {len(set(counts))}"
        )
    if pairs[0][0] < 1 or not all(0 < value < math.inf for _, value in pairs):
        raise UnfitError("a throughput is not above zero")
    most = pairs[0][1] / pairs[0][0]

    def value(n: float, parameters: Floats) -> float:
        scale, contention, coherence = parameters
        return universal_throughput(n, most * math.exp(scale), float(contention), float(coherence))

    law = Law(
        value,
        low=(-7.0, 0.0, 0.0),
        high=(7.0, 1.0, 1.0),
        starts=((0.0, 0.05, 1e-3), (0.0, 0.5, 0.01), (0.5, 0.9, 0.1)),
    )
    fit = fit_law(law, counts, throughputs, sampling_sd)
    if fit.misfit > MOST_MISFIT:
        raise UnfitError(_reason(pairs, fit))
    scale, contention, coherence = map(float, fit.parameters)
    return Universal(most * math.exp(scale), contention, coherence, fit)


def _reason(pairs: Sequence[tuple[int, float]], fit: LawFit) -> str:
    for (few, low), (many, high) in pairwise(pairs):
        if high / many > MOST_MISFIT * low / few:
            return (
                f"the throughput of each rises from {few} to {many}, which contention and "
                "coherence cannot cause"
            )
    ratios = dict(zip(fit.places, fit.ratios(), strict=True))
    place = max(ratios, key=lambda at: abs(math.log(ratios[at])))
    return (
        f"the law is off by × {fit.misfit:.2f} at {place:.0f}; with more than × {MOST_MISFIT} "
        "it is refused"
    )
