"""Traces of the latency tracers: irqsoff, preemptoff, preemptirqsoff, wakeup, wakeup_rt, wakeup_dl.

Each has one episode: the longest of its kind, with what the kernel did in it. Several may follow
each other in a file, which may be a mail: what stands before "# tracer:" is taken off each line.
Sources: kernel/trace/trace.c (print_trace_header) and trace_output.c of Linux 2.6.26 to 6.18. Until
2.6.30 the lines of the header had no "#", and a function's caller stood in brackets; a kernel
without SMP does not print how many CPUs there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from whylate.recording.traces.fields import text
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.stacks import MOST_FRAMES, frame, is_frame

#: Lines and episodes of a file that are kept.
MOST_STEPS = 1 << 18
MOST_EPISODES = 1000

#: What mails, documents and their quotes put before a line.
_BEFORE = re.compile(rb"^([ \t>|]{0,80})# tracer: +\w")
_TRACER = re.compile(rb"^(?:# )?(\w{1,32}) latency trace v\S{1,16} on (.{1,160})")
_LATENCY = re.compile(
    rb"^#? latency: (\d{1,12}) us, #(\d{1,12})/(\d{1,12}), CPU#(\d{1,5}) \|(?:.*#P:(\d{1,5}))?"
)
_TASK = re.compile(rb"^#?\s+\| task: (.{0,64})-(\d{1,10}) \(uid:.*rt_prio:\d{1,3}\)")
_EDGE = re.compile(rb"^#?\s+=> (started|ended) at:\s+(\S{1,160})")
#: Of a header without "#", and of the picture that explains the columns.
_RULE = re.compile(rb"^#?\s*-{5,}\s*$")
#: Lines that somebody left out of a trace that is shown.
_ELIDED = re.compile(rb"^\s*\[? ?\.{3,4} ?\]?\s*$|^\s*\[?(?:snip|SNIP|cut|\xe2\x80\xa6)\]?\s*$")
_STEP = re.compile(
    rb"^ *(.{1,16})-(\d{1,10}) +(\d{1,5})([^\s\d:]\S{2,11}) +(\d{1,12})us([ +!#*@$])?\s*: *(.*)"
)
#: The same with display-graph, where the function and its time are drawn as a tree.
_GRAPH = re.compile(
    rb"^ *(\d{1,12}) us \| +(\d{1,5})\) +(.{1,16})-(\d{1,10}) +\| +(\S{3,12}) +\|"
    rb"(?: +[+!#*@$]? *\d+\.\d+ us)? +\| +(.*)"
)
#: The caller of a step's function, as today's kernels and as those of 2.6.2x print it.
_CALLER = re.compile(r"^\S+ (?:<-|\()([\w.$]{1,160})")
_SWITCHED = re.compile(
    rb"^\s*(\d{1,10}): *(-?\d{1,4}):\S{1,4}\s+==>\s+\[\d{1,5}\]\s+\d{1,10}: *(-?\d{1,4}):"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A line: from time_ns on, counted from the episode's beginning, the kernel was there.

    flags: as the kernel prints them: interrupts disabled, reschedule needed, context, depth, ...
    elided: behind it lines are missing.
    """

    time_ns: int
    cpu: int
    pid: int
    task: str
    flags: str
    what: str
    elided: bool = False

    @property
    def caller(self) -> str:
        """Who called the function of the line; "": it does not say."""
        match = _CALLER.match(self.what)
        return "" if match is None else match[1]


@dataclass
class LatencyTrace:
    """One episode.

    latency_ns: as the tracer measured it, in whole microseconds. cpus: 0 where the header does not
    say. entries: how many lines there are by the header, and lines: how many there are here.
    """

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
    entries: int = 0
    lines: int = 0
    has_stack: bool = False
    #: Lines are missing before the first one.
    begins_elided: bool = False
    #: Of the switch to the woken thread: from whom, the priorities of both as the kernel counts,
    #: and the stack there, innermost function first.
    switched_from: int = -1
    prio_before: int = 0
    prio: int = 0
    stack: tuple[str, ...] = ()
    #: Lines that did not fit, or that the kernel's buffer had lost.
    left_out: int = 0

    @property
    def marks_elided(self) -> bool:
        """Whether a mark shows where lines are missing."""
        return self.begins_elided or any(step.elided for step in self.steps)

    @property
    def missing(self) -> int:
        """How many lines the header counts and the text does not have.

        The stack at the end counts as one, and is left out as often.
        """
        missing = max(0, self.entries - self.lines)
        ended = bool(self.steps) and self.steps[-1].time_ns >= self.latency_ns
        return 0 if missing == 1 and ended and not self.has_stack else missing


