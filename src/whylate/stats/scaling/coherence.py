"""The closed network of a shared device in which each further CPU makes a call slower.

Of n CPUs each thinks for Z and is then served for S (1 + c (n - 1)), one after the other: c, the
coherence term of a CPU, is what moving a line to each further CPU takes, in service times. With
that service the throughput is exact by mean value analysis (whylate.stats.closed_network). Where
one reading serves all who wait, a call takes c S (n - 1) more than there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whylate.stats.arrays import Floats
from whylate.stats.closed_network import think_from_ratio, throughput
from whylate.stats.scaling.law import Law, LawFit, fit_law
from whylate.stats.shared_readings import relaxed_throughput

#: The throughput of so many CPUs that share readings, by their think time and the service.
Sharing = Callable[[int, float, float], float]
#: Numbers of threads for an interval without a coherence term, and with it.
FEWEST = 3
FEWEST_COHERENT = 4


def coherent_throughput(n: int, think: float, service: float, coherence: float) -> float:
    """Return the throughput of n CPUs, each served on its own, per unit of the times.

    Raises ValueError where there is no CPU, or no time.
    """
    return throughput(n, think, service * (1 + coherence * (n - 1)))


def coherent_shared_throughput(
    n: int, think: float, service: float, coherence: float, sharing: Sharing = relaxed_throughput
) -> float:
    """Return the throughput of n CPUs that share readings, in this form.

    Raises ValueError where there is no CPU, or no think time.
    """
    alone = n / sharing(n, think, service)
    return n / (alone + coherence * service * (n - 1))


@dataclass(frozen=True)
class CoherentNetwork:
    """What was fitted: Z and S in the unit of time of the throughputs, and the coherence term.

    coherence None: it was not fitted, for there were fewer than four numbers of threads; 0: with
    it the fit is not significantly better. fit: with it all the same, for intervals.
    """

    think: float
    service: float
    coherence: float | None
    fit: LawFit
    #: The time of a call that the first parameter is a logarithm to.
    alone: float

    def throughput(self, n: int) -> float:
        """Return what n CPUs do together."""
        return coherent_throughput(n, self.think, self.service, self.coherence or 0.0)

    def interval(self, n: int) -> tuple[float, float]:
        """Return between which values a measurement with n CPUs lies, at 95 %."""
        return self.fit.interval(lambda parameters: self.fit.law.value(n, parameters))

    def shared_throughput(self, n: int, sharing: Sharing = relaxed_throughput) -> float:
        """Return what n CPUs would do together if they shared readings."""
        return coherent_shared_throughput(
            n, self.think, self.service, self.coherence or 0.0, sharing
        )

    def shared_interval(self, n: int, sharing: Sharing = relaxed_throughput) -> tuple[float, float]:
        """Return between which values a measurement of that lies, at 95 %."""
        alone = self.alone

        def shared(parameters: Floats) -> float:
            return coherent_shared_throughput(n, *_times(alone, parameters), sharing)

        return self.fit.interval(shared)


def _times(alone: float, parameters: Floats) -> tuple[float, float, float]:
    """Return Z, S and c of the parameters: the whole time of one CPU, and the part served."""
    whole, part = alone * math.exp(float(parameters[0])), float(parameters[1])
    return whole * (1 - part), whole * part, float(parameters[2]) if len(parameters) > 2 else 0.0


def fit_coherent(
    counts: Sequence[int], throughputs: Sequence[float], sampling_sd: float = 0.0
) -> CoherentNetwork:
    """Return the network nearest to throughputs of different numbers of CPUs, by logarithms.

    sampling_sd: of the logarithm of a throughput. The coherence term is fitted to four numbers and
    more, else it is taken for 0, as it is where the fit is not significantly better with it.
    Raises ValueError for fewer than three numbers, or where nothing was done.
    """
    different = len(set(counts))
    if different < FEWEST:
        raise ValueError(f"{FEWEST} numbers of threads are needed; measured were {different}")
    if not all(0 < value < math.inf for value in throughputs):
        raise ValueError("a throughput is not above zero")
    least = min(range(len(counts)), key=lambda at: counts[at])
    alone = counts[least] / throughputs[least]
    coherent = different >= FEWEST_COHERENT

    def value(n: float, parameters: Floats) -> float:
        return coherent_throughput(int(n), *_times(alone, parameters))

    starts = ((0.0, 0.03, 1e-3), (0.0, 0.3, 1e-2), (0.0, 0.9, 1e-3), (0.0, 1e-4, 1e-3))
    # Without think time nothing could be shared; 1 - 1e-9 of a call is all of it.
    low, high = (-5.0, 0.0, 0.0), (5.0, 1 - 1e-9, 1.0)

    def fit_with(size: int) -> LawFit:
        law = Law(value, low[:size], high[:size], tuple(start[:size] for start in starts))
        return fit_law(law, counts, throughputs, sampling_sd)

    without = fit_with(2)
    fit = fit_with(3) if coherent else without
    # Short service with much coherence looks like longer service: the simpler one is preferred.
    chosen = fit if fit.is_better_than(without) else without
    think, service, coherence = _times(alone, chosen.parameters)
    return CoherentNetwork(think, service, coherence if coherent else None, fit, alone)


@dataclass(frozen=True)
class SharedRow:
    """A machine whose readers were measured in both ways, as parts of what they do unhindered.

    direct: each reads by itself. shared: one reading serves all who wait.
    """

    cpus: int
    direct: float
    shared: float

    def predicted(self, coherence: float) -> float:
        """Return `shared` by the network of `direct` with a coherence term."""
        think = think_from_ratio(self.direct, self.cpus)
        return coherent_shared_throughput(self.cpus, think, 1.0, coherence) * think / self.cpus

    def coherence(self) -> float:
        """Return the coherence term with which `shared` follows exactly; it may be below 0."""
        think = think_from_ratio(self.direct, self.cpus)
        without = self.cpus / relaxed_throughput(self.cpus, think, 1.0)
        return (think / self.shared - without) / (self.cpus - 1)


def leave_one_out(rows: Sequence[SharedRow]) -> list[float]:
    """Return by how much each row is off with the coherence term of all others; shape (rows,).

    The term of several rows is the mean of theirs. Raises ValueError for fewer than two.
    """
    if len(rows) < 2:
        raise ValueError("two rows are needed: of one nothing is left to fit")
    terms = [row.coherence() for row in rows]
    return [
        row.predicted((sum(terms) - term) / (len(rows) - 1)) - row.shared
        for row, term in zip(rows, terms, strict=True)
    ]
