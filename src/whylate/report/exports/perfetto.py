"""Windows as a trace that Perfetto's UI opens.

Each CPU is a group of tracks: the activations with their pieces, the moments of each (due,
interrupt, woken, switched in, run; an arrow leads from the waking to the switch), and what ran:
threads, softirqs, interrupts, waiting for locks. Slices of one name have one colour there, so each
cause has one. Times are the board's CLOCK_MONOTONIC.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from whylate.causes.answer import TracedActivation
from whylate.causes.window.piece import Cause
from whylate.causes.window.tracks import SpanKind, Track, began_ns, cpus_of, cut_spans
from whylate.files import whole_file
from whylate.quantities import format_count, format_ns
from whylate.recording.events import Event, Kind, Window
from whylate.report.causes import cause_name
from whylate.text import plain

#: Events that are written, the worst windows first: some 20 s of work, 40 MB for the UI to load.
MOST_EVENTS = 500_000
#: Activations of a CPU that are shown one below the other where they overlap.
_PARALLEL_TRACKS = 4
#: All packets are of one writer.
_SEQUENCE = 1
#: Times in a trace are of 64 bits.
_LATEST = (1 << 63) - 1
_TRACKS = ("activations", "moments", *Track)


@dataclass(frozen=True)
class Written:
    """How many windows are in the trace, and how many were too many for it."""

    windows: int
    left_out: int


def write_perfetto(path: Path, activations: Callable[[], Iterable[TracedActivation]]) -> Written:
    """Write windows to a file; raises OSError where that fails, and what activations() raises.

    activations: called two or three times, so that only what is known of one window is in memory.
    The file appears whole or not at all, and not where there is no window.
    """
    chosen, left_out, other_cpus = _chosen(activations())
    if chosen:
        with whole_file(path, concurrent=True) as file:
            trace = _Trace(file)
            for index, traced in enumerate(activations()):
                if index in chosen:
                    trace.add(traced)
            # A CPU's own windows come first: they cover its tracks.
            for index, traced in enumerate(activations() if other_cpus else ()):
                if index in chosen:
                    trace.add_others(traced)
    return Written(len(chosen), left_out)


def _chosen(activations: Iterable[TracedActivation]) -> tuple[set[int], int, bool]:
    """Return which windows fit, the worst first, how many do not, and if any has other CPUs."""
    sizes = []
    other_cpus = False
    for index, traced in enumerate(activations):
        sizes.append((-traced.breakdown.latency_ns, index, len(traced.window.events)))
        other_cpus = other_cpus or len(cpus_of(traced.window)) > 1
    chosen: set[int] = set()
    room = MOST_EVENTS
    for _, index, size in sorted(sizes):
        if size <= room:
            room -= size
            chosen.add(index)
    return chosen, len(sizes) - len(chosen), other_cpus


@dataclass
class _Covered:
    """Stretches of a track that have something in them: nothing may be put over it."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def free(self, start_ns: int, end_ns: int) -> Iterator[tuple[int, int]]:
        """Yield what is free of [start_ns, end_ns)."""
        at = start_ns
        for index in range(bisect_right(self.ends, start_ns), bisect_left(self.starts, end_ns)):
            if self.starts[index] > at:
                yield at, self.starts[index]
            at = max(at, self.ends[index])
        if at < end_ns:
            yield at, end_ns

    def add(self, start_ns: int, end_ns: int) -> None:
        """Cover a free stretch."""
        insort(self.starts, start_ns)
        insort(self.ends, end_ns)


