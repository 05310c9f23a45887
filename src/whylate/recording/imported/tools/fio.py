"""fio --output-format=json or json+: completion latencies of each job and direction.

The mean (of all, with its fraction), the largest and their number are exact; percentiles, and the
bins of json+, are the middle of buckets up to 1/64 as wide as their value (plat_idx_to_val() in
stat.c, FIO_IO_U_PLAT_BITS 6). fio 3 has nanoseconds (clat_ns), fio 2 microseconds (clat). A
completion latency begins when the kernel has the request, and leaves out what submitting it took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whylate.recording.imported.model import (
    ImportedRun,
    InputError,
    Printed,
    histogram_run,
    missed,
    summary_run,
)

_DIRECTIONS = ("read", "write", "trim", "sync")
_UNITS = {"clat_ns": 1, "clat": 1000, "lat_ns": 1}
_NAMES = {50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p99.9", 99.99: "p99.99"}
#: A bucket is at most this part of its value wide.
_PER_BUCKET = 64
_SUBMIT = "the time that submitting a request took"
_BIN = "where in a bucket of up to 1/64 of its size a latency was: the middle is used"
_WIDTH = "up to 1/64 of a percentile: fio prints the middle of a bucket"


def read_json(path: Path, document: dict[str, Any]) -> list[ImportedRun]:
    """Read a run for each job and direction that did anything; empty where it is not of fio.

    Raises InputError.
    """
    jobs = document.get("jobs")
    if not isinstance(jobs, list) or "fio version" not in document:
        return []
    try:
        runs = [run for job in jobs for run in _runs(path, job)]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path} is not the JSON of fio") from None
    if not runs:
        raise InputError(f"{path} is of fio and has no latency of a completion: was it run with "
                         "--disable_clat=1?")  # fmt: skip
    return runs


def _runs(path: Path, job: dict[str, Any]) -> Iterator[ImportedRun]:
    for direction in _DIRECTIONS:
        figures = job.get(direction)
        if not isinstance(figures, dict):
            continue
        for key, scale in _UNITS.items():
            latency = figures.get(key)
            if isinstance(latency, dict) and float(latency.get("max", 0)) > 0:
                name = f"{job['jobname']} {direction}"
                yield _run(path, name, latency, scale, int(figures.get("total_ios", 0)))
                break


def _counts(path: Path, bins: dict[str, Any], most: int) -> dict[int, int]:
    """Return how many latencies each bucket has, none above the largest; raises InputError."""
    counts: Counter[int] = Counter()
    for value, count in bins.items():
        # The middle of the last bucket may lie above the largest latency, which is in it.
        if int(count) and int(value) * (_PER_BUCKET - 1) > most * _PER_BUCKET:
            raise InputError(f"{path} is damaged: its histogram has latencies beyond its maximum")
        counts[min(int(value), most)] += int(count)
    return counts


def _run(path: Path, name: str, latency: dict[str, Any], scale: int, ios: int) -> ImportedRun:
    number = int(latency.get("N", 0)) or ios
    mean_ns, largest_ns = float(latency["mean"]) * scale, float(latency["max"]) * scale
    bins = latency.get("bins")
    if isinstance(bins, dict) and bins:
        counts = _counts(path, bins, int(latency["max"]))
        printed = Printed(mean_ns, largest_ns)
        return histogram_run(path, "fio", counts, 0, scale, printed, _BIN, _SUBMIT, missed("fio"),
                             name=name, of_ends=True)  # fmt: skip
    quantiles = {
        _NAMES[float(percent)]: float(value) * scale
        for percent, value in (latency.get("percentile") or {}).items()
        if float(percent) in _NAMES and float(value) > 0
    }
    lacks = ("every latency but the largest, the mean and percentiles", _WIDTH, _SUBMIT,
             missed("fio"))  # fmt: skip
    return summary_run("fio", mean_ns, largest_ns, lacks, activations=number or None,
                       quantiles_ns=quantiles, name=name)  # fmt: skip
