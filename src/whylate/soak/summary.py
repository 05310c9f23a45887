"""Summarize the cycles of a soak: times, figures, failures with their limits, memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec
import numpy as np

from whylate.soak.boot_stages import steps
from whylate.soak.clock_window import ClockWindows, clock_windows
from whylate.soak.failure_kinds import FAILURE_KINDS, FailureKind
from whylate.soak.model import BootStage, Cause, Cycle, CycleFlash, SoakPlan
from whylate.soak.own_stages import stages_of
from whylate.stats.limits import binomial_limits, poisson_high, poisson_low

CONFIDENCE = 0.95
#: A soak whose own memory grew by more than this from its first cycle to its last leaks.
FLAT_BYTES = 32 << 20


class HourlyRate(msgspec.Struct, frozen=True):
    """Failures an hour of all cycles, with exact two-sided limits (Garwood 1936)."""

    per_hour: float
    low: float
    high: float


class Rate(msgspec.Struct, frozen=True):
    """Failures among `of` cycles, with exact two-sided limits of their probability.

    hourly: the same cycles by the hours that all cycles took; None where they took no time.
    """

    count: int
    of: int
    low: float
    high: float
    hourly: HourlyRate | None = None


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


class BootStep(msgspec.Struct, frozen=True):
    """A step of the boots: from one stage to the next that was seen.

    worst_cycle: the one that took the longest.
    """

    before: str
    name: str
    took: Times
    worst_cycle: int


class StageSeen(msgspec.Struct, frozen=True):
    """A stage: in how many of the boots that were watched it was seen, and when it came.

    repeated: in how many it came more than once before the board was up; first_repeated: the first
    of them.
    """

    name: str
    seen: int
    at: Times | None
    repeated: int = 0
    first_repeated: int | None = None


class BootStages(msgspec.Struct, frozen=True):
    """Boots that were watched on a console; within_s: times are at most so much too late."""

    boots: int
    stages: list[StageSeen]
    steps: list[BootStep]
    within_s: float


class Consoles(msgspec.Struct, frozen=True):
    """Console logs of the cycles whose board came up, by completeness."""

    whole: int
    cut: int
    unknown: int


class Flashes(msgspec.Struct, frozen=True):
    """The writes of the image to the card, and the boards that did not boot with it.

    verified: how many of the writes were read back as written. recovered: how many of not_back
    booted with the last good image; why_not: why the last one did not.
    """

    took: Times
    verified: int
    not_back: int
    recovered: int
    why_not: str


class UnreadLogs(msgspec.Struct, frozen=True):
    """Cycles whose kernel's log was not searched to its end, and why the first one's was not."""

    count: int
    first_cycle: int
    why: str


class Figures(msgspec.Struct, frozen=True):
    """A figure of the runs of cycles that did not fail; low, high as in Times."""

    name: str
    unit: str
    count: int
    min: float
    median: float
    low: float | None
    high: float | None
    max: float


class SeenCause(msgspec.Struct, frozen=True):
    """A cause of failures: the rate of cycles that had it, and its first report.

    events: how often it was seen, several times in one cycle too; at_least: or more often.
    """

    kind: FailureKind
    what: str
    events: int
    rate: Rate
    first_cycle: int
    why: str
    at_least: bool = False


class Failed(msgspec.Struct, frozen=True):
    """A kind of failure: its rate, and its first cycle with the reason.

    A cycle counts with its outcome and with every kind of its causes.
    """

    kind: FailureKind
    rate: Rate
    first_cycle: int
    why: str
    causes: list[SeenCause] = []


class SoakSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A soak so far."""

    board: str
    #: Cycles that were judged, and those that were interrupted.
    cycles: int
    interrupted: int
    seconds: float
    failures: Rate
    kinds: list[Failed]
    #: None where the cycles write no image.
    flashes: Flashes | None
    boot: Times | None
    #: Of the cycles that rebooted the board by the plan's means.
    reboot: Times | None
    #: None where no console was watched.
    boot_stages: BootStages | None
    #: Lockups by how long a boot had no clock source; None where no console shows that.
    clock_windows: ClockWindows | None
    measuring: Times | None
    #: Runs that were made again, since a thread came too late to begin.
    late_starts: int
    #: How long the runs took that did not fail, and their figures.
    run: Times | None
    figures: list[Figures]
    consoles: Consoles
    kernel_logs_unread: UnreadLogs | None
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
    good = [cycle for cycle in judged if cycle.outcome == "ok"]
    runs = [cycle.latency for cycle in judged if cycle.latency is not None]
    highest = [run.max_ns for run in runs if run.max_ns is not None]
    hours = sum(cycle.total_s for cycle in judged) / 3600
    return SoakSummary(
        board=plan.board,
        cycles=len(judged),
        interrupted=len(cycles) - len(judged),
        seconds=round(sum(cycle.total_s for cycle in cycles), 3),
        failures=rate(len(failed), len(judged), hours),
        kinds=_kinds(failed, len(judged), hours),
        flashes=_flashes([cycle.flash for cycle in judged if cycle.flash is not None]),
        boot=times([cycle.boot_s for cycle in judged if cycle.boot_s is not None]),
        boot_stages=_boot_stages(judged, stages_of(plan)),
        clock_windows=clock_windows(judged),
        reboot=times([cycle.reboot_s for cycle in judged if cycle.reboot_s is not None]),
        measuring=times([cycle.measuring_s for cycle in judged if cycle.measuring_s is not None]),
        late_starts=sum(cycle.late_starts for cycle in judged),
        run=times([cycle.run_s for cycle in good if cycle.run_s is not None]),
        figures=_figures(good),
        consoles=_consoles(judged),
        kernel_logs_unread=_unread_logs(judged),
        expected=sum(run.expected for run in runs),
        overrun=sum(run.overrun for run in runs),
        dropped=sum(run.dropped for run in runs),
        max_ns=max(highest, default=None),
        memory=_memory(cycles),
    )


