"""Google Benchmark's --benchmark_out (JSON): the time of an iteration, a value a repetition.

real_time is the wall-clock time of a repetition by its number of iterations, in time_unit, so that
what single iterations took is averaged away (src/benchmark_runner.cc); cpu_time is the same of the
CPU time, and is read as "NAME cpu_time". Aggregates (mean, median, stddev) are no repetitions.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from whylate.recording.imported.lines import json_documents
from whylate.recording.imported.model import InputError
from whylate.recording.imported.named import Named, NamedValue

SIGN = r'"benchmarks" *: *\['
_LACKS = ("the times of single iterations: each value is their mean",)


def read_named(path: Path) -> Named | None:
    """Return the times of each benchmark; None where it is no such file. Raises InputError."""
    values: list[NamedValue] = []
    aggregates = False
    for document in json_documents(path):
        benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
        if not isinstance(benchmarks, list) or not all(map(_is_benchmark, benchmarks)):
            return None
        for benchmark in benchmarks:
            if _is_aggregate(benchmark):
                aggregates = True
            elif benchmark.get("error_occurred"):
                raise InputError(f"{path}: {str(benchmark['name'])[:80]!r} ended with an error: "
                                 "leave it out with --benchmark_filter")  # fmt: skip
            else:
                values += _times(path, benchmark)
    if aggregates and not values:
        raise InputError(f"{path} has aggregates alone: run it with "
                         "--benchmark_report_aggregates_only=false")  # fmt: skip
    return Named("Google Benchmark", values, _LACKS) if values else None


def _is_benchmark(benchmark: Any) -> bool:
    return isinstance(benchmark, dict) and "name" in benchmark and (
        "real_time" in benchmark or "error_occurred" in benchmark or "rms" in benchmark
    )  # fmt: skip


def _is_aggregate(benchmark: dict[str, Any]) -> bool:
    return benchmark.get("run_type") == "aggregate" or "aggregate_name" in benchmark


def _times(path: Path, benchmark: dict[str, Any]) -> list[NamedValue]:
    name = str(benchmark.get("run_name", benchmark["name"]))
    unit = str(benchmark.get("time_unit", "ns"))
    values = []
    for key in ("real_time", "cpu_time"):
        time = benchmark.get(key)
        if time is None:
            continue
        if not isinstance(time, int | float) or not math.isfinite(time):
            raise InputError(f"{path} is damaged: {key} of {name[:80]!r} is no number")
        main = key == "real_time"
        values.append(
            NamedValue(0, name if main else f"{name} {key}", repr(float(time)), unit, main)
        )
    return values
