"""A run in the file of another tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError

Int64s = NDArray[np.int64]

#: Activations of a run: 30,000 years of one a millisecond, and their sum times any latency that
#: can be is a float's.
MOST_ACTIVATIONS = 10**15
#: Thirty years: beyond it a number is no latency.
MOST_NS = 10**18
#: What files lack, in words for a person.
ORDER = "the order in which the latencies came"
BEYOND = "the latencies beyond the histogram's end"
ALL_BUT_TWO = "every latency but the largest and the mean"


class InputError(RecordingError):
    """A file that cannot be used: one line with the place and the reason."""


def missed(tool: str) -> str:
    """Return the text for overruns, which a tool does not count."""
    return f"activations that were missed during a stall: {tool} leaves them out"


def cut_mean(tool: str, cut: str) -> str:
    """Return the text for a mean that a tool prints without its fraction; cut: "1 µs"."""
    return f"up to {cut} of the mean: {tool} prints it without its fraction"


@dataclass(frozen=True)
class ImportedRun:
    """One run.

    tool: whose file it is. latency_ns: int64, in the order in which they came where the file has
    it (ordered), else ascending, each once; None where only a summary was kept. counts: int64, of
    the same shape: how many activations in a row had each. overflow: activations that were later
    than latency_ns tells, by no more than max_ns. average_ns and max_ns: of the histogram where it
    is whole, else as printed; None: not known. average_cut_ns: by how much the mean may be larger
    than average_ns; 0: by nothing. overruns: that the tool itself counted. lacks: what is not in
    such a file, in words for a person. made: when it began, ISO 8601 in UTC; "": not known.
    activations: of a summary, how many it is of; None: not known. quantiles_ns: of a summary, by
    name as in whylate's ("p99.9"). name: of the run among others of its file; "": none.
    """

    tool: str
    latency_ns: Int64s | None
    counts: Int64s | None
    overflow: int
    ordered: bool
    average_ns: float | None
    max_ns: float | None
    overruns: int
    lacks: tuple[str, ...]
    made: str = ""
    average_cut_ns: float = 0.0
    activations: int | None = None
    quantiles_ns: tuple[tuple[str, float], ...] = ()
    name: str = ""

    @property
    def n(self) -> int | None:
        """How many activations it is of, those beyond the histogram's end among them."""
        if self.counts is None:
            return self.activations
        return int(self.counts.sum()) + self.overflow


def summary_run(
    tool: str,
    average_ns: float | None,
    max_ns: float | None,
    lacks: Sequence[str] = (),
    *,
    average_cut_ns: float = 0.0,
    activations: int | None = None,
    quantiles_ns: Mapping[str, float] | None = None,
    overruns: int = 0,
    made: str = "",
    name: str = "",
) -> ImportedRun:
    """Return a run of which a tool kept a few figures alone."""
    quantiles = tuple((quantiles_ns or {}).items())
    return ImportedRun(
        tool, None, None, 0, False, average_ns, max_ns, overruns, tuple(lacks), made,
        average_cut_ns, activations, quantiles, name,
    )  # fmt: skip


def series_run(
    path: Path,
    tool: str,
    latencies: Sequence[int],
    scale: int,
    lacks: Sequence[str] = (),
    *,
    name: str = "",
) -> ImportedRun:
    """Return a run of latencies in the order in which they came, in units of scale ns.

    There is at least one. Raises InputError.
    """
    if max(abs(min(latencies)), abs(max(latencies))) * scale > MOST_NS:
        raise InputError(f"{path} is damaged: it has impossible latencies")
    latency_ns = np.array(latencies, np.int64) * scale
    # Consecutive equal latencies are one.
    first = np.flatnonzero(np.concatenate(([True], np.diff(latency_ns) != 0)))
    counts = np.diff(np.append(first, latency_ns.size))
    return ImportedRun(
        tool, latency_ns[first], counts, 0, True, float(latency_ns.mean()),
        float(latency_ns.max()), 0, tuple(lacks), name=name,
    )  # fmt: skip


def histogram_run(
    path: Path,
    tool: str,
    bins: Mapping[int, int],
    overflow: int,
    scale: int,
    printed: Printed,
    *lacks: str,
    made: str = "",
    name: str = "",
    of_ends: bool = False,
) -> ImportedRun:
    """Return the run of a histogram, counts by latency in units of scale ns.

    Its mean is that of the histogram: of what lies beyond its end the printed average knows more,
    which no tool prints exactly; the larger of both is what the mean is at least. of_ends: its
    latencies are the ends of buckets, so that its own mean is too large. Raises InputError.
    """
    values = [value for value in sorted(bins) if bins[value]]
    counts = [bins[value] for value in values]
    inside = sum(counts)
    if not 0 <= overflow <= MOST_ACTIVATIONS or inside + overflow > MOST_ACTIVATIONS:
        raise InputError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    if min(counts, default=0) < 0:
        raise InputError(f"{path} is damaged: it has an invalid time or count")
    if values and max(-values[0], values[-1]) * scale > MOST_NS:
        raise InputError(f"{path} is damaged: it has impossible latencies")
    largest_ns = values[-1] * scale if values else 0
    # The end of a bucket may lie beyond the largest of its latencies.
    if values and not of_ends and printed.max_ns is not None and printed.max_ns < largest_ns:
        raise InputError(f"{path} is damaged: its histogram has latencies beyond its maximum")
    total = sum(value * count for value, count in zip(values, counts, strict=True))
    average_ns, cut_ns = printed.average_ns, printed.cut_ns
    if inside and not overflow and not of_ends:
        average_ns, cut_ns = total / inside * scale, 0.0
    elif inside and overflow and average_ns is not None and not of_ends:
        # The mean of all is at least that, with those beyond the end at the end.
        least_ns = (total + overflow * values[-1]) / (inside + overflow) * scale
        if average_ns < least_ns <= average_ns + cut_ns:
            average_ns, cut_ns = least_ns, average_ns + cut_ns - least_ns
    more = (cut_mean(tool, printed.cut_text),) if cut_ns and printed.cut_text else ()
    return ImportedRun(
        tool,
        np.array([value * scale for value in values], np.int64),
        np.array(counts, np.int64),
        overflow,
        False,
        average_ns,
        printed.max_ns,
        0,
        (ORDER, *((BEYOND,) if overflow else ()), *more, *lacks),
        made,
        cut_ns,
        name=name,
    )


@dataclass(frozen=True)
class Printed:
    """What a tool printed beside a histogram.

    cut_ns: how much larger the mean may be than average_ns, for it is printed without its
    fraction; cut_text: the same as text.
    """

    average_ns: float | None
    max_ns: float | None
    cut_ns: float = 0.0
    cut_text: str = ""


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
