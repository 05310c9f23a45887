"""Times in which interrupts or preemption were disabled, as samples or tracepoints saw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from whylate.recording.bounds import Count, Cpu, Small, TimeNs
from whylate.recording.sections import MOST_PATH_CALLERS, CpuBins
from whylate.recording.waits import PARTS, bin_edges
from whylate.wire.constants import (
    MOST_OFF_COUNTS,
    MOST_OFF_GROUPS,
    MOST_OFF_LONGEST,
    OffClass,
    OffMethod,
)

#: What samples show, by the number that the probe sends.
ClassName = Literal["disabled", "handler", "user", "unknown"]
CLASSES: dict[int, ClassName] = {
    OffClass.DISABLED: "disabled",
    OffClass.HANDLER: "handler",
    OffClass.USER: "user",
    OffClass.UNKNOWN: "unknown",
}
#: How it is known, by the number that the probe sends.
Method = Literal["sampled", "tracepoints"]
METHODS: dict[int, Method] = {
    OffMethod.SAMPLED: "sampled",
    OffMethod.TRACEPOINTS: "tracepoints",
}
#: The reason why nothing better is used; longer ones are cut.
MOST_REASON = 300
#: Two an octave, to beyond the longest turn.
MOST_BINS = 60
#: What shows that it was disabled.
SHOWN = ("disabled", "handler")


class OffCpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a CPU was sampled, or traced. lost: samples, or longer stretches, without room.

    With tracepoints samples are all stretches, work those in the piece of work, and unpaired the
    ends without a beginning. usual_ns: the median lateness of a sample; limit_ns: above it one is
    late. without_ns, with_ns: a piece of work without samples and with them; 0: not measured.
    """

    cpu: Cpu
    samples: Count
    lost: Count
    usual_ns: TimeNs
    limit_ns: TimeNs
    without_ns: TimeNs
    with_ns: TimeNs
    work: Count = 0
    unpaired: Count = 0


class OffGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Stretches that ended with the same callers, the innermost first; no callers: all others.

    began: where they began, known with tracepoints alone; there a point is a ns. stretches: those
    that any point of the grid lay in. lasting: those that were seen for a period
    or more; seen_ns: of these, together; longest_ns: of the longest. points: of the grid.
    """

    group: Small
    why: ClassName
    stretches: Count
    lasting: Count
    points: Count
    seen_ns: TimeNs
    longest_ns: TimeNs
    callers: Annotated[list[str], Meta(max_length=MOST_PATH_CALLERS)]
    began: Annotated[list[str], Meta(max_length=MOST_PATH_CALLERS)] = []


class OffStretch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the longest. at_ns: when it was seen to end, since the start of its turn.

    counts: of the plan's counters, in the last counted_ns of it; none where they are not known.
    """

    at_ns: TimeNs
    cpu: Cpu
    pid: Count
    comm: str
    seen_ns: TimeNs
    points: Count
    group: Small
    counted_ns: TimeNs = 0
    counts: Annotated[list[Count], Meta(max_length=MOST_OFF_COUNTS)] = []


class OffBin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Stretches that were seen for low_ns or more, and less than high_ns."""

    low_ns: TimeNs
    high_ns: TimeNs
    count: Count


class OffReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the samples, or the tracepoints, of a turn showed. why: nothing better was used."""

    method: Method = "sampled"
    why: Annotated[str, Meta(max_length=MOST_REASON)] = ""
    cpus: list[OffCpu] = []
    groups: Annotated[list[OffGroup], Meta(max_length=MOST_OFF_GROUPS)] = []
    longest: Annotated[list[OffStretch], Meta(max_length=MOST_OFF_LONGEST)] = []
    #: Of those that were seen for a period or more: two bins an octave, from the period on; with
    #: tracepoints of all, one an octave.
    bins: Annotated[list[OffBin], Meta(max_length=MOST_BINS)] = []
    #: Of all stretches, with tracepoints alone.
    durations: list[CpuBins] = []

    def __post_init__(self) -> None:
        """Raise ValueError for groups out of their order, or a stretch of none."""
        if any(group.group != place for place, group in enumerate(self.groups)):
            raise ValueError("groups of stretches in no order")
        if any(not 0 <= stretch.group < len(self.groups) for stretch in self.longest):
            raise ValueError("a stretch of no group")


def count_durations(durations: Sequence[CpuBins]) -> dict[int, int]:
    """Return how many stretches of all CPUs are in each bin, in ascending order."""
    counts: dict[int, int] = {}
    for cpu in durations:
        for part in cpu.bins:
            counts[part.bin] = counts.get(part.bin, 0) + part.count
    return dict(sorted(counts.items()))


def bin_durations(durations: Sequence[CpuBins]) -> list[OffBin]:
    """Return how many stretches lasted how long, of all: the shortest together, then octaves."""
    counts: dict[int, int] = {}
    for number, count in count_durations(durations).items():
        octave = number // PARTS
        counts[octave] = counts.get(octave, 0) + count
    return [
        OffBin(bin_edges(PARTS * octave)[0], bin_edges(PARTS * octave + PARTS - 1)[1], count)
        for octave, count in counts.items()
    ]
