"""Reports on the turns of a benchmark, beside its repetitions; part of the manifest."""

from __future__ import annotations

import msgspec


class Backing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands behind a buffer. present: of its pages, those in memory.

    frames: how many different ones stand behind those; None where the kernel does not show them.
    """

    pages: int
    present: int
    frames: int | None
    huge_bytes: int
    hugetlb_bytes: int


class Buffers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The buffers of a turn at one moment; None where it has no such buffer."""

    source: Backing | None = None
    target: Backing | None = None


class Flushes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Flushes of the translation buffer in a block of their own.

    error: the errno for which they were not counted (2, ENOENT: the kernel does not tell of them).
    """

    hops: int
    switches: int
    flushes: int
    error: int = 0


class Nature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What reading a clock is. system_call: whether one is made; None: not known."""

    system_call: bool | None
    resolution_ns: int


class TurnReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A turn. error: why it failed; "" if it did not."""

    turn: int
    error: str = ""
    #: Of memory: before the first repetition, and after the last.
    before: Buffers | None = None
    after: Buffers | None = None
    flushes: Flushes | None = None
    nature: Nature | None = None
    #: Of a command: whether more was written than was kept, and how many bytes were.
    output_cut: bool = False
    output_bytes: int = 0
