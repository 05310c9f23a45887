"""What became of all executions of a section, and how long they took."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from whylate.recording.bounds import Count, Cpu, Integer, TimeNs
from whylate.recording.waits import WaitBin
from whylate.wire.constants import (
    MOST_EXECUTION_COUNTS,
    MOST_LOCK_GROUPS,
    MOST_ONE_IN,
    MOST_PATH_GROUPS,
    MOST_TREATMENT_READS,
    WAIT_BINS,
    ExecutionPart,
    SectionHook,
)

#: Callers of a wait that are kept (probe/src/section/bpf/layout.h).
MOST_CALLERS = 8
#: The same of the end of an execution.
MOST_PATH_CALLERS = 24
HookName = Literal[
    "fentry", "kprobe session", "kprobe multi", "kprobe", "tracepoint", "uprobe",
    "kprobe event", "trace event",
]  # fmt: skip
#: By the number that the probe sends.
HOOKS: dict[int, HookName] = {
    SectionHook.FENTRY: "fentry",
    SectionHook.KPROBE_SESSION: "kprobe session",
    SectionHook.KPROBE_MULTI: "kprobe multi",
    SectionHook.KPROBE: "kprobe",
    SectionHook.TRACEPOINT: "tracepoint",
    SectionHook.UPROBE: "uprobe",
    SectionHook.KPROBE_EVENT: "kprobe event",
    SectionHook.TRACE_EVENT: "trace event",
}

PartName = Literal[
    "interrupts", "switches", "locks", "page faults", "time of page faults", "steal", "own code"
]
#: What is observed, by the bit that the probe sends.
OBSERVED: dict[ExecutionPart, PartName] = {
    ExecutionPart.INTERRUPTED: "interrupts",
    ExecutionPart.SWITCHED: "switches",
    ExecutionPart.LOCK: "locks",
    ExecutionPart.FAULT: "page faults",
    ExecutionPart.FAULT_TIME: "time of page faults",
    ExecutionPart.STEAL: "steal",
    ExecutionPart.SAMPLE: "own code",
}


class CpuBins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All executions that ended on a CPU, by how long they took; bins: in ascending order."""

    cpu: Cpu
    bins: Annotated[list[WaitBin], Meta(min_length=1, max_length=WAIT_BINS)]

    def __post_init__(self) -> None:
        """Raise ValueError for bins in no order."""
        if any(later.bin <= before.bin for before, later in pairwise(self.bins)):
            raise ValueError("bins of executions in no order")


class SectionAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """entries = returned + in_flight + left + too_deep + no_room.

    in_flight: had not returned at the end. left: their code was left without a return that was
    seen. too_deep: within more executions of one thread than are kept. no_room: too many threads
    were in the section at a time. unmatched: returns of executions that began before the start, or
    that were refused. missed: times that a hook did not run: another was at work there.
    """

    entries: Count
    returned: Count
    in_flight: Count
    left: Count
    too_deep: Count
    no_room: Count
    unmatched: Count
    missed: Count

    @property
    def closes(self) -> bool:
        """Whether every entry is accounted for."""
        parts = (self.returned, self.in_flight, self.left, self.too_deep, self.no_room)
        return self.entries == sum(parts)


class CountAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Executions that are kept, by whether what was counted is their own.

    own: have counts, without what interrupts and other threads counted as far as these were
    observed. refused: a counter was not on the CPU all the time, or could not be read. shared: the
    execution ended on another CPU, and no switch of its thread was observed.
    """

    own: Count = 0
    refused: Count = 0
    shared: Count = 0


class SectionFloor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long an empty section takes by the same hook, before the run or after it.

    floor_ns: the median of so many executions. with_ns, without_ns: the median call of empty code
    with hooks and without, in blocks that take turns; 0: not measured. why: why nothing is known.
    """

    executions: Count
    floor_ns: TimeNs
    with_ns: TimeNs
    without_ns: TimeNs
    why: str = ""


class LockReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Waits for locks in a section that have the same callers, the innermost first.

    lock: its address; None: several locks. name: of what lies there, "" where the kernel does not
    show it. flags: LCB_F_ of linux/lock.h. callers: "" where a name is not known; none: all waits
    that have no group of their own.
    """

    lock: Integer | None
    name: str
    flags: Count
    count: Count
    total_ns: TimeNs
    longest_ns: TimeNs
    callers: Annotated[list[str], Meta(max_length=MOST_CALLERS)]


class PathReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Executions that ended with the same callers, the innermost first.

    longer: those that took longer than above_ns of the PathsReport; total_ns, longest_ns: of them.
    control: some of the others. callers: "" where a name is not known; none: all executions that
    have no group of their own.
    """

    longer: Count
    total_ns: TimeNs
    longest_ns: TimeNs
    control: Count
    callers: Annotated[list[str], Meta(max_length=MOST_PATH_CALLERS)]


class PathsReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The call paths of executions that took longer than above_ns, and of some others.

    above_ns None: too few executions came before the run to know a median. lost: longer executions
    without a path, which came too many at a time.
    """

    above_ns: TimeNs | None
    lost: Count
    groups: Annotated[list[PathReport], Meta(max_length=MOST_PATH_GROUPS)] = []


class ArmReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Executions of one arm of an experiment, treated or of the placebo.

    reads: of a line of 64 bytes each, before an execution, as many in either arm. failed: those of
    all executions that found no memory there. bins: executions, by how long reading took before
    each, in ascending order. Where code is flushed, reads: lines of it; bins: flushes after which
    it was read, of which there are fewer than executions. code: calls of functions; tlb: pages that
    are touched; bins: walks after which others of these were, of which there are fewer as well.
    """

    treated: bool
    reads: Annotated[int, Meta(ge=1, le=MOST_TREATMENT_READS)]
    entries: Count
    returned: Count
    failed: Count
    bins: Annotated[list[WaitBin], Meta(max_length=WAIT_BINS)]

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that contradict each other."""
        if any(later.bin <= before.bin for before, later in pairwise(self.bins)):
            raise ValueError("bins of an arm in no order")
        if self.reads_counted > self.entries:
            raise ValueError("more reads of an arm than executions")
        if self.returned > self.entries or self.failed > self.entries * self.reads:
            raise ValueError("more executions of an arm than began")

    @property
    def reads_counted(self) -> int:
        """How often it is known for how long was read."""
        return sum(part.count for part in self.bins)


class SectionReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the executions of a run were timed, and what became of all of them.

    one_in: of so many executions one was drawn, and has a row. observed: what is known of threads
    in the section. tried: executions in tried_ns before the start. account None: the run broke
    before its end. counts: None where no event was counted.
    """

    hook: HookName
    observed: list[PartName] = []
    one_in: Annotated[int, Meta(ge=1, le=MOST_ONE_IN)]
    tried_ns: TimeNs
    tried: Count
    account: SectionAccount | None = None
    cpus: list[CpuBins] = []
    counts: CountAccount | None = None
    #: What is counted of an empty section, by event; none: not known.
    hook_counts: Annotated[list[Count], Meta(max_length=MOST_EXECUTION_COUNTS)] = []
    #: Where they were asked for: waits for locks, in groups.
    locks: Annotated[list[LockReport], Meta(max_length=MOST_LOCK_GROUPS)] = []
    #: Where they were asked for.
    paths: PathsReport | None = None
    #: The same of where executions were seen in their own code, each once.
    samples: PathsReport | None = None
    #: Of an experiment: the placebo and what is treated.
    arms: Annotated[list[ArmReport], Meta(max_length=2)] = []
    #: None where the run broke before.
    floor_before: SectionFloor | None = None
    floor_after: SectionFloor | None = None
