"""A summary for test farms and trackers: KCIDB, LAVA, Bencher.

What cannot be trusted has not passed anywhere: it is an error in KCIDB, unknown in LAVA, and not
in Bencher's file at all, which has values only. A lower bound is not a measurement: KCIDB
marks it, LAVA has the name without a value, and Bencher omits it.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from whylate.summary.benchmarks.model import BenchmarkSummary
from whylate.summary.model import RecordingSummary, Requirement, Summary
from whylate.text import plain

#: In KCIDB an origin is a word, and a build's name begins with one.
ORIGIN = re.compile(r"[a-z0-9_]{1,40}")
BUILD = re.compile(r"[a-z0-9_]{1,40}:.{1,200}")
#: Characters of a name that is a part of a path; what is longer is cut.
_LONGEST = 80
#: Names within whylate's own namespace: a summary that is sent again is the same test.
_NAMESPACE = uuid.UUID("6b0d7f0c-58f5-5c0e-9a55-2f6f3c0d9a11")
_KCIDB_STATUS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "DONE", "no verdict": "ERROR"}
#: Names that stay distinct once their dots, commas and spaces are "_".
_EASY = re.compile(r"[A-Za-z0-9-]+(?:(?:(?<=[0-9])\.(?=[0-9])|,? )[A-Za-z0-9-]+)*")
_LAVA_RESULT = {"pass": "pass", "fail": "fail", "inconclusive": "unknown", "no verdict": "unknown"}


@dataclass(frozen=True)
class Kernel:
    """Whose results they are, in KCIDB's words."""

    origin: str
    build_id: str


