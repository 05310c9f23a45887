"""The plan of a bisection of commits."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.bisect.ordered.model import OrderedPlan
from whylate.recording.bounds import Small

SCHEMA_VERSION = 1


class CommitsPlan(OrderedPlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """commits.json.

    repository: a path. good, bad: full hashes. build, install: words of commands; no install: none
    is needed. put: "FILE:PATH", a file of a build and its path on the board. before, after: words
    of commands on the board around each run. boot: knobs, {build} in their values for the work
    tree of a commit. binary: the file of a build by which two builds are the same; "": none.
    plan_sha256: of the file with the workload.
    """

    format: Literal["whylate-bisect-commits"] = "whylate-bisect-commits"
    schema_version: Small = SCHEMA_VERSION
    repository: str
    good: str
    bad: str
    first_parent: bool = False
    build: list[str]
    install: list[str]
    put: list[str]
    before: list[list[str]]
    after: list[list[str]]
    boot: dict[str, str] = msgspec.field(default_factory=dict)
    binary: str = ""
    plan_sha256: str
