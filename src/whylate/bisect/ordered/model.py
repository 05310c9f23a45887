"""What bisections of ordered histories have in common: the plan, and the record of each step."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.bounds import Count, Integer

#: Kinds of steps.
Kind = Literal[
    "run", "confirmation", "unbuildable", "same", "reverted", "kept", "not reverted"
]  # fmt: skip
#: Those that are runs.
RUN_KINDS: tuple[Kind, ...] = ("run", "confirmation", "reverted", "kept")


class OrderedPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of every plan: by what runs are compared, and when the search ends."""

    statistic: str
    confidence: float
    runs: Count
    seed: Integer


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of steps.jsonl.

    kind: a run of the search, a run of the confirmation, a version that cannot be built or run, or
    one whose binary is that of another; a run of the last version with one reverted on top, a run
    of the last version beside it, or that there is no such version. version: a hash, or an image.
    board: of a run; "": of the only one. brought_s: how long it took, before a run, to bring its
    version to the boards, where that is done apart from the run.
    value: of a run, as runs are compared; unit: of the statistic. other: the version with the same
    binary. reason: why it cannot be built, run or reverted.
    """

    number: Count
    kind: Kind
    version: str
    board: str = ""
    value: float | None = None
    unit: str = "ns"
    other: str = ""
    reason: str = ""
    recording: str = ""
    started: str
    took_s: float
    brought_s: float = 0.0
