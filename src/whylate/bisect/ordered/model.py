"""What bisections of ordered histories have in common: the plan, and the record of each step."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.bounds import Count, Integer


class OrderedPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of every plan: by what runs are compared, and when the search ends."""

    statistic: str
    confidence: float
    runs: Count
    seed: Integer


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of steps.jsonl.

    kind: a run of the search, a run of the confirmation, a version that cannot be built or run, or
    one whose binary is that of another. version: a hash, or an image. value: of a run, as runs are
    compared; unit: of the statistic. other: the version with the same binary. reason: why it cannot
    be built or run.
    """

    number: Count
    kind: Literal["run", "confirmation", "unbuildable", "same"]
    version: str
    value: float | None = None
    unit: str = "ns"
    other: str = ""
    reason: str = ""
    recording: str = ""
    started: str
    took_s: float
