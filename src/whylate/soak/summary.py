"""What the cycles of a soak say together: boot times, failures with their limits, memory."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whylate.soak.model import FAILURE_KINDS, Cycle, FailureKind, SoakPlan
from whylate.stats.limits import binomial_limits

CONFIDENCE = 0.95
#: A soak whose own memory grew by more than this from its first cycle to its last leaks.
FLAT_BYTES = 32 << 20


class Rate(msgspec.Struct, frozen=True):
    """Failures of so many cycles, and exact two-sided limits for their probability."""

    count: int
    of: int
    low: float
    high: float


class Times(msgspec.Struct, frozen=True):
    """Times in seconds. low_s, high_s: limits for the median; None with fewer than 6 of them."""

    count: int
    min_s: float
    median_s: float
    low_s: float | None
    high_s: float | None
    max_s: float


class Memory(msgspec.Struct, frozen=True):
    """Memory of the whylate that ran the soak, since it was last started; in bytes."""

    first_cycle: int
    last_cycle: int
    first_bytes: int
    last_bytes: int
    most_bytes: int

    @property
    def flat(self) -> bool:
        """Whether it stayed what it was."""
        return self.most_bytes - self.first_bytes <= FLAT_BYTES


class Consoles(msgspec.Struct, frozen=True):
    """Console logs of the cycles whose board came up: whole, cut, and those nobody can tell."""

    whole: int
    cut: int
    unknown: int


class Failed(msgspec.Struct, frozen=True):
    """A kind of failure: how often, and the first cycle of it with what was said."""

    kind: FailureKind
    rate: Rate
    first_cycle: int
    why: str


class SoakSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A soak so far."""

    board: str
    #: Cycles that say something about the board, and those that were interrupted by us.
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
    """Return what the cycles say."""
    told = [one for one in cycles if one.outcome != "interrupted"]
    failed = [one for one in told if one.outcome != "ok"]
    runs = [one.latency for one in told if one.latency is not None]
    highest = [run.max_ns for run in runs if run.max_ns is not None]
    return SoakSummary(
        board=plan.board,
        cycles=len(told),
        interrupted=len(cycles) - len(told),
        seconds=round(sum(one.total_s for one in cycles), 3),
        failures=_rate(len(failed), len(told)),
        kinds=_kinds(failed, len(told)),
        boot=times([one.boot_s for one in told if one.boot_s is not None]),
        measuring=times([one.measuring_s for one in told if one.measuring_s is not None]),
        consoles=_consoles(told),
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
    ordered = sorted(seconds)
    n = len(ordered)
    median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    rank = _rank(n)
    low, high = (ordered[rank - 1], ordered[n - rank]) if rank else (None, None)
    return Times(n, ordered[0], round(median, 3), low, high, ordered[-1])


def _rank(n: int) -> int:
    """Return the rank, from 1, of the lower limit of the median; 0 where there is none."""
    from scipy.special import bdtr

    rank = 0
    while rank < n // 2 and bdtr(rank, n, 0.5) <= (1 - CONFIDENCE) / 2:
        rank += 1
    return rank


def _rate(count: int, of: int) -> Rate:
    low, high = binomial_limits(count, of, CONFIDENCE) if of else (0.0, 1.0)
    return Rate(count, of, low, high)


def _kinds(failed: Sequence[Cycle], of: int) -> list[Failed]:
    kinds = []
    for kind in FAILURE_KINDS:
        mine = [one for one in failed if one.outcome == kind]
        if mine:
            kinds.append(Failed(kind, _rate(len(mine), of), mine[0].cycle, mine[0].why))
    return kinds


def _consoles(told: Sequence[Cycle]) -> Consoles:
    whole = [one.console.whole for one in told if one.console is not None and one.boot_s]
    # One that died in mid-run cannot print the mark that is printed after it.
    return Consoles(whole=whole.count(True), cut=whole.count(False), unknown=whole.count(None))


def _memory(cycles: Sequence[Cycle]) -> Memory | None:
    last = max((one.session for one in cycles), default=0)
    mine = [one for one in cycles if one.session == last and one.host_rss_bytes]
    if not mine:
        return None
    return Memory(
        first_cycle=mine[0].cycle,
        last_cycle=mine[-1].cycle,
        first_bytes=mine[0].host_rss_bytes,
        last_bytes=mine[-1].host_rss_bytes,
        most_bytes=max(one.host_rss_bytes for one in mine),
    )