def is_latency_trace(lines: Sequence[bytes]) -> bool:
    """Return whether these are lines of a latency tracer."""
    before = b""
    for line in lines[:2000]:
        before = _what_precedes(line, before)
        if _TRACER.match(_bare(line, before)):
            return True
    return False


def latency_traces(lines: Iterable[bytes], seen: Seen) -> tuple[LatencyTrace, ...]:
    """Return the episodes of a file; those without a measured latency are left out."""
    traces: list[LatencyTrace] = []
    frames: list[str] = []
    last = before = b""
    for raw in lines:
        seen.lines += 1
        before = _what_precedes(raw, before)
        line = _bare(raw, before)
        if (tracer := _TRACER.match(line)) is not None:
            _end_stack(traces, frames, last)
            if len(traces) == MOST_EPISODES:
                break
            traces.append(LatencyTrace(text(tracer[1]), text(tracer[2].strip())))
        elif not traces or not line.strip() or _header(line, traces[-1]):
            continue
        elif _ELIDED.match(line):
            _end_stack(traces, frames, last)
            _elide(traces[-1])
        elif is_frame(line) and not _GRAPH.match(line):
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


def _what_precedes(line: bytes, before: bytes) -> bytes:
    """Return what stands before each line of the trace from here on."""
    match = _BEFORE.match(line)
    return before if match is None else match[1]


def _bare(line: bytes, before: bytes) -> bytes:
    """Return a line less the marks of a mail that quotes it, and what indents all of them."""
    line = line.removesuffix(b"\r")
    if before and line.startswith(before):
        return line[len(before) :]
    if before and before.rstrip().startswith(line.rstrip()):
        return b""
    return line.lstrip(b"> ") if line[:1] == b">" else line


def _header(line: bytes, trace: LatencyTrace) -> bool:
    """Read a line of the header; False where it is none."""
    if (latency := _LATENCY.match(line)) is not None:
        us, kept, written, cpu, cpus = (int(group or 0) for group in latency.groups())
        trace.latency_ns, trace.cpu, trace.cpus = us * 1000, cpu, cpus
        trace.entries = kept
        trace.left_out += max(0, written - kept)
    elif (task := _TASK.match(line)) is not None:
        trace.task, trace.pid = text(task[1]) or "<idle>", int(task[2])
    elif (edge := _EDGE.match(line)) is not None:
        if edge[1] == b"started":
            trace.started = text(edge[2])
        else:
            trace.ended = text(edge[2])
    else:
        return line.startswith(b"#") or _RULE.match(line) is not None
    return True


def _elide(trace: LatencyTrace) -> None:
    """Note that lines are missing here."""
    if trace.steps:
        trace.steps[-1] = replace(trace.steps[-1], elided=True)
    else:
        trace.begins_elided = True


def _step(line: bytes, trace: LatencyTrace, seen: Seen) -> bytes:
    """Add a line of an episode; return its kind, empty where it was not understood."""
    if (match := _STEP.match(line)) is not None:
        task, pid, cpu, flags, us, _, what = match.groups()
    elif (match := _GRAPH.match(line)) is not None:
        us, cpu, task, pid, flags, what = match.groups()
    else:
        if not seen.odd:
            seen.odd_line = seen.lines
        seen.odd += 1
        return b""
    seen.events["step" if b"<-" not in what and b" (" not in what else "function"] += 1
    trace.lines += 1
    if b"<stack trace" in what:
        trace.has_stack = True
        return b"stack"
    if seen.kept == MOST_STEPS:
        trace.left_out += 1
        return b"step"
    seen.kept += 1
    trace.steps.append(
        Step(
            int(us) * 1000, int(cpu), int(pid), text(task.strip()), text(flags), text(what.strip())
        )
    )
    if (switched := _SWITCHED.match(what)) is None:
        return b"step"
    trace.switched_from, trace.prio_before, trace.prio = (int(group) for group in switched.groups())
    return b"switch"


def _end_stack(traces: list[LatencyTrace], frames: list[str], last: bytes) -> None:
    """Keep the stack below the switch: it shows where the previous thread was."""
    if frames and traces and last in (b"switch", b"stack"):
        steps = traces[-1].steps
        if steps and "==>" in steps[-1].what:
            traces[-1].stack = tuple(frames)
    frames.clear()
