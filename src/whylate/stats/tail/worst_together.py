"""The worst latency that pieces could make together, from the longest of each.

    L = sum of the longest of each piece that comes once + sum over what comes again of C(N(L))

C(n) is the longest that n executions of an interrupt or the like took in a row, at most n times the
longest, N(t) the most of them that began in any time of length t. It is the response-time equation
of Joseph and Pandya (1986, The Computer Journal 29), as rtsl applies it to the kernel's own
scheduling latency (de Oliveira, Casini, de Oliveira and Cucinotta 2020, ECRTS), with executions of
differing length (a workload curve: Maxiaguine, Kuenzli and Thiele 2004, DATE).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

#: Where it takes more steps than that, what comes again takes all but nothing of the CPU.
_MOST_STEPS = 10_000
#: Spans of up to so many arrivals are looked for in all places; those of more follow from them.
_MOST_EXACT = 200
#: So many are enough for an arrival every 50 µs in half a second.
_MOST_SPANS = 10_000


@dataclass(frozen=True)
class Recurring:
    """What comes again. name: of it; cost_ns: its longest execution.

    spans_ns: the shortest times from the first to the n-th of n arrivals, or lower bounds of them,
    for n from 1 on: not decreasing, the first 0. horizon_ns: up to that length of time
    arrivals were looked for. totals_ns: of how many executions in a row the longest total is known,
    ascending, and that.
    """

    name: str
    cost_ns: int
    spans_ns: tuple[int, ...]
    horizon_ns: int
    totals_ns: tuple[tuple[int, int], ...] = ()

    def together_ns(self, count: int) -> int:
        """Return C: the longest that so many executions in a row took, or an upper bound of it.

        They are cut into rows whose longest total is known; fewer take no longer than a whole row.
        """
        longest_ns = count * self.cost_ns
        for place, (row, total_ns) in enumerate(self.totals_ns):
            whole, rest = divmod(count, row)
            fewer = replace(self, totals_ns=self.totals_ns[:place]).together_ns(rest)
            longest_ns = min(longest_ns, whole * total_ns + min(fewer, total_ns))
        return longest_ns

    @property
    def utilisation(self) -> float:
        """The part of a long time that it could take: all of it is 1, and it may be more."""
        if not self.spans_ns:
            return 0.0
        whole = bisect_right(self.spans_ns, self.horizon_ns)
        return self.together_ns(whole) / max(self.horizon_ns, 1)

    def arrivals(self, time_ns: int) -> int:
        """Return N: the most arrivals in any time of this length.

        Beyond the horizon a time is cut into parts of at most that length, each with as many as any
        time of its length had: an upper bound, if those were.
        """
        if not self.spans_ns:
            return 0
        parts, rest_ns = divmod(time_ns, max(self.horizon_ns, 1))
        whole = bisect_right(self.spans_ns, self.horizon_ns)
        return (
            parts * whole + bisect_right(self.spans_ns, rest_ns)
            if parts
            else bisect_right(self.spans_ns, time_ns)
        )


def shortest_spans(sequences: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the shortest times from the first to the n-th of n arrivals, for n from 1 on.

    sequences: times of arrivals in order, ns, each of a stretch that was watched throughout. Of
    many arrivals it is a lower bound, so that N(t) is none too low: a span of n + m gaps is no
    shorter than the shortest of n and the shortest of m together.
    """
    spans: list[int] = []
    longest = 0
    for times in sequences:
        at_ns = np.asarray(times, np.int64)
        longest = max(longest, len(at_ns))
        for gaps in range(min(len(at_ns), _MOST_EXACT)):
            shortest = int((at_ns[gaps:] - at_ns[: len(at_ns) - gaps]).min())
            if gaps < len(spans):
                spans[gaps] = min(spans[gaps], shortest)
            else:
                spans.append(shortest)
    for gaps in range(len(spans), longest):
        whole, rest = divmod(gaps, _MOST_EXACT - 1)
        spans.append(whole * spans[_MOST_EXACT - 1] + spans[rest])
    return tuple(spans)


def spans_of_gaps(shortest: Mapping[int, int], most_ns: int, most: int) -> tuple[int, ...]:
    """Return lower bounds of the shortest times from the first to the n-th of n arrivals.

    shortest: of so many gaps the shortest time. What is between follows, as in shortest_spans(). Up
    to the first that is longer than most_ns, but of `most` arrivals and _MOST_SPANS at most.
    """
    gaps = sorted(shortest)
    spans = [0]
    while len(spans) < min(most, _MOST_SPANS) and spans[-1] <= most_ns:
        count = len(spans)
        after = [spans[count - each] + shortest[each] for each in gaps if each <= count]
        spans.append(max(after, default=0))
    return tuple(spans)


def worst_together(
    once_ns: Iterable[int], recurring: Sequence[Recurring], seen_ns: int
) -> int | None:
    """Return the least L of the equation that is no lower than seen_ns; None where there is none.

    seen_ns: the largest latency that was seen: iteration begins there, for a smaller solution is
    refuted by it. None: what recurs takes the whole CPU, or all but a trifle of it.
    """
    base_ns = sum(once_ns)
    latency_ns = max(seen_ns, 0)
    for _ in range(_MOST_STEPS):
        together_ns = base_ns + sum(
            each.together_ns(each.arrivals(latency_ns)) for each in recurring
        )
        if together_ns <= latency_ns:
            return latency_ns
        latency_ns = together_ns
    return None
