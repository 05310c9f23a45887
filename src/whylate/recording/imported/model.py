"""A run in the file of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError

Int64s = NDArray[np.int64]


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


def from_counts(values_ns: Sequence[int], counts: Sequence[int]) -> Int64s:
    """Return the latencies of a histogram, ascending, int64, shape (sum of counts,)."""
    order = np.argsort(np.asarray(values_ns, np.int64), kind="stable")
    return np.repeat(np.asarray(values_ns, np.int64)[order], np.asarray(counts, np.int64)[order])
