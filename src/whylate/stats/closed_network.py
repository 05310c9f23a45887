"""How the throughput of threads that share something grows with their number.

A closed network of one queue: each of n threads thinks for Z on average, then has to be served by
what all share, for S on average, one after the other. With exponential times, or any service that
is shared in turns, the throughput is exact by mean value analysis (Reiser and Lavenberg 1980,
Journal of the ACM 27): a thread that comes finds in the queue what n - 1 threads would leave there.
It is n / (Z + S) for one thread, and never more than 1 / S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats

#: The longest think time, in service times.
_MOST_THINK = 1e7


@dataclass(frozen=True)
class Network:
    """What was fitted. think, service: Z and S, in the unit of time of the throughputs."""

    think: float
    service: float

    def throughput(self, n: int) -> float:
        """Return what n threads do together in a unit of time."""
        return throughput(n, self.think, self.service)


def throughput(n: int, think: float, service: float) -> float:
    """Return the throughput of n threads, per unit of the times; exact mean value analysis.

    Raises ValueError where there is no thread, or both times are zero.
    """
    if n < 1 or think < 0 or service < 0 or think + service <= 0:
        raise ValueError("a closed network needs threads that take time")
    waiting = 0.0
    rate = 0.0
    for threads in range(1, n + 1):
        response = service * (1 + waiting)
        rate = threads / (think + response)
        waiting = rate * response
    return rate


def think_from_ratio(ratio: float, n: int) -> float:
    """Return Z / S from what n threads still do: their throughput to that of no sharing, n / Z.

    0 < ratio < 1. Raises ValueError for another, or one that no think time gives.
    """
    from scipy.optimize import brentq

    if not 0 < ratio < 1 or n < 1:
        raise ValueError("a ratio between 0 and 1, of at least one thread, is needed")

    def beyond(log_think: float) -> float:
        think = math.exp(log_think)
        return throughput(n, think, 1.0) * think / n - ratio

    low, high = math.log(1e-9), math.log(_MOST_THINK)
    if beyond(low) > 0 or beyond(high) < 0:
        raise ValueError(f"no think time gives {ratio} of the throughput")
    return math.exp(float(brentq(beyond, low, high, xtol=1e-12)))


def fit(threads: Sequence[int], throughputs: Sequence[float]) -> Network:
    """Return the network whose throughputs are nearest to those measured, by their logarithms.

    Needs two numbers of threads; raises ValueError without, or where nothing was done.
    """
    from scipy.optimize import least_squares

    counts = list(threads)
    if len(set(counts)) < 2 or len(counts) != len(throughputs) or min(throughputs) <= 0:
        raise ValueError("throughputs of two numbers of threads are needed")
    measured = np.log(np.array(throughputs, np.float64))
    least = min(range(len(counts)), key=lambda at: counts[at])
    alone = counts[least] / throughputs[least]

    def off(parameters: Floats) -> Floats:
        # The whole time of one thread, and the part of it that is served: 0 to 1.
        whole, part = alone * math.exp(parameters[0]), parameters[1]
        return (
            np.array([math.log(throughput(n, whole * (1 - part), whole * part)) for n in counts])
            - measured
        )

    best = min(
        (
            least_squares(off, [0.0, start], bounds=([-5.0, 0.0], [5.0, 1.0]), x_scale=[1.0, 0.1])
            for start in (1e-4, 0.03, 0.3, 0.9)
        ),
        key=lambda fit: fit.cost,
    )
    whole, part = alone * math.exp(best.x[0]), float(best.x[1])
    return Network(whole * (1 - part), whole * part)
