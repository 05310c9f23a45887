"""The two laws of scaling that a sweep may follow, and an interval that spans both.

Within the numbers that were measured they agree. Beyond, a closed network saturates where the
Universal Scalability Law comes down, and as long as both fit, the measurements do not decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from whylate.predict.forecast import Prediction
from whylate.stats.scaling.coherence import CoherentNetwork, fit_coherent
from whylate.stats.scaling.universal import MOST_MISFIT, UnfitError, Universal, fit_universal

SPANS = "the interval spans two laws that fit as well as each other: one saturates, one comes down"


@dataclass(frozen=True)
class Laws:
    """The laws that fit; None: it does not, or the numbers are too few for it."""

    law: Universal | None
    network: CoherentNetwork | None

    @property
    def spans(self) -> list[str]:
        """What a forecast supposes of the two."""
        return [SPANS] if self.law is not None and self.network is not None else []

    def expect(self, at: int, value: float) -> Prediction:
        """Return a value of either law with the interval of both."""
        fits = [fit for fit in (self.law, self.network) if fit is not None]
        intervals = [fit.interval(at) for fit in fits]
        return Prediction(
            value, min(low for low, _ in intervals), max(high for _, high in intervals)
        )


def fit_scaling(
    counts: Sequence[int], values: Sequence[float], sampling_sd: float
) -> tuple[Universal, Laws]:
    """Return the Universal Scalability Law, and the network if that fits too.

    Raises UnfitError where the law does not fit.
    """
    law = fit_universal(counts, values, sampling_sd)
    network = fit_coherent(counts, values, sampling_sd)
    return law, Laws(law, network if network.fit.misfit <= MOST_MISFIT else None)


def fit_network(
    counts: Sequence[int], values: Sequence[float], sampling_sd: float
) -> tuple[CoherentNetwork, Laws]:
    """Return the network of a shared device, and the Universal Scalability Law if that fits too.

    Raises ValueError where the network does not fit.
    """
    network = fit_coherent(counts, values, sampling_sd)
    if network.fit.misfit > MOST_MISFIT:
        raise ValueError(
            f"the network is off by × {network.fit.misfit:.2f} at one of the numbers that it was "
            f"fitted to; with more than × {MOST_MISFIT} it is refused"
        )
    law: Universal | None = None
    with suppress(UnfitError):
        law = fit_universal(counts, values, sampling_sd)
    return network, Laws(law, network)


def expect_by_law(
    counts: Sequence[int], values: Sequence[float], at: int, sampling_sd: float
) -> Prediction:
    """Return what the Universal Scalability Law expects; raises UnfitError."""
    law, laws = fit_scaling(counts, values, sampling_sd)
    return laws.expect(at, law.throughput(at))


def expect_by_network(
    counts: Sequence[int], values: Sequence[float], at: int, sampling_sd: float
) -> Prediction:
    """Return what the network of a shared device expects; raises ValueError."""
    network, laws = fit_network(counts, values, sampling_sd)
    return laws.expect(at, network.throughput(at))
