"""A summary for test farms and trackers: KCIDB, LAVA, Bencher.

What cannot be trusted has not passed anywhere: it is an error in KCIDB, unknown in LAVA, and not
in Bencher's file at all, which has values only.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from whylate.report.text import plain
from whylate.summary.model import Estimate, Summary

#: In KCIDB an origin is a word, and a build's name begins with one.
ORIGIN = re.compile(r"[a-z0-9_]{1,40}")
BUILD = re.compile(r"[a-z0-9_]{1,40}:.{1,200}")
#: Names within whylate's own namespace: a summary that is sent again is the same test.
_NAMESPACE = uuid.UUID("6b0d7f0c-58f5-5c0e-9a55-2f6f3c0d9a11")
_KCIDB_STATUS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "DONE", "no verdict": "ERROR"}
_LAVA_RESULT = {"pass": "pass", "fail": "fail", "inconclusive": "unknown", "no verdict": "unknown"}


@dataclass(frozen=True)
class Kernel:
    """Whose results they are, in KCIDB's words."""

    origin: str
    build_id: str


def kcidb(summary: Summary, kernel: Kernel) -> dict[str, Any]:
    """Return KCIDB I/O data of version 5.3 (kcidb-io): one test for each statistic and limit."""
    key = summary.samples_sha256 or f"{summary.recording} {summary.created}"

    def test(name: str, status: str, **others: Any) -> dict[str, Any]:
        path = f"whylate.{_word(summary.workload)}.{_word(name)}"
        return {
            "id": f"{kernel.origin}:{uuid.uuid5(_NAMESPACE, f'{kernel.build_id} {key} {path}')}",
            "origin": kernel.origin,
            "build_id": kernel.build_id,
            "path": path,
            "status": status,
            "start_time": summary.created,
            "duration": summary.elapsed_ns / 1e9,
            "environment": {"comment": plain(summary.board, 200)},
            **others,
        }

    trusted = summary.trust.verdict == "ok"
    tests = []
    for name, one in _known(summary):
        misc = {"at_least": one.at_least, "low_ns": one.low, "high_ns": one.high}
        number = {"value": (one.value or 0) / 1e9, "unit": "s", "prefix": "metric"}
        kept = {key: value for key, value in misc.items() if value is not None}
        tests.append(test(name, "DONE" if trusted else "ERROR", number=number, misc=kept))
    tests += [
        test(f"require.{one.text}", _KCIDB_STATUS[one.verdict], comment=plain(one.why, 500))
        for one in summary.requirements
    ]
    return {"version": {"major": 5, "minor": 3}, "tests": tests}


def bencher(summary: Summary) -> dict[str, Any]:
    """Return Bencher's metric format: latencies in ns with their intervals.

    Empty where the run has no verdict: a value there has nothing beside it that could say so.
    """
    if summary.trust.verdict != "ok":
        return {}
    name = f"{plain(summary.board, 100)} {plain(summary.workload, 40)}"
    found = {}
    for statistic, one in _known(summary):
        value: dict[str, float] = {"value": float(one.value or 0)}
        if one.low is not None and one.high is not None:
            value |= {"lower_value": float(one.low), "upper_value": float(one.high)}
        found[f"{name} {statistic}"] = {"latency": value}
    return found


def lava(summary: Summary) -> Iterator[str]:
    """Give a line for each statistic and limit, as LAVA reads them from a test's output."""
    trusted = summary.trust.verdict == "ok"
    for name, one in _known(summary):
        result = "pass" if trusted else "unknown"
        yield _signal(f"{_word(summary.workload)}-{_word(name)}", result, one.value)
    for requirement in summary.requirements:
        name = f"require-{_word(requirement.text)}"
        yield _signal(name, _LAVA_RESULT[requirement.verdict], None)


def _known(summary: Summary) -> Iterator[tuple[str, Estimate]]:
    for name, one in summary.together.latency_ns.items():
        if one.value is not None:
            yield name, one


def _signal(name: str, result: str, value_ns: int | None) -> str:
    measured = "" if value_ns is None else f" MEASUREMENT={value_ns} UNITS=ns"
    return f"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={result}{measured}>"


def _word(text: str) -> str:
    """Return a name as a part of a path: letters, digits, _ and -."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:80] or "x"
