"""Summarize the cycles of a soak: boot times, failures with their limits, memory."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec
import numpy as np

from whylate.soak.model import FAILURE_KINDS, Cycle, FailureKind, SoakPlan
from whylate.stats.limits import binomial_limits

CONFIDENCE = 0.95
#: A soak whose own memory grew by more than this from its first cycle to its last leaks.
FLAT_BYTES = 32 << 20


class Rate(msgspec.Struct, frozen=True):
    """Failures among `of` cycles, with exact two-sided limits of their probability."""

    count: int
    of: int
    low: float
    high: float


class Times(msgspec.Struct, frozen=True):
    """Times in seconds. low_s, high_s: limits of the median; None for fewer than 6 times."""

    count: int
    min_s: float
    median_s: float
    low_s: float | None
    high_s: float | None
    max_s: float


class Memory(msgspec.Struct, frozen=True):
    """Resident memory of whylate in the last session of the soak, in bytes."""

    first_cycle: int
    last_cycle: int
    first_bytes: int
    last_bytes: int
    most_bytes: int

    @property
    def flat(self) -> bool:
        """Whether it did not grow."""
        return self.most_bytes - self.first_bytes <= FLAT_BYTES


class Consoles(msgspec.Struct, frozen=True):
    """Console logs of the cycles whose board came up, by completeness."""

    whole: int
    cut: int
    unknown: int


class Failed(msgspec.Struct, frozen=True):
    """A kind of failure: its rate, and its first cycle with the reason."""

    kind: FailureKind
    rate: Rate
    first_cycle: int
    why: str


class SoakSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A soak so far."""

    board: str
    #: Cycles that were judged, and those that were interrupted.
    cycles: int
    interrupted: int
    seconds: float
    failures: Rate
    kinds: list[Failed]
    boot: Times | None
    measuring: Times | None
    consoles: Consoles
    #: Activations of all runs together, and their highest latency in ns.
    expected: int
    overrun: int
    dropped: int
    max_ns: int | None
    memory: Memory | None


def summarize(plan: SoakPlan, cycles: Sequence[Cycle]) -> SoakSummary:
    """Return the summary of the cycles."""
    judged = [cycle for cycle in cycles if cycle.outcome != "interrupted"]
    failed = [cycle for cycle in judged if cycle.outcome != "ok"]
    runs = [cycle.latency for cycle in judged if cycle.latency is not None]
    highest = [run.max_ns for run in runs if run.max_ns is not None]
    return SoakSummary(
        board=plan.board,
        cycles=len(judged),
        interrupted=len(cycles) - len(judged),
        seconds=round(sum(cycle.total_s for cycle in cycles), 3),
        failures=_rate(len(failed), len(judged)),
        kinds=_kinds(failed, len(judged)),
        boot=times([cycle.boot_s for cycle in judged if cycle.boot_s is not None]),
        measuring=times([cycle.measuring_s for cycle in judged if cycle.measuring_s is not None]),
        consoles=_consoles(judged),
        expected=sum(run.expected for run in runs),
        overrun=sum(run.overrun for run in runs),
        dropped=sum(run.dropped for run in runs),
        max_ns=max(highest, default=None),
        memory=_memory(cycles),
    )


def times(seconds: Sequence[float]) -> Times | None:
    """Summarize times; None for none.

    The median's interval is between order statistics, which needs no distribution: it covers at
    least CONFIDENCE for independent times.
    """
    if not seconds:
        return None
    from scipy.special import bdtr

    ordered = sorted(seconds)
    n = len(ordered)
    # The rank, from 1, of the lower limit; 0: there is none.
    rank = int(np.sum(bdtr(np.arange(n // 2), n, 0.5) <= (1 - CONFIDENCE) / 2))
    low, high = (ordered[rank - 1], ordered[n - rank]) if rank else (None, None)
    return Times(n, ordered[0], round(median(ordered), 3), low, high, ordered[-1])


def _rate(count: int, of: int) -> Rate:
    low, high = binomial_limits(count, of, CONFIDENCE) if of else (0.0, 1.0)
    return Rate(count, of, low, high)


def _kinds(failed: Sequence[Cycle], of: int) -> list[Failed]:
    kinds = []
    for kind in FAILURE_KINDS:
        of_kind = [cycle for cycle in failed if cycle.outcome == kind]
        if of_kind:
            kinds.append(Failed(kind, _rate(len(of_kind), of), of_kind[0].cycle, of_kind[0].why))
    return kinds


def _consoles(judged: Sequence[Cycle]) -> Consoles:
    whole = [cycle.console.whole for cycle in judged if cycle.console is not None and cycle.boot_s]
    # A board that crashed during the run cannot print the mark after it.
    return Consoles(whole=whole.count(True), cut=whole.count(False), unknown=whole.count(None))


def _memory(cycles: Sequence[Cycle]) -> Memory | None:
    last = max((cycle.session for cycle in cycles), default=0)
    session = [cycle for cycle in cycles if cycle.session == last and cycle.host_rss_bytes]
    if not session:
        return None
    return Memory(
        first_cycle=session[0].cycle,
        last_cycle=session[-1].cycle,
        first_bytes=session[0].host_rss_bytes,
        last_bytes=session[-1].host_rss_bytes,
        most_bytes=max(cycle.host_rss_bytes for cycle in session),
    )
