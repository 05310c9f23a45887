"""The answer for another tool's trace: read once, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from whylate.causes.answer import Answer
from whylate.causes.lacks import Lack, lacks, lacks_of_latency
from whylate.causes.of_latency import answer_of_latency
from whylate.causes.of_trace import account, told_apart
from whylate.causes.tail import Tail
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
    lacks: list[Lack]


def answer_of_import(
    stream: BinaryIO,
    name: str,
    watch: Watch | None,
    *,
    threshold_ns: int | None = None,
    stories: int = 5,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Return the answer for a trace; raises RecordingError for what is none.

    watch None: the obviously measured threads. threshold_ns None: the slowest thousandth.
    """
    tail = Tail(account, threshold_ns)
    threads: Counter[tuple[str, int]] = Counter()

    def found(activation: Activation, cut: Callable[[Reason, int], CutOut]) -> None:
        key = activation.name, activation.pid
        if key in threads or len(threads) < MOST_THREADS:
            threads[key] += 1
        tail.take(activation, cut)

    read = read_trace(stream, name, watch, found, progress)
    if read.latency or read.chosen is None:
        answer = answer_of_latency(read.latency, stories)
        return Imported(answer, read, [], lacks_of_latency(read.latency, read.seen))
    answer = tail.answer(stories, why_not=_why_not(tail), rename=told_apart(read.seen))
    woken = [(name, pid, count) for (name, pid), count in threads.most_common()]
    return Imported(answer, read, woken, lacks(read.seen))


def _why_not(tail: Tail) -> str:
    if not tail.count:
        return (
            "no wakeup of the chosen threads is in the trace: --comm takes a thread's name "
            "(15 characters), --pid a thread's number"
        )
    return "no wakeup was late: there is nothing to explain"
