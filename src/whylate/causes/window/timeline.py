"""Who had a CPU, and when: the events of a window replayed into segments without gaps.

At every instant a CPU is in one innermost context: an NMI, else an interrupt, else a softirq,
else a thread (the idle one is one). Interrupts nest and net out: a segment is what ran itself,
less all that ran within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Protocol, TypeVar

from whylate.recording.events import Event, Kind

#: No more than that of anything is nested on a real machine; what lost its ends must not grow.
DEEPEST = 16


class Level(IntEnum):
    """How a context is nested: a higher one interrupts a lower one."""

    UNKNOWN = 0
    THREAD = 1
    SOFTIRQ = 2
    INTERRUPT = 3
    NMI = 4


@dataclass(frozen=True, slots=True)
class Thread:
    """Who the CPU was given to."""

    pid: int
    name: str
    prio: int
    #: Whether prio is inherited from a thread that waits for its lock.
    inherited: bool = False

    @property
    def idle(self) -> bool:
        """Whether it is the idle thread of the CPU."""
        return self.pid == 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch [start_ns, end_ns) in one innermost context.

    name: of the interrupt, softirq or NMI handler; within: the timer's, called or deferred function
    in it, of a thread the work item.
    thread: the one that had the CPU, interrupted or not; None: not known. chosen_ns: when it was
    switched to. lock: what is spun for; sleeps_for: the lock for which its thread waits otherwise.
    idle_state: of the idle thread, -1 where it runs.
    """

    start_ns: int
    end_ns: int
    level: Level
    name: str = ""
    within: str = ""
    thread: Thread | None = None
    chosen_ns: int = 0
    lock: str = ""
    sleeps_for: str = ""
    idle_state: int = -1
    #: When the outermost interrupt began; 0 outside of interrupts.
    interrupt_ns: int = 0
    #: Function of others that the kernel calls there, at a tracepoint or as a notifier, and when it
    #: ended.
    hook: str = ""
    hook_end_ns: int = 0

    @property
    def label(self) -> str:
        """Its name, and the function within it: `local_timer: tick_sched_timer`."""
        name = self.name or (self.thread.name if self.thread is not None else "")
        return f"{name}: {self.within}" if self.within else name


@dataclass(frozen=True, slots=True)
class _Wait:
    """A lock that is waited for, and how many contexts are nested there."""

    address: int
    name: str
    depth: int
    spins: bool


@dataclass
class _Doing:
    """What a thread is in the middle of: with PREEMPT_RT it may leave it and come back."""

    softirqs: list[str] = field(default_factory=list)
    #: Functions: of timers, or called from another CPU.
    functions: list[str] = field(default_factory=list)
    #: Functions of work items, outside of softirqs.
    work: list[str] = field(default_factory=list)
    #: What is waited for, the innermost last.
    locks: list[_Wait] = field(default_factory=list)

    def update(self, event: Event, functions: list[str], interrupts: int) -> None:
        """Take an event of softirqs and locks, and of functions wherever they run."""
        kind, name = event.kind, event.name
        if kind is Kind.SOFTIRQ_ENTRY:
            _push(self.softirqs, name)
        elif kind is Kind.SOFTIRQ_EXIT:
            _pop(self.softirqs)
            if not self.softirqs:
                self.functions.clear()
        elif kind in (Kind.TIMER_ENTRY, Kind.CALL_ENTRY):
            _push(functions, name)
        elif kind in (Kind.TIMER_EXIT, Kind.CALL_EXIT):
            _pop(functions)
        elif kind in (Kind.LOCK_BEGIN, Kind.LOCK_END):
            # A mutex is spun for first, and then slept for: the latter ends the former.
            self.locks = [lock for lock in self.locks if lock.address != event.id]
            if kind is Kind.LOCK_BEGIN and len(self.locks) < DEEPEST:
                depth = interrupts + len(self.softirqs)
                spins = event.prev_state != "S"
                self.locks.append(_Wait(event.id, name or "without a name", depth, spins))

    def defer(self, event: Event) -> None:
        """Take an event of a deferred function, of a softirq or of a thread's work."""
        functions = self.functions if self.softirqs else self.work
        if event.kind is Kind.DEFERRED_ENTRY:
            _push(functions, event.name)
        else:
            _pop(functions)

    def waits_for(self, interrupts: int) -> _Wait | None:
        """Return the lock that the innermost context waits for."""
        depth = interrupts + len(self.softirqs)
        return next((lock for lock in reversed(self.locks) if lock.depth == depth), None)


