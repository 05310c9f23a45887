"""The answer for another tool's trace: read once, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from whylate.causes.answer import Answer
from whylate.causes.traces.auto_analyses import explain_auto_analyses
from whylate.causes.traces.latency_traces import explain_latency_traces
from whylate.causes.traces.missing_data import (
    MissingData,
    list_missing_analysis_data,
    list_missing_data,
    list_missing_latency_data,
)
from whylate.causes.traces.tail import Tail
from whylate.causes.traces.trace_pieces import cut_activation, rename_by_evidence
from whylate.recording.activation import Activation
from whylate.recording.events import Reason
from whylate.recording.traces.cutout import CutOut
from whylate.recording.traces.read import TraceRead, read_trace
from whylate.recording.traces.watch import Watch

#: Threads that are counted one by one.
MOST_THREADS = 4096


@dataclass(frozen=True)
class Imported:
    """The answer, what was read, and what that lacks. threads: name, pid, wakeups."""

    answer: Answer
    read: TraceRead
    threads: list[tuple[str, int, int]]
    list_missing_data: list[MissingData]


def explain_import(
    stream: BinaryIO,
    name: str,
    watch: Watch | None,
    *,
    threshold_ns: int | None = None,
    worst: int = 5,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Return the answer for a trace; raises RecordingError for what is none.

    watch None: the obviously measured threads. threshold_ns None: the slowest thousandth.
    """
    tail = Tail(cut_activation, threshold_ns)
    threads: Counter[tuple[str, int]] = Counter()

    def add(activation: Activation, cut: Callable[[Reason, int], CutOut]) -> None:
        key = activation.name, activation.pid
        if key in threads or len(threads) < MOST_THREADS:
            threads[key] += 1
        tail.add(activation, cut)

    read = read_trace(stream, name, watch, add, progress)
    if read.analyses:
        answer = explain_auto_analyses(read.analyses, worst)
        return Imported(answer, read, [], list_missing_analysis_data(read))
    if read.latency or read.chosen is None:
        answer = explain_latency_traces(read.latency, worst)
        return Imported(answer, read, [], list_missing_latency_data(read.latency, read.seen))
    answer = tail.answer(worst, why_not=_why_not(tail), rename=rename_by_evidence(read.seen))
    woken = [(name, pid, count) for (name, pid), count in threads.most_common()]
    return Imported(answer, read, woken, list_missing_data(read.seen))


def _why_not(tail: Tail) -> str:
    if not tail.count:
        return (
            "no wakeup of the chosen threads is in the trace: --comm takes a thread's name "
            "(15 characters), --pid a thread's number"
        )
    return "no wakeup was late: there is nothing to explain"
