"""A run in the file of another tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError

Int64s = NDArray[np.int64]

#: Activations that are unfolded from a histogram.
MOST_ACTIVATIONS = 200_000_000
#: What files lack, in words for a person.
ORDER = "the order in which the latencies came"
BEYOND = "the latencies beyond the histogram's end"
ALL_BUT_TWO = "every latency but the largest and the mean"


class InputError(RecordingError):
    """A file that cannot be used: one line with the place and the reason."""


def missed(tool: str) -> str:
    """Return the text for overruns, which a tool does not count."""
    return f"activations that were missed during a stall: {tool} leaves them out"


@dataclass(frozen=True)
class ImportedRun:
    """One run.

    tool: whose file it is. latency_ns: int64, in the order in which they came where the file has
    it (ordered), else ascending; None where only a summary was kept. overflow: activations that
    were later than latency_ns tells, by no more than max_ns. average_ns and max_ns: as printed;
    None: not at all. overruns: that the tool itself counted. lacks: what is not in such a file, in
    words for a person.
    """

    tool: str
    latency_ns: Int64s | None
    overflow: int
    ordered: bool
    average_ns: float | None
    max_ns: float | None
    overruns: int
    lacks: tuple[str, ...]
    #: When it began, ISO 8601 in UTC; "": the file does not say.
    made: str = ""


def histogram_run(
    path: Path,
    tool: str,
    counts: Mapping[int, int],
    overflow: int,
    scale: int,
    average_ns: float | None,
    max_ns: float | None,
    *lacks: str,
    made: str = "",
) -> ImportedRun:
    """Return the run of a histogram, counts by latency in units of scale ns; raises InputError."""
    if sum(counts.values()) + overflow > MOST_ACTIVATIONS:
        raise InputError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    values = sorted(counts)
    values_ns = np.array([value * scale for value in values], np.int64)
    latency_ns = np.repeat(values_ns, np.array([counts[value] for value in values], np.int64))
    lacks = (ORDER, *((BEYOND,) if overflow else ()), *lacks)
    return ImportedRun(tool, latency_ns, overflow, False, average_ns, max_ns, 0, lacks, made)


def sum_threads(
    path: Path, tool: str, threads: Iterable[Mapping[str, Any]], count_key: str
) -> tuple[dict[int, int], int, float, int]:
    """Return the histogram, count, average and maximum of all threads in a tool's JSON.

    Raises InputError.
    """
    bins: dict[int, int] = {}
    counted, sums, largest = 0, 0.0, 0
    try:
        for thread in threads:
            for value, count in thread["histogram"].items():
                bins[int(value)] = bins.get(int(value), 0) + int(count)
            counted += int(thread[count_key])
            sums += int(thread[count_key]) * float(thread["avg"])
            largest = max(largest, int(thread["max"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path} is not the JSON of {tool}") from None
    return bins, counted, sums / max(counted, 1), largest
