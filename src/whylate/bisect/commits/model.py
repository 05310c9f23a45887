"""The plan of a bisection of commits, and the record of each of its steps."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.bounds import Count, Integer, Small

SCHEMA_VERSION = 1


#: Kinds of steps.
Kind = Literal[
    "run", "confirmation", "unbuildable", "same", "reverted", "kept", "not reverted"
]  # fmt: skip
#: Those that are runs.
RUN_KINDS: tuple[Kind, ...] = ("run", "confirmation", "reverted", "kept")


class CommitsPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """commits.json.

    repository: a path. good, bad: full hashes. build, install: words of commands; no install: none
    is needed. put: "FILE:PATH", a file of a build and its path on the board. before, after: words
    of commands on the board around each run. binary: the file of a build by which two builds are
    the same; "": none. plan_sha256: of the file with the workload.
    """

    format: Literal["whylate-bisect-commits"] = "whylate-bisect-commits"
    schema_version: Small = SCHEMA_VERSION
    repository: str
    good: str
    bad: str
    first_parent: bool = False
    build: list[str]
    install: list[str] = []
    put: list[str] = []
    before: list[list[str]] = []
    after: list[list[str]] = []
    binary: str = ""
    plan_sha256: str
    statistic: str
    confidence: float
    runs: Count
    seed: Integer


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of steps.jsonl.

    kind: a run of the search, a run of the confirmation, a commit that cannot be built or run, or
    one whose binary is that of another; a run of BAD with the commit reverted on top, a run of BAD
    beside it, or that there is no such version. value: of a run, as runs are compared; unit: of the
    statistic. other: the commit with the same binary. reason: why it cannot be built, run or
    reverted.
    """

    number: Count
    kind: Kind
    commit: str
    value: float | None = None
    unit: str = "ns"
    other: str = ""
    reason: str = ""
    recording: str = ""
    started: str
    took_s: float