@dataclass
class _Cpu:
    """The state of a CPU between two events."""

    thread: Thread | None = None
    chosen_ns: int = 0
    doing: _Doing = field(default_factory=_Doing)
    left: dict[int, _Doing] = field(default_factory=dict)
    interrupts: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    idle_state: int = -1
    interrupt_ns: int = 0

    def segment(self, start_ns: int, end_ns: int) -> Segment:
        doing, functions = self.doing, self._functions()
        wait = doing.waits_for(len(self.interrupts))
        if self.interrupts:
            level, name = Level.INTERRUPT, self.interrupts[-1]
        elif doing.softirqs:
            level, name = Level.SOFTIRQ, doing.softirqs[-1]
        else:
            level, name = (Level.THREAD if self.thread is not None else Level.UNKNOWN), ""
        return Segment(
            start_ns,
            end_ns,
            level,
            name,
            within=functions[-1] if functions else "",
            thread=self.thread,
            chosen_ns=self.chosen_ns,
            lock=wait.name if wait is not None and wait.spins else "",
            sleeps_for=wait.name if wait is not None and not wait.spins else "",
            idle_state=self.idle_state,
            interrupt_ns=self.interrupt_ns if self.interrupts else 0,
        )

    def update(self, event: Event, time_ns: int) -> None:
        kind = event.kind
        if kind is Kind.SWITCH:
            self._switch(event, time_ns)
        elif kind in (Kind.IRQ_ENTRY, Kind.VECTOR_ENTRY):
            if not self.interrupts:
                self.interrupt_ns = time_ns
            _push(self.interrupts, event.name or f"irq {event.id}")
        elif kind in (Kind.IRQ_EXIT, Kind.VECTOR_EXIT):
            _pop(self.interrupts)
            if not self.interrupts:
                self.functions.clear()
        elif kind is Kind.PRIO:
            self._inherit(event)
        elif kind in (Kind.IDLE_ENTRY, Kind.IDLE_EXIT):
            self.idle_state = event.id if kind is Kind.IDLE_ENTRY else -1
        elif kind in (Kind.DEFERRED_ENTRY, Kind.DEFERRED_EXIT):
            self.doing.defer(event)
        else:
            self.doing.update(event, self._functions(), len(self.interrupts))

    def _functions(self) -> list[str]:
        """Return the functions of the innermost context."""
        if self.interrupts:
            return self.functions
        return self.doing.functions if self.doing.softirqs else self.doing.work

    def _inherit(self, event: Event) -> None:
        if self.thread is not None and self.thread.pid == event.id:
            inherited = event.prio < self.thread.prio
            self.thread = replace(self.thread, prio=event.prio, inherited=inherited)

    def _switch(self, event: Event, time_ns: int) -> None:
        # Nobody switches threads within an interrupt: what is still open lost its end.
        self.interrupts.clear()
        self.functions.clear()
        self.idle_state = -1
        self.left[event.prev_id] = self.doing
        self.doing = self.left.pop(event.id, _Doing())
        self.thread = Thread(event.id, event.name, event.prio)
        self.chosen_ns = time_ns


#: Kinds of events that change the state of a CPU: between two of them it is one segment.
_CHANGES = frozenset({
    Kind.SWITCH, Kind.PRIO, Kind.IRQ_ENTRY, Kind.IRQ_EXIT, Kind.VECTOR_ENTRY, Kind.VECTOR_EXIT,
    Kind.SOFTIRQ_ENTRY, Kind.SOFTIRQ_EXIT, Kind.TIMER_ENTRY, Kind.TIMER_EXIT, Kind.CALL_ENTRY,
    Kind.CALL_EXIT, Kind.DEFERRED_ENTRY, Kind.DEFERRED_EXIT, Kind.LOCK_BEGIN, Kind.LOCK_END,
    Kind.IDLE_ENTRY, Kind.IDLE_EXIT,
})  # fmt: skip


def _push(stack: list[str], name: str) -> None:
    if len(stack) < DEEPEST:
        stack.append(name)


def _pop(stack: list[str]) -> None:
    if stack:
        stack.pop()


def cut_segments(events: Sequence[Event], cpu: int, start_ns: int, end_ns: int) -> list[Segment]:
    """Return who had the CPU in [start_ns, end_ns): adjoining segments that fill it.

    events: in order of time, of any CPUs. What precedes the first event of this CPU, or follows
    from no switch that was seen, is of Level.UNKNOWN. A time before its predecessor's counts as
    its predecessor's.
    """
    cut: list[Segment] = []
    nmis: list[tuple[int, int, str]] = []
    callbacks: list[_Callback] = []
    hooks: list[_Hook] = []
    switched_ns = 0
    state = _Cpu()
    at = start_ns
    latest = min((event.time_ns for event in events if event.cpu == cpu), default=start_ns)
    for event in events:
        if event.cpu != cpu:
            continue
        latest = max(latest, event.time_ns)
        until = min(latest, end_ns)
        if until > at and event.kind in _CHANGES:
            cut.append(state.segment(at, until))
            at = until
        if event.kind is Kind.NMI:
            nmis.append((max(latest - event.duration_ns, start_ns), until, event.name))
        if event.kind is Kind.CALLBACK and state.thread is not None:
            began_ns = max(latest - event.duration_ns, start_ns)
            callbacks.append(_Callback(began_ns, until, event.name, state.thread.pid))
        if event.kind is Kind.SWITCH:
            switched_ns = latest
        if event.kind is Kind.HOOK:
            # One that can be preempted ran again from the last switch on.
            began_ns = max(latest - event.duration_ns, switched_ns)
            at_end = state.segment(until, until)
            hooks.append(_Hook(began_ns, until, event.name, at_end.level, at_end.interrupt_ns))
        state.update(event, latest)
    if end_ns > at:
        cut.append(state.segment(at, end_ns))
    cut = list(_within_callbacks(cut, callbacks))
    for hook in hooks:
        cut = list(_within_hook(cut, hook))
    return join_adjoining(_overlaid(cut, nmis))


