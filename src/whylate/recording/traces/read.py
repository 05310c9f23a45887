"""Read a trace of another tool: choose the threads to explain, and pass on their activations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from whylate.recording.errors import RecordingError
from whylate.recording.traces.auto_analysis import (
    AutoAnalysis,
    auto_analyses,
    is_auto_analysis,
)
from whylate.recording.traces.choose import Chosen, choose
from whylate.recording.traces.follow import Follower
from whylate.recording.traces.latency import LatencyTrace, is_latency_trace, latency_traces
from whylate.recording.traces.layouts import lacks_cpu, layout_of
from whylate.recording.traces.lines import Lines
from whylate.recording.traces.pasted import undo_hard_blanks, undo_pasting
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.wakeups import AddActivation
from whylate.recording.traces.watch import Watch

#: Of the beginning, by which the layout is known and the threads are chosen.
HEAD_BYTES = 8 << 20
LAYOUT_LINES = 2000
#: Blanks, equals signs and broken lines in quoted-printable.
_UNDECODED = re.compile(rb"=C2=A0|=3D|=20$|=$")


@dataclass(frozen=True)
class TraceRead:
    """What was read.

    latency: the episodes, where it was a latency tracer's; analyses: where it was rtla's
    auto-analysis; else none. unended: analyses that were left out.
    """

    seen: Seen
    chosen: Chosen | None
    latency: tuple[LatencyTrace, ...] = ()
    analyses: tuple[AutoAnalysis, ...] = ()
    unended: int = 0


def read_trace(
    stream: BinaryIO,
    name: str,
    watch: Watch | None,
    add_activation: AddActivation,
    progress: Callable[[int], None] | None = None,
) -> TraceRead:
    """Read a trace to its end; raises RecordingError for what is none.

    watch None: the obviously measured threads are chosen. add_activation: called with each
    activation, and what cuts out its window while that is still there. progress: called with
    the bytes read.
    """
    lines = Lines(stream, name, progress)
    head, source = _begin(lines)
    if not lines.read:
        raise RecordingError(f"{name} is empty")
    seen = Seen()
    if is_latency_trace(head):
        traces = latency_traces(chain(head, source), seen)
        seen.torn = lines.torn
        return TraceRead(seen, None, traces)
    bare = undo_pasting(head)
    if bare is not None:
        head = [bare(line) for line in head]
        source = map(bare, source)
    events = [line for line in head[: 4 * LAYOUT_LINES] if line[:1] != b"#"][:LAYOUT_LINES]
    layout = layout_of(events)
    if layout is None and is_auto_analysis(head):
        return _read_analyses(name, chain(head, source), lines, seen)
    if layout is None:
        raise _no_trace(name, head, events)
    try:
        chosen = Chosen(watch, "as asked for") if watch is not None else choose(head, layout)
    except RecordingError as error:
        cut = "; its last line has no end and was left out" if lines.torn else ""
        raise RecordingError(f"{name}: {error}{cut}") from None
    seen.layout = layout.name
    follower = Follower(layout, chosen.watch, add_activation, seen)
    for line in chain(head, source):
        follower.feed(line)
    follower.finish()
    seen.torn = lines.torn
    return TraceRead(seen, chosen)


def _begin(lines: Lines) -> tuple[list[bytes], Iterator[bytes]]:
    """Return the beginning of a trace and the lines that follow, without hard blanks."""
    source = iter(lines)
    head: list[bytes] = []
    size = 0
    for line in source:
        head.append(line)
        size += len(line) + 64
        if size > HEAD_BYTES:
            break
    if (soft := undo_hard_blanks(head)) is not None:
        return [soft(line) for line in head], map(soft, source)
    return head, source


def _read_analyses(name: str, source: Iterable[bytes], lines: Lines, seen: Seen) -> TraceRead:
    def all_lines() -> Iterator[bytes]:
        yield from source
        # Pasted text often ends without a newline.
        yield lines.rest

    analyses, unended = auto_analyses(all_lines(), seen)
    if not analyses:
        raise RecordingError(
            f"{name} has no end of its auto-analysis: below a rule rtla prints the latency of the "
            "thread or of the interrupt"
        )
    return TraceRead(seen, None, analyses=analyses, unended=unended)


def _no_trace(name: str, head: list[bytes], events: list[bytes]) -> RecordingError:
    if lacks_cpu(events):
        return RecordingError(
            f"{name} does not have the CPUs of its events: record with `perf record -a`, and let "
            "`perf script --ns` print them"
        )
    if any(line.startswith((b"# tracer:", b"cpus=")) for line in head):
        return RecordingError(f"{name} is a trace without any event: nothing was recorded")
    if sum(1 for line in head if _UNDECODED.search(line)) > len(head) // 4:
        return RecordingError(
            f"{name} is a mail as it was sent: `python3 -m quopri -d {name} > FILE` decodes it"
        )
    return RecordingError(
        f"{name} is not a known trace: give the text of `trace-cmd report -t`, of "
        "/sys/kernel/tracing/trace, or of `perf script --ns`"
    )
