"""Reports on the turns of a benchmark, beside its repetitions; part of the manifest."""

from __future__ import annotations

import msgspec

from whylate.recording.bounds import Count, Small, TimeNs, Turn
from whylate.recording.off import OffReport


class Backing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands behind a buffer. present: of its pages, those in memory.

    frames: how many different ones stand behind those; None where the kernel does not show them.
    """

    pages: Count
    present: Count
    frames: Count | None
    huge_bytes: Count
    hugetlb_bytes: Count


class Buffers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The buffers of a turn at one moment; None where it has no such buffer."""

    source: Backing | None = None
    target: Backing | None = None


class Flushes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Flushes of the translation buffer in a block of their own.

    error: the errno for which they were not counted (2, ENOENT: the kernel does not tell of them).
    """

    hops: Count
    switches: Count
    flushes: Count
    error: Small = 0


class FlushReasons(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Flushes of the same block by reason, in the order of REASONS. error: as of Flushes."""

    counts: list[Count] = []
    error: Small = 0


class VictimFlushes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Flushes for which the victim of switches was interrupted, in the blocks of a turn.

    shared: while processes were switched on another CPU; other: threads. error: as of Flushes.
    """

    shared: Count
    other: Count
    error: Small = 0


class Nature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What reading a clock is. system_call: whether one is made; None: not known."""

    system_call: bool | None
    resolution_ns: TimeNs


class Sharing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reads of a clock in a form of remedies/shared_read.h.

    direct_ps, strict_ps: a read by a caller that is alone, in ps. break_even_ps: a clock that takes
    less a read is not worth sharing. patience: in polls; 0: nothing was shared. stale: of so many
    checks, values that were sampled before the call, by at most most_stale_ns.
    """

    direct_ps: Count
    strict_ps: Count
    break_even_ps: Count
    patience: Count
    checks: Count
    stale: Count
    most_stale_ns: TimeNs


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What remedies/bulk_work.h makes of the costs of bulk work.

    floor_ns: the median delay without work. item_ps: a line; gap_ns: letting go of the lock.
    choice: in lines; 0: the chunk was given, or the costs could not be found; then item_ps is
    0, too. chunk: what was measured.
    """

    floor_ns: Count
    item_ps: Count
    gap_ns: Count
    choice: Count
    chunk: Count


class TurnReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A turn. error: why it failed; "" if it did not."""

    turn: Turn
    error: str = ""
    #: Of memory: before the first repetition, and after the last.
    before: Buffers | None = None
    after: Buffers | None = None
    flushes: Flushes | None = None
    #: Of switches.
    flush_reasons: FlushReasons | None = None
    #: Of switches that are traced: the errno for which a turn has no trace; 0.
    trace_error: Small | None = None
    trace_bytes: Count = 0
    #: Of flushes beside a victim: the errno for which they were not counted; 0.
    counting_error: Small | None = None
    #: Of flushes at switches.
    victim_flushes: VictimFlushes | None = None
    nature: Nature | None = None
    sharing: Sharing | None = None
    #: Of bulk work.
    tuning: Tuning | None = None
    #: Of a command: whether more was written than was kept, and how many bytes were.
    output_cut: bool = False
    output_bytes: Count = 0
    #: Of interrupts or preemption disabled.
    off: OffReport | None = None
