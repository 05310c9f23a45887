"""Long work under a lock that is let go after each chunk: its latency and its cost.

With a chunk of k items of cost c the lock is held for H = k c. Who comes at any moment of it waits
for H / 2 at the median and for 0.99 H at p99, beside what it takes anyhow, the floor. The work
takes N (c + r / k) for N items, where r is what letting go and taking the lock again costs. If
nobody comes during a part of the work, the share of H is less: it is fitted, between 0 and 1.

A latency follows the law where the lock is held for no longer than the time between two who come:
who comes first into a longer hold waits for nearly all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from whylate.stats.arrays import Floats
from whylate.stats.scaling.law import Law, LawFit, fit_law

#: Two parameters, and a place more that can contradict them.
FEWEST = 3


def fit_chunk_latency(
    chunks: Sequence[float], latencies: Sequence[float], item_cost: float
) -> LawFit:
    """Return floor + share · chunk · item_cost fitted to latencies, in one unit of time.

    The parameters are the logarithm of the floor to the smallest latency, and the share, 0 to 1.
    Raises ValueError for fewer than three different chunks, or a time that is not above zero.
    """
    _check(chunks, [*latencies, item_cost])
    least = min(latencies)

    def value(chunk: float, parameters: Floats) -> float:
        return least * math.exp(float(parameters[0])) + float(parameters[1]) * chunk * item_cost

    law = Law(value, (-7.0, 0.0), (7.0, 1.0), ((-0.1, 0.5), (-0.1, 0.99), (-2.0, 0.2)))
    return fit_law(law, chunks, latencies)


def fit_chunk_cost(chunks: Sequence[float], work: Sequence[float]) -> LawFit:
    """Return whole · (1 + again / chunk) fitted to the times that the whole work takes.

    The parameters are the logarithm of `whole` to the shortest time, and of `again`: how many items
    letting go costs as much as. Raises ValueError as fit_chunk_latency() does.
    """
    _check(chunks, work)
    least = min(work)

    def value(chunk: float, parameters: Floats) -> float:
        whole, again = (math.exp(float(parameter)) for parameter in parameters)
        return least * whole * (1 + again / chunk)

    law = Law(value, (-2.0, -12.0), (2.0, 12.0), ((0.0, 0.0), (0.0, 3.0), (0.0, -3.0)))
    return fit_law(law, chunks, work)


def locate_knee(chunks: Sequence[float], work: Sequence[float], dearer: float = 0.15) -> float:
    """Return the smallest of the chunks with which the work takes at most so much more.

    More than with the largest chunk: 0.15 is 15 %. Raises ValueError for no chunk.
    """
    if not chunks or len(chunks) != len(work):
        raise ValueError("a time for each chunk is needed")
    whole = work[max(range(len(chunks)), key=lambda at: chunks[at])]
    return min(
        chunk for chunk, time in zip(chunks, work, strict=True) if time <= (1 + dearer) * whole
    )


def _check(chunks: Sequence[float], times: Sequence[float]) -> None:
    if len(set(chunks)) < FEWEST:
        raise ValueError(
            f"{FEWEST} different chunks are needed to fit and to check the law; there are "
            f"{len(set(chunks))}"
        )
    if min(chunks) < 1 or not all(0 < time < math.inf for time in times):
        raise ValueError("chunks of one item and more and times above zero are needed")
