"""Running the workload `off`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from whylate.quantities import parse_ns
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.off import ASKED, WHATS, Asked, Off, OffPoint, What
from whylate.run.errors import RequestError
from whylate.run.workloads.rules import BenchmarkRules, Parameter, one_of
from whylate.run.workloads.tables import BenchmarkTable, Duration
from whylate.wire.constants import LONGEST_SAMPLING_NS, MOST_OFF_COUNTS, SHORTEST_SAMPLING_NS
from whylate.wire.messages import BenchOff

#: No part of what timers of a system mostly have: what comes with those would always lie at one
#: place of the sampling grid.
DEFAULT_PERIOD_NS = 53_000
DEFAULT_LENGTH_NS = 20_000_000_000
#: A turn is no longer: its samples are kept on the board until its end.
LONGEST_TURN_NS = 60_000_000_000
#: Blocks of time of a turn, where a block has as many points of the grid.
_BLOCKS, _FEWEST_BLOCKS = 200, 10
_BLOCK_NS, _POINTS = 50_000_000, 100


def off_workload(
    name: str,
    length_ns: int,
    period_ns: int = DEFAULT_PERIOD_NS,
    method: Asked = "best",
    counters: Sequence[CounterPlan] = (),
) -> Off:
    """Return what looks so long; raises RequestError for an impossible length or name."""
    what = next((what for what in WHATS if what == name), None)
    if what is None:
        raise RequestError(f"{name[:40]!r}: expected one of {', '.join(WHATS)}")
    check_period(period_ns)
    if len(counters) > MOST_OFF_COUNTS:
        raise RequestError(f"{what} takes up to {MOST_OFF_COUNTS} counters")
    least_ns = _FEWEST_BLOCKS * _POINTS * period_ns
    if not least_ns <= length_ns <= 1000 * LONGEST_TURN_NS:
        raise RequestError(
            f"{what} samples every {period_ns / 1e3:g} us: --for must lie between "
            f"{least_ns / 1e6:g} ms and 1000 minutes"
        )
    rounds = -(-length_ns // LONGEST_TURN_NS)
    turn_ns = length_ns // rounds
    least_block_ns = max(_BLOCK_NS, _POINTS * period_ns)
    blocks = max(_FEWEST_BLOCKS, min(_BLOCKS, turn_ns // least_block_ns))
    return Off(
        points=[OffPoint(what, period_ns, method)],
        rounds=rounds,
        repetitions=blocks,
        block_ns=turn_ns // blocks,
        counters=list(counters),
    )


def check_period(period_ns: int) -> None:
    """Raise RequestError for a period that no board can be sampled by."""
    if not SHORTEST_SAMPLING_NS <= period_ns <= LONGEST_SAMPLING_NS:
        raise RequestError("--every must lie between 10us and 10ms")


def _parse_period(text: str) -> int | None:
    return parse_ns(text, latency=False)


class OffTable(BenchmarkTable, kw_only=True):
    """[off]. length: of a run."""

    what: What = "irqs-off"
    every: Duration = Duration(DEFAULT_PERIOD_NS)
    length: Duration = Duration(DEFAULT_LENGTH_NS)
    method: Asked = "best"

    def workload(self) -> Workload:
        """Return what samples so long; raises RequestError."""
        counters = [CounterPlan(name) for name in self.counters]
        return off_workload(self.what, int(self.length), int(self.every), self.method, counters)


class OffRules(BenchmarkRules):
    """Times in which interrupts or preemption are disabled."""

    table: ClassVar[type[BenchmarkTable] | None] = OffTable
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "what": ("what", one_of(WHATS)),
        "every": ("period_ns", _parse_period),
        "method": ("method", one_of(ASKED)),
    }

    def check_point(self, point: OffPoint) -> None:
        """Raise RequestError for an invalid period."""
        check_period(point.period_ns)

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Accept any number of CPUs."""

    def pin(
        self, point: OffPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> OffPoint:
        """Sample the requested CPUs, or all."""
        return msgspec.structs.replace(point, cpus=tuple(cpus or available))

    def patience_s(self, workload: Off) -> float:
        """Return how long a turn may take without a repetition: they come at its end."""
        return super().patience_s(workload) + workload.repetitions * workload.block_ns / 1e9

    def command(self, workload: Off, point: OffPoint, turn: int) -> BenchOff:
        """Return the command that samples a turn."""
        return BenchOff(
            turn=turn,
            what=WHATS.index(point.what),
            method=ASKED.index(point.method),
            period_ns=point.period_ns,
            block_ns=workload.block_ns,
            repetitions=workload.repetitions,
            cpus=point.cpus,
        )