@dataclass(frozen=True)
class Metric:
    """A figure. whole: of a unit without a prefix, as KCIDB has it. measure: Bencher's word for it.

    at_least: the figure is only a lower bound.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    unit: str
    whole: tuple[float, str]
    measure: str
    at_least: bool = False


@dataclass(frozen=True)
class Exported:
    """What other systems get of a recording. key: identifies it."""

    summary: RecordingSummary
    key: str
    metrics: Sequence[Metric]
    duration_s: float | None = None
    requirements: Sequence[Requirement] = ()

    @property
    def trusted(self) -> bool:
        """Whether the recording has a verdict."""
        return self.summary.trust.verdict == "ok"


def of_latencies(summary: Summary) -> Exported:
    """Return what there is of a recording of latencies."""
    metrics = [
        Metric(
            name, estimate.value, estimate.low, estimate.high, "ns",
            (estimate.value / 1e9, "s"), "latency", estimate.at_least,
        )
        for name, estimate in summary.together.latency_ns.items()
        if estimate.value is not None
    ]  # fmt: skip
    key = summary.samples_sha256 or f"{summary.recording} {summary.created}"
    return Exported(summary, key, metrics, summary.elapsed_ns / 1e9, summary.requirements)


#: Units of benchmarks: factor to a unit without prefix, that unit, and Bencher's measure.
_UNITS = {
    "ns": (1e-9, "s", "latency"),
    "GB/s": (1e9, "B/s", "gb-per-s"),
    "s": (1, "s", "latency"),
}


def of_benchmark(summary: BenchmarkSummary) -> Exported:
    """Return the main figure of each point."""
    metrics = []
    for point in summary.points:
        main = point.main_figure
        if main is None:
            continue
        size, unit, measure = _UNITS.get(main.unit, (1, main.unit, "value"))
        # A copy that reads the zero page has that in its name.
        name = f"{point.name}: {point.note}" if point.note else point.name
        whole = (main.value * size, unit)
        metrics.append(Metric(name, main.value, main.low, main.high, main.unit, whole, measure))
    return Exported(summary, f"{summary.recording} {summary.created}", metrics)


def kcidb(exported: Exported, kernel: Kernel) -> dict[str, Any]:
    """Return KCIDB I/O data of version 5.3 (kcidb-io): one test for each statistic and limit."""

    def test(name: str, status: str, **fields: Any) -> dict[str, Any]:
        path = f"whylate.{_word(exported.summary.workload)}.{_word(name)}"
        # The key may have a path in it, which need not be UTF-8.
        names = plain(f"{kernel.build_id} {exported.key} {path}", 5000)
        return {
            "id": f"{kernel.origin}:{uuid.uuid5(_NAMESPACE, names)}",
            "origin": kernel.origin,
            "build_id": kernel.build_id,
            "path": path,
            "status": status,
            "start_time": exported.summary.created,
            **({} if exported.duration_s is None else {"duration": exported.duration_s}),
            "environment": {"comment": plain(exported.summary.board, 200)},
            **fields,
        }

    tests = []
    for metric in exported.metrics:
        suffix = f"_{metric.unit}" if metric.unit == "ns" else ""
        misc = {
            "at_least": metric.at_least,
            f"low{suffix}": metric.low,
            f"high{suffix}": metric.high,
        }
        value, unit = metric.whole
        number = {"value": value, "unit": plain(unit, 20) or "1", "prefix": "metric"}
        kept = {key: value for key, value in misc.items() if value is not None}
        tests.append(
            test(metric.name, "DONE" if exported.trusted else "ERROR", number=number, misc=kept)
        )
    tests += [
        test(
            f"require.{requirement.text}",
            _KCIDB_STATUS[requirement.verdict],
            comment=plain(requirement.why, 500),
        )
        for requirement in exported.requirements
    ]
    return {"version": {"major": 5, "minor": 3}, "tests": tests}


def bencher(exported: Exported) -> dict[str, Any]:
    """Return Bencher's metric format: figures with their intervals, latencies in ns.

    Empty where the run has no verdict, and without figures that are lower bounds: a value there has
    nothing beside it that could say so.
    """
    if not exported.trusted:
        return {}
    name = f"{_shortened(exported.summary.board, 100)} {_shortened(exported.summary.workload, 40)}"
    document = {}
    for metric in exported.metrics:
        if metric.at_least:
            continue
        # Its measure "latency" is in ns.
        by = 1e9 if metric.unit == "s" else 1.0
        value: dict[str, float] = {"value": by * float(metric.value)}
        if metric.low is not None and metric.high is not None:
            value |= {"lower_value": by * float(metric.low), "upper_value": by * float(metric.high)}
        document[f"{name} {_shortened(metric.name, 100)}"] = {metric.measure: value}
    return document


def lava(exported: Exported) -> Iterator[str]:
    """Give a line for each statistic and limit, as LAVA reads them from a test's output.

    A lower bound is unknown and has no measurement: LAVA cannot mark it.
    """
    for metric in exported.metrics:
        result = "pass" if exported.trusted and not metric.at_least else "unknown"
        measured = f" MEASUREMENT={metric.value:.10g} UNITS={_unit(metric.unit)}"
        measured = "" if metric.at_least else measured
        yield _signal(f"{_word(exported.summary.workload)}-{_word(metric.name)}", result, measured)
    for requirement in exported.requirements:
        name = f"require-{_word(requirement.text)}"
        yield _signal(name, _LAVA_RESULT[requirement.verdict], "")


def _signal(name: str, result: str, measured: str) -> str:
    return f"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={result}{measured}>"


def _unit(text: str) -> str:
    """Return a unit as one word."""
    return re.sub(r"[^A-Za-z0-9_/-]+", "_", text)[:20] or "-"


def _word(text: str) -> str:
    """Return a name as a part of a path: characters A-Z, a-z, 0-9, _ and -.

    Where other names could come out the same (`p99<50us` and `p99<=50us`; what is cut off), it ends
    in a hash of the whole name. It is the name's alone: the same in every run.
    """
    word = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:_LONGEST] or "x"
    return word if _EASY.fullmatch(text) and len(text) <= _LONGEST else f"{word}_{_hash(text)}"


def _shortened(text: str, limit: int) -> str:
    """Return a name as one line; one that is not whole ends in a hash of it."""
    shown = plain(text, limit)
    return shown if shown == text else f"{shown} {_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
