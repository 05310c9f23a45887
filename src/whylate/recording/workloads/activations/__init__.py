"""The family of workloads with activations: what they have in common."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import msgspec

from whylate.recording.bounds import Block, LimitNs, RunNs, Small

if TYPE_CHECKING:
    from whylate.recording.treatments import Treatment
    from whylate.recording.workloads.app import Target
    from whylate.recording.workloads.benchmarks import CounterPlan
    from whylate.recording.workloads.wakeup import UntilPlan

Engine = Literal["best", "bpf", "tracefs"]


class DetachPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The blocks of time in which the recorder is detached, to measure what it adds to latencies.

    Block k is [start + k * block_ns, start + (k + 1) * block_ns) of the first CPU's start_ns. Of
    `every` blocks that follow each other, a group, one is detached, drawn at random.
    """

    block_ns: RunNs
    every: Small
    #: Their numbers, ascending.
    blocks: list[Block]

    def __post_init__(self) -> None:
        """Raise ValueError for blocks that are no such draw."""
        if self.every < 2 or any(a >= b for a, b in pairwise(self.blocks)):
            raise ValueError("blocks that nobody drew")


class RecorderPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the flight recorder records."""

    engine: Engine = "best"
    #: Above it an activation is late; None: by rank, the slowest tail_ppm of a million.
    threshold_ns: LimitNs | None = None
    #: Twice the tail that `explain` reports: which activations it will hold is not known yet. Of
    #: executions 0: as many as can be recorded, by how many come before the run.
    tail_ppm: Small = 2000
    #: One activation of so many is recorded as a control, whatever its latency. 0: as above.
    control_every: Small = 1000
    #: The first activation above it ends the run; None: no activation does.
    stop_above_ns: LimitNs | None = None
    #: None: it stays attached throughout. Of the wakeup workload alone.
    detach: DetachPlan | None = None


class ActivationWorkload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"
):
    """A workload whose samples are activations. recorder None: no window is recorded."""

    duration_ns: RunNs
    #: Samples stay on the board until the run is over.
    spool: bool = False
    recorder: RecorderPlan | None = None

    @property
    def kind(self) -> str:
        """The name of the workload."""
        return str(self.__struct_config__.tag)

    # A workload overrides what it has by a field of that name.

    @property
    def is_scheduled(self) -> bool:
        """Whether activations come at planned times, so that some may be overrun."""
        return self.target is None

    @property
    def has_parts(self) -> bool:
        """Whether rows are executions, of which more is known than their duration."""
        return False

    @property
    def subject(self) -> str:
        """What is measured, where the user names it: a program, or a piece of code."""
        return self.target.description if self.target is not None else ""

    @property
    def longer_than_ns(self) -> int | None:
        """Activations that take longer have a row if they were not drawn, too; None: none have."""
        return None

    @property
    def experiment(self) -> Treatment | None:
        """What is done before executions that are treated, by chance; they are kept apart."""
        return None

    @property
    def function(self) -> str:
        """The function of the kernel that is timed from its entry to its return; empty: none is."""
        return ""

    @property
    def counted(self) -> str:
        """What a row is of."""
        return "activations"

    @property
    def quantity(self) -> str:
        """What is measured of each."""
        return "latency"

    @property
    def for_fewer(self) -> str:
        """What has fewer rows in a second, beside a shorter run; empty: nothing has."""
        return "with a longer --interval" if self.target is None else ""

    @property
    def interval_ns(self) -> int:
        """The period of the activations; 0: they have none."""
        return 0

    @property
    def priority(self) -> int:
        """The SCHED_FIFO priority of the measuring threads; 0: there are no such threads."""
        return 0

    @property
    def phase_ns(self) -> int:
        """How much later the first activation is due."""
        return 0

    @property
    def allow_idle_states(self) -> bool:
        """Whether CPUs may enter deep idle states."""
        return False

    @property
    def until(self) -> UntilPlan | None:
        """When the run may end early; None: never."""
        return None

    @property
    def counters(self) -> list[CounterPlan]:
        """The events that are counted of each measuring thread."""
        return []

    @property
    def row_counters(self) -> list[str]:
        """The events that are counted of each row, by their names."""
        return []

    @property
    def target(self) -> Target | None:
        """The program that is watched; None: the probe's own threads are measured."""
        return None
