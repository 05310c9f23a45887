"""Traces of the latency tracers: irqsoff, preemptoff, preemptirqsoff, wakeup, wakeup_rt, wakeup_dl.

Each has one episode: the longest of its kind, with what the kernel did in it. Several may follow
each other in a file. Source: kernel/trace/trace.c (print_trace_header), trace_output.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from whylate.recording.traces.fields import text
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.stacks import MOST_FRAMES, frame, is_frame

#: Lines and episodes of a file that are kept.
MOST_STEPS = 1 << 18
MOST_EPISODES = 1000

_TRACER = re.compile(rb"^# (\w{1,32}) latency trace v\S{1,16} on (.{1,160})")
_LATENCY = re.compile(
    rb"^# latency: (\d{1,12}) us, #(\d{1,12})/(\d{1,12}), CPU#(\d{1,5}) \|.*#P:(\d{1,5})"
)
_TASK = re.compile(rb"^#\s+\| task: (.{1,64})-(\d{1,10}) \(uid:.*rt_prio:\d{1,3}\)")
_EDGE = re.compile(rb"^#\s+=> (started|ended) at:\s+(\S{1,160})")
_STEP = re.compile(
    rb"^ *(.{1,16})-(\d{1,10}) +(\d{1,5})([^\s\d:]\S{2,11}) +(\d{1,12})us([ +!#*@$])?\s*: *(.*)"
)
_SWITCHED = re.compile(
    rb"^\s*(\d{1,10}): *(-?\d{1,4}):\S{1,4}\s+==>\s+\[\d{1,5}\]\s+\d{1,10}: *(-?\d{1,4}):"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A line: from time_ns on, counted from the episode's beginning, the kernel was there.

    flags: as the kernel prints them: interrupts disabled, reschedule needed, context, depth, ...
    """

    time_ns: int
    cpu: int
    pid: int
    task: str
    flags: str
    what: str


@dataclass
class LatencyTrace:
    """One episode. latency_ns: as the tracer measured it; depth of detail: a microsecond."""

    tracer: str
    kernel: str
    latency_ns: int = 0
    cpu: int = 0
    cpus: int = 0
    task: str = ""
    pid: int = 0
    started: str = ""
    ended: str = ""
    steps: list[Step] = field(default_factory=list)
    #: Of the switch to the woken thread: from whom, the priorities of both as the kernel counts,
    #: and the stack there, innermost function first.
    switched_from: int = -1
    prio_before: int = 0
    prio: int = 0
    stack: tuple[str, ...] = ()
    #: Lines that did not fit, or that the kernel's buffer had lost.
    left_out: int = 0


def is_latency_trace(lines: Sequence[bytes]) -> bool:
    """Return whether these are lines of a latency tracer."""
    return any(_TRACER.match(_unquoted(line)) for line in lines[:2000])


def latency_traces(lines: Iterable[bytes], seen: Seen) -> tuple[LatencyTrace, ...]:
    """Return the episodes of a file; those without a measured latency are left out."""
    traces: list[LatencyTrace] = []
    frames: list[str] = []
    last = ""
    for raw in lines:
        seen.lines += 1
        line = _unquoted(raw)
        if (tracer := _TRACER.match(line)) is not None:
            _end_stack(traces, frames, last)
            if len(traces) == MOST_EPISODES:
                break
            traces.append(LatencyTrace(text(tracer[1]), text(tracer[2])))
        elif not traces or not line.strip():
            continue
        elif line.startswith(b"#"):
            _header(line, traces[-1])
        elif is_frame(line):
            name = frame(line)
            if name is not None and len(frames) < MOST_FRAMES:
                frames.append(name)
        else:
            _end_stack(traces, frames, last)
            last = _step(line, traces[-1], seen) or last
    _end_stack(traces, frames, last)
    kept = tuple(trace for trace in traces if trace.latency_ns)
    seen.layout = "latency trace"
    seen.cpus = {trace.cpu for trace in kept}
    seen.traced = len(kept)
    return kept


def _unquoted(line: bytes) -> bytes:
    """Return a line less the marks of a mail that quotes it."""
    return line.lstrip(b"> ") if line[:1] == b">" else line


def _header(line: bytes, trace: LatencyTrace) -> None:
    if (latency := _LATENCY.match(line)) is not None:
        us, kept, written, cpu, cpus = (int(group) for group in latency.groups())
        trace.latency_ns, trace.cpu, trace.cpus = us * 1000, cpu, cpus
        trace.left_out += max(0, written - kept)
    elif (task := _TASK.match(line)) is not None:
        trace.task, trace.pid = text(task[1]), int(task[2])
    elif (edge := _EDGE.match(line)) is not None:
        if edge[1] == b"started":
            trace.started = text(edge[2])
        else:
            trace.ended = text(edge[2])


def _step(line: bytes, trace: LatencyTrace, seen: Seen) -> str:
    """Add a line of an episode; return its kind, empty where it was not understood."""
    match = _STEP.match(line)
    if match is None:
        if not seen.odd:
            seen.odd_line = seen.lines
        seen.odd += 1
        return ""
    task, pid, cpu, flags, us, _, what = match.groups()
    seen.events["function" if b" <-" in what else "step"] += 1
    if b"<stack trace" in what:
        return "stack"
    if seen.kept == MOST_STEPS:
        trace.left_out += 1
        return "step"
    seen.kept += 1
    trace.steps.append(
        Step(
            int(us) * 1000, int(cpu), int(pid), text(task.strip()), text(flags), text(what.strip())
        )
    )
    if (switched := _SWITCHED.match(what)) is None:
        return "step"
    trace.switched_from, trace.prio_before, trace.prio = (int(group) for group in switched.groups())
    return "switch"


def _end_stack(traces: list[LatencyTrace], frames: list[str], last: str) -> None:
    """Keep the stack below the switch: it shows where the previous thread was."""
    if frames and traces and last in ("switch", "stack"):
        steps = traces[-1].steps
        if steps and "==>" in steps[-1].what:
            traces[-1].stack = tuple(frames)
    frames.clear()
