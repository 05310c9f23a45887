"""Read a trace of another tool: choose the threads to explain, and pass on their activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from whylate.recording.errors import RecordingError
from whylate.recording.traces.choose import Chosen, choose
from whylate.recording.traces.follow import Follower
from whylate.recording.traces.latency import LatencyTrace, is_latency_trace, latency_traces
from whylate.recording.traces.layouts import lacks_cpu, layout_of
from whylate.recording.traces.lines import Lines
from whylate.recording.traces.pasted import undo_pasting
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.wakeups import AddActivation
from whylate.recording.traces.watch import Watch

#: Of the beginning, by which the layout is known and the threads are chosen.
HEAD_BYTES = 8 << 20
LAYOUT_LINES = 2000


@dataclass(frozen=True)
class TraceRead:
    """What was read. latency: the episodes, where it was a latency tracer's; else none."""

    seen: Seen
    chosen: Chosen | None
    latency: tuple[LatencyTrace, ...] = ()


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
    source = iter(lines)
    head: list[bytes] = []
    size = 0
    for line in source:
        head.append(line)
        size += len(line) + 64
        if size > HEAD_BYTES:
            break
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
    if layout is None:
        raise _no_trace(name, head, events)
    try:
        chosen = Chosen(watch, "as asked for") if watch is not None else choose(head, layout)
    except RecordingError as error:
        raise RecordingError(f"{name}: {error}") from None
    seen.layout = layout.name
    follower = Follower(layout, chosen.watch, add_activation, seen)
    for line in chain(head, source):
        follower.feed(line)
    follower.finish()
    seen.torn = lines.torn
    return TraceRead(seen, chosen)


def _no_trace(name: str, head: list[bytes], events: list[bytes]) -> RecordingError:
    if lacks_cpu(events):
        return RecordingError(
            f"{name} does not have the CPUs of its events: record with `perf record -a`, and let "
            "`perf script --ns` print them"
        )
    if any(line.startswith((b"# tracer:", b"cpus=")) for line in head):
        return RecordingError(f"{name} is a trace without any event: nothing was recorded")
    return RecordingError(
        f"{name} is not a known trace: give the text of `trace-cmd report -t`, of "
        "/sys/kernel/tracing/trace, or of `perf script --ns`"
    )