def _flashes(flashes: Sequence[CycleFlash]) -> Flashes | None:
    took = times([flash.flash_s for flash in flashes])
    if took is None:
        return None
    tried = [flash for flash in flashes if flash.recovered is not None]
    return Flashes(
        took=took,
        verified=sum(flash.verified for flash in flashes),
        not_back=len(tried),
        recovered=sum(flash.recovered is True for flash in tried),
        why_not=next((flash.why_not for flash in reversed(tried) if flash.why_not), ""),
    )


def _boot_stages(judged: Sequence[Cycle], looked_for: Iterable[str]) -> BootStages | None:
    """Return the stages of the boots that came up."""
    watched = [
        cycle for cycle in judged if cycle.boot_stages is not None and cycle.boot_s is not None
    ]
    if not watched:
        return None
    seen: dict[str, list[tuple[Cycle, BootStage]]] = {name: [] for name in looked_for}
    took: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for cycle in watched:
        for stage in cycle.boot_stages or []:
            seen.setdefault(stage.name, []).append((cycle, stage))
        for step, seconds in steps(cycle):
            took.setdefault(step, []).append((seconds, cycle.cycle))
    stages = [_stage(name, those) for name, those in seen.items()]
    return BootStages(
        boots=len(watched),
        stages=stages,
        steps=[
            BootStep(before, name, spread, max(those)[1])
            for (before, name), those in took.items()
            if (spread := times([seconds for seconds, _ in those])) is not None
        ],
        within_s=max((stage.within_s for those in seen.values() for _, stage in those), default=0),
    )


def _stage(name: str, those: Sequence[tuple[Cycle, BootStage]]) -> StageSeen:
    repeated = [cycle.cycle for cycle, stage in those if stage.times > 1]
    return StageSeen(
        name=name,
        seen=len(those),
        at=times([stage.at_s for _, stage in those]),
        repeated=len(repeated),
        first_repeated=min(repeated, default=None),
    )