@dataclass(frozen=True, slots=True)
class _Callback:
    """A callback of RCU, known at its end, and the thread that it ran in or interrupted."""

    start_ns: int
    end_ns: int
    name: str
    pid: int


def _within_callbacks(segments: list[Segment], callbacks: list[_Callback]) -> Iterator[Segment]:
    """Name the callbacks of RCU in the softirq or thread that ran them; they are disjoint.

    What interrupted a callback, and whoever had the CPU meanwhile, stays what it is.
    """
    if not callbacks:
        yield from segments
        return
    callbacks = sorted(callbacks, key=lambda callback: callback.start_ns)
    first = 0
    for segment in segments:
        while first < len(callbacks) and callbacks[first].end_ns <= segment.start_ns:
            first += 1
        at = segment.start_ns
        for callback in callbacks[first:]:
            start, end = max(callback.start_ns, at), min(callback.end_ns, segment.end_ns)
            if callback.start_ns >= segment.end_ns:
                break
            if start >= end or not _runs(segment, callback):
                continue
            if start > at:
                yield replace(segment, start_ns=at, end_ns=start)
            yield replace(segment, start_ns=start, end_ns=end, within=callback.name)
            at = end
        if at == segment.start_ns:
            yield segment
        elif at < segment.end_ns:
            yield replace(segment, start_ns=at)


@dataclass(frozen=True, slots=True)
class _Hook:
    """A function of others, known at its end, and the context that it ran in."""

    start_ns: int
    end_ns: int
    name: str
    level: Level
    interrupt_ns: int


def _within_hook(segments: list[Segment], hook: _Hook) -> Iterator[Segment]:
    """Name a function of others where it ran; what interrupted it stays what it is."""
    for segment in segments:
        start, end = max(hook.start_ns, segment.start_ns), min(hook.end_ns, segment.end_ns)
        same = (segment.level, segment.interrupt_ns) == (hook.level, hook.interrupt_ns)
        if start >= end or not same or segment.hook:
            yield segment
            continue
        if segment.start_ns < start:
            yield replace(segment, end_ns=start)
        named = replace(segment, hook=hook.name, hook_end_ns=hook.end_ns)
        yield replace(named, start_ns=start, end_ns=end)
        if end < segment.end_ns:
            yield replace(segment, start_ns=end)


def _runs(segment: Segment, callback: _Callback) -> bool:
    return (
        segment.level in (Level.SOFTIRQ, Level.THREAD)
        and not segment.within
        and segment.thread is not None
        and segment.thread.pid == callback.pid
    )


def _overlaid(segments: list[Segment], nmis: list[tuple[int, int, str]]) -> Iterator[Segment]:
    """Put NMIs, which are known at their ends, over what they interrupted."""
    nmis = sorted(nmis)
    over = 0
    for segment in segments:
        at = segment.start_ns
        while over < len(nmis) and nmis[over][0] < segment.end_ns:
            began, ended, name = nmis[over]
            start, end = max(began, at), min(ended, segment.end_ns)
            if start < end:
                if start > at:
                    yield replace(segment, start_ns=at, end_ns=start)
                yield replace(segment, start_ns=start, end_ns=end, level=Level.NMI, name=name,
                              within="")  # fmt: skip
                at = end
            if ended > segment.end_ns:
                # It goes on in the next one.
                break
            over += 1
        if at == segment.start_ns:
            yield segment
        elif at < segment.end_ns:
            yield replace(segment, start_ns=at)


class _Stretch(Protocol):
    """A frozen dataclass that has these times."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def start_ns(self) -> int: ...

    @property
    def end_ns(self) -> int: ...


_S = TypeVar("_S", bound=_Stretch)


def join_adjoining(parts: Iterable[_S]) -> list[_S]:
    """Join neighbours that adjoin and differ in nothing but their times."""
    joined: list[_S] = []
    last, end_ns = None, 0
    for part in parts:
        if last is not None and end_ns == part.start_ns and _alike(last, part):
            end_ns = part.end_ns
            continue
        if last is not None:
            joined.append(_until(last, end_ns))
        last, end_ns = part, part.end_ns
    if last is not None:
        joined.append(_until(last, end_ns))
    return joined


def _until(part: _S, end_ns: int) -> _S:
    return part if part.end_ns == end_ns else replace(part, end_ns=end_ns)


def _alike(first: _Stretch, second: _Stretch) -> bool:
    """Return whether two parts differ in nothing but their times."""
    others = _other_fields(type(first))
    return type(first) is type(second) and bool(others(first) == others(second))


@cache
def _other_fields(stretch: type[_Stretch]) -> Callable[[Any], tuple[Any, ...]]:
    names = [name for name in stretch.__dataclass_fields__ if name not in ("start_ns", "end_ns")]
    return attrgetter(*names)