class _Trace:
    """Writes packets as they come, descriptions of tracks before their first event."""

    def __init__(self, file: IO[bytes]) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

        self._messages: Any = perfetto_trace_pb2
        self._builder: Any = StreamingTraceProtoBuilder(file)
        self._tracks: dict[tuple[int, str], int] = {}
        self._covered: dict[int, _Covered] = {}
        self._flow = 0

    def add(self, traced: TracedActivation) -> None:
        """Write an activation, its moments, and what ran on its CPU."""
        self._ran(traced.window, traced.window.cpu)
        self._activation(traced)
        self._moments(traced)

    def add_others(self, traced: TracedActivation) -> None:
        """Write what ran on the other CPUs of an activation's window."""
        for cpu in cpus_of(traced.window)[1:]:
            self._ran(traced.window, cpu)

    def _ran(self, window: Window, cpu: int) -> None:
        covered = self._covered.setdefault(self._track(cpu, ""), _Covered())
        for start_ns, end_ns in list(covered.free(began_ns(window, cpu), window.run_ns)):
            for span in cut_spans(window, cpu, start_ns, end_ns):
                if span.what is SpanKind.UNKNOWN and cpu != window.cpu:
                    continue
                track = self._track(cpu, span.track)
                self._slice(track, span.start_ns, span.end_ns, plain(span.name, 80), span.what)
            covered.add(start_ns, end_ns)

    def _activation(self, traced: TracedActivation) -> None:
        breakdown, window = traced.breakdown, traced.window
        if window.run_ns <= window.due_ns:
            return
        for number in range(_PARALLEL_TRACKS):
            name = "activations" if not number else f"activations {number + 1}"
            track = self._track(window.cpu, name)
            covered = self._covered.setdefault(track, _Covered())
            if list(covered.free(window.due_ns, window.run_ns)) == [(window.due_ns, window.run_ns)]:
                break
        else:
            return
        covered.add(window.due_ns, window.run_ns)
        kind = "late" if window.reason == "tail" else "control"
        what, quantity = (
            ("execution", "duration_ns") if traced.is_execution else ("activation", "latency_ns")
        )
        name = f"{kind}, {format_ns(breakdown.latency_ns)}"
        begin = self._event(track, window.due_ns, "TYPE_SLICE_BEGIN", name, what)
        for key, value in (
            (what, breakdown.activation),
            (quantity, breakdown.latency_ns),
            ("cpu", breakdown.cpu),
            ("pid", window.pid),
        ):
            note = begin.track_event.debug_annotations.add()
            note.name, note.int_value = key, value
        self._write(begin)
        for piece in breakdown.pieces or ():
            self._slice(track, piece.start_ns, piece.end_ns,
                        cause_name(piece.cause, piece.detail), "piece")  # fmt: skip
        if breakdown.pieces is None:
            self._slice(track, window.due_ns, window.run_ns, Cause.NOT_OBSERVED.value, "piece")
        self._write(self._event(track, window.run_ns, "TYPE_SLICE_END"))

    def _moments(self, traced: TracedActivation) -> None:
        """Write the instants of an activation, and the arrow from its waking to its switch."""
        window = traced.window
        self._flow += 1
        ends = ("begins", "ends") if traced.is_execution else ("due", "run")
        moments = [
            (window.due_ns, ends[0]),
            (window.timer_ns, "interrupt"),
            (window.waking_ns, "woken"),
            (window.switched_ns, "switched in"),
            (window.run_ns, ends[1]),
        ]
        track = self._track(window.cpu, "moments")
        # An execution may be woken many times: its pieces have by what.
        waker = None if traced.is_execution else _waker(traced)
        for at_ns, name in moments:
            if at_ns is None:
                continue
            packet = self._event(track, at_ns, "TYPE_INSTANT", name, "moment")
            if name == "woken" and waker is None:
                packet.track_event.flow_ids.append(self._flow)
            elif name == "switched in":
                packet.track_event.terminating_flow_ids.append(self._flow)
            self._write(packet)
        if waker is not None:
            name = f"wakes activation {format_count(window.activation)}"
            packet = self._event(self._track(waker.cpu, "moments"), waker.time_ns,
                                 "TYPE_INSTANT", name, "moment")  # fmt: skip
            packet.track_event.flow_ids.append(self._flow)
            self._write(packet)

    def _slice(self, track: int, start_ns: int, end_ns: int, name: str, category: str) -> None:
        self._write(self._event(track, start_ns, "TYPE_SLICE_BEGIN", name, category))
        self._write(self._event(track, end_ns, "TYPE_SLICE_END"))

    def _event(self, track: int, at_ns: int, kind: str, name: str = "", category: str = "") -> Any:
        packet = self._builder.create_packet()
        packet.timestamp = min(max(at_ns, 0), _LATEST)
        packet.trusted_packet_sequence_id = _SEQUENCE
        event = packet.track_event
        event.type = getattr(self._messages.TrackEvent, kind)
        event.track_uuid = track
        if name:
            event.name = name
            event.categories.append(category)
        return packet

    def _track(self, cpu: int, name: str) -> int:
        """Return the number of a track; its description is written when it is first asked for."""
        if (known := self._tracks.get((cpu, name))) is not None:
            return known
        track = len(self._tracks) + 1
        self._tracks[cpu, name] = track
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        described = packet.track_descriptor
        described.uuid = track
        if name:
            described.name = name
            described.parent_uuid = self._track(cpu, "")
            described.sibling_order_rank = next(
                rank for rank, first in enumerate(_TRACKS) if name.startswith(first)
            )
        else:
            described.name = f"CPU {cpu}"
            described.sibling_order_rank = cpu
            described.child_ordering = self._messages.TrackDescriptor.EXPLICIT
        self._write(packet)
        return track

    def _write(self, packet: Any) -> None:
        self._builder.write_packet(packet)


def _waker(traced: TracedActivation) -> Event | None:
    """Return the waking of the activation, where another CPU did it."""
    window = traced.window
    return next(
        (
            event
            for event in window.events
            if event.kind is Kind.WAKING
            and event.id == window.pid
            and event.cpu != window.cpu
            and window.due_ns <= event.time_ns <= window.run_ns
        ),
        None,
    )