def times(seconds: Sequence[float]) -> Times | None:
    """Summarize times; None for none.

    The median's interval is between order statistics, which needs no distribution: it covers at
    least CONFIDENCE for independent times.
    """
    if not seconds:
        return None
    low, high = _median_limits(sorted(seconds))
    middle = round(median(seconds), 3)
    return Times(len(seconds), min(seconds), middle, low, high, max(seconds))


def _median_limits(ordered: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the order statistics between which the median lies; None for fewer than 6 values."""
    from scipy.special import bdtr

    n = len(ordered)
    # The rank, from 1, of the lower limit; 0: there is none.
    rank = int(np.sum(bdtr(np.arange(n // 2), n, 0.5) <= (1 - CONFIDENCE) / 2))
    return (ordered[rank - 1], ordered[n - rank]) if rank else (None, None)


def _figures(good: Sequence[Cycle]) -> list[Figures]:
    values: dict[tuple[str, str], list[float]] = {}
    for cycle in good:
        for figure in cycle.figures:
            values.setdefault((figure.name, figure.unit), []).append(figure.value)
    return [
        Figures(name, unit, len(ordered), ordered[0], median(ordered), low, high, ordered[-1])
        for (name, unit), unordered in values.items()
        for ordered in [sorted(unordered)]
        for low, high in [_median_limits(ordered)]
    ]


def rate(count: int, of: int, hours: float) -> Rate:
    """Return the rate of failed cycles among `of`, which took so many hours together."""
    low, high = binomial_limits(count, of, CONFIDENCE) if of else (0.0, 1.0)
    hourly = None
    if hours > 0:
        # Two one-sided limits make a two-sided one.
        one_sided = (1 + CONFIDENCE) / 2
        hourly = HourlyRate(
            count / hours,
            poisson_low(count, one_sided) / hours,
            poisson_high(count, one_sided) / hours,
        )
    return Rate(count, of, low, high, hourly)


def _kinds(failed: Sequence[Cycle], of: int, hours: float) -> list[Failed]:
    kinds = []
    for kind in FAILURE_KINDS:
        of_kind = [(cycle, why) for cycle in failed if (why := _why(cycle, kind)) is not None]
        if of_kind:
            causes = _causes([cycle for cycle, _ in of_kind], kind, of, hours)
            first, why = of_kind[0]
            kinds.append(Failed(kind, rate(len(of_kind), of, hours), first.cycle, why, causes))
    return kinds


def _why(cycle: Cycle, kind: FailureKind) -> str | None:
    """Return why a cycle failed in a way; None where it did not."""
    if cycle.outcome == kind:
        return cycle.why
    return next((cause.why for cause in cycle.causes if cause.kind == kind), None)


def _causes(cycles: Sequence[Cycle], kind: FailureKind, of: int, hours: float) -> list[SeenCause]:
    """Return the causes of a kind, the one of most cycles first."""
    seen: dict[str, list[tuple[Cycle, Cause]]] = {}
    for cycle in cycles:
        for cause in cycle.causes:
            if cause.kind == kind:
                seen.setdefault(cause.what, []).append((cycle, cause))
    return [
        SeenCause(
            kind=kind,
            what=what,
            events=sum(cause.count for _, cause in those),
            rate=rate(len(those), of, hours),
            first_cycle=those[0][0].cycle,
            why=those[0][1].why,
            at_least=any(cause.at_least for _, cause in those),
        )
        for what, those in sorted(seen.items(), key=lambda item: -len(item[1]))
    ]


def _consoles(judged: Sequence[Cycle]) -> Consoles:
    whole = [
        cycle.console.whole
        for cycle in judged
        if cycle.console is not None and (cycle.boot_s or cycle.reboot_s)
    ]
    # A board that crashed during the run cannot print the mark after it.
    return Consoles(whole=whole.count(True), cut=whole.count(False), unknown=whole.count(None))


def _unread_logs(judged: Sequence[Cycle]) -> UnreadLogs | None:
    unread = [cycle for cycle in judged if cycle.kernel_log_unread]
    if not unread:
        return None
    return UnreadLogs(len(unread), unread[0].cycle, unread[0].kernel_log_unread)


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
