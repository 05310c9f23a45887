"""A late activation cut into pieces, each with its cause.

The rule. From the moment an activation was due to the moment its thread ran, its CPU was at every
instant in one innermost context (whylate.causes.timeline), and the activation in one of four
stages. A piece is a stretch in which neither changes; it is named

| context                | due, not interrupted | being woken | runnable           | running     |
|------------------------|----------------------|-------------|--------------------|-------------|
| not recorded           | not observed         | the same    | the same           | the same    |
| NMI                    | nmi                  | the same    | the same           | the same    |
| spinning on a lock     | lock                 | the same    | the same           | the same    |
| interrupt              | interrupt            | the same    | the same           | the same    |
| softirq                | interrupts off (1)   | softirq (8) | softirq            | softirq     |
| idle                   | idle exit (2)        | –           | scheduling         | –           |
|                        |                      |             | or throttling (4)  |             |
| thread as urgent/more  | interrupts off (1),  | –           | thread (7)         | thread      |
|                        | else thread (11)     |             |                    |             |
| thread less urgent     | interrupts off (1)   | –           | preemption off (3) | –           |
|                        |                      |             | or throttling (4)  |             |
| itself                 | return, steal (9)    | –           | scheduling         | return, or  |
|                        |                      |             |                    | fault (5)   |

(1) Only where the stack at the timer interrupt shows that the instruction before the interrupted
one switched interrupts on: then they were off until there. Where it shows that they were on (user
code, or any other instruction), the board's kernel held nothing up: its timer came late, which in a
guest is its host's doing (6). Else the interrupt came late for a reason that was not seen:
unexplained. Where they came on at the end of a switch between other threads, it is what that took:
scheduling, and of a thread as urgent its own way out.
(2) As far as the idle state says that leaving it takes. What goes beyond was not the kernel, of
which no code runs in an idle state, whether it masks interrupts there or not: (6).
(3) Only where the stack at the switch shows that the thread came to it by itself or at the end of
such a section. One that was preempted as an interrupt ended held nothing off (12). Where the whole
stage was too short for a stack to be taken, it is what switching takes: scheduling. So is, at its
end, what switching takes ordinarily (whylate.causes.switching).
(4) Where the scheduler had its choice while the activation was runnable, and chose a less urgent
thread or went (further) into idle: only throttling makes it choose so. What ran before that choice
was let run for the same reason: no real-time thread has used anything up meanwhile.
(5) From a fault on to the end of the stage.
(6) `steal`; on a machine that is no guest it is firmware or hardware, of which nothing was seen:
unexplained.
(7) Threads without real-time priority share the CPU by their weights, in slices: each of them is
as urgent as any other, whatever its nice value. Nor is it said of (6) that their timers came late:
the kernel puts them off by the thread's timer slack.
(8) Of a program's thread that a softirq woke: from when that was raised.
(9) Where it found its time past, and did not sleep: return. Where its timer came as it switched
interrupts on, having set it: what lies between is a few of its own instructions, and whoever held
those up was no part of the kernel. In a guest that is the host, which gets the CPU when a timer is
set; on a machine that is no guest it is unexplained. Else as of a less urgent thread.
(10) Another thread ran when it was due, and neither its waking nor the switch to it was recorded:
the recording is not whole. From its last event on: not observed.
(11) A real-time activation would have waited for it, had its interrupt come in time.
(12) Until an interrupt came: unexplained. From its end on there are the few instructions to the
next interrupt or the scheduler: scheduling. What takes longer than those was no part of the kernel:
in a guest `steal`, on another machine unexplained.

(13) Where the ring no longer has what was first, the running sums may still say for how long at the
least the CPU was in interrupts, softirqs and NMIs (whylate.causes.outlasted), which is named so.

Whatever ran while the recorder took a stack: recording. Time that the hypervisor says it took is
named `steal`, out of what is unexplained first.

The pieces are disjoint, in order, and their lengths sum to the latency.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from whylate.causes.outlasted import outlasted
from whylate.causes.piece import Cause, Piece, Stage
from whylate.causes.stacks import (
    GOING_TO_SLEEP,
    OF_EXCEPTIONS,
    OF_SWITCHING,
    OF_SYSTEM_CALLS,
    OF_THE_SCHEDULER,
    OF_UNLOCKING,
    PREEMPTED_AT_ONCE,
    function_of,
    where,
)
from whylate.causes.timeline import Level, Segment, Thread, segments
from whylate.recording.activation import FAIR
from whylate.recording.events import Event, Kind, Window
from whylate.wire.constants import STACK_AFTER_NS

#: Detail of `scheduling` where a switch that it had nothing to do with kept interrupts off.
BETWEEN_OTHERS = "between other threads"
#: Details of `steal` where the host did not say that it took time, and yet did.
LATE_TIMER = "its timer came late"
AS_IT_ENDED = "as an interrupt ended"
#: Detail of `not observed` where the kernel did not show how the thread came to run.
HIDDEN = "hidden by the kernel"
#: A waking from another CPU takes effect within that, and idle may be entered until then.
TAKES_EFFECT_NS = 5_000
#: From an interrupt's end to the scheduler no board needs longer, nor do emulated ones.
TO_THE_SCHEDULER_NS = 10_000


def stack_after_ns(threshold_ns: int | None) -> int:
    """Return what a stage took at least of which there is a stack, by the threshold asked for."""
    return min(STACK_AFTER_NS, threshold_ns // 2) if threshold_ns else STACK_AFTER_NS


def cut(
    window: Window,
    idle_exit_ns: Mapping[int, int] | None = None,
    stacks_after_ns: int | None = None,
    *,
    guest: bool = False,
) -> list[Piece]:
    """Cut a window into pieces by the rule above.

    idle_exit_ns: by idle state, how long the board says that leaving it takes. stacks_after_ns:
    what stack_after_ns() says of the recording, else STACK_AFTER_NS. guest: the board is a virtual
    machine. Returns at least one piece, or none where nothing lies between due and run.
    """
    if window.run_ns <= window.due_ns:
        return []
    if stacks_after_ns is None:
        stacks_after_ns = STACK_AFTER_NS
    rule = _Rule(window, idle_exit_ns or {}, stacks_after_ns, guest=guest)
    pieces: list[Piece] = []
    own = [event for event in window.events if event.cpu == window.cpu]
    observed = min(max(window.observed_ns, window.due_ns), window.run_ns)
    until = max(observed, _seen_until(window, own))
    seen = segments(own, window.cpu, observed, until)
    pieces += outlasted(window, seen)
    for segment in seen:
        for start, end, stage in _stages(window, segment):
            pieces += rule.named(replace(segment, start_ns=start, end_ns=end), stage)
    if until < window.run_ns:
        pieces.append(Piece(until, window.run_ns, Cause.NOT_OBSERVED, HIDDEN))
    return _joined(_stolen(_recorded(pieces, own), own))


def _seen_until(window: Window, own: list[Event]) -> int:
    """Return until when what the CPU did was surely recorded: rule (10)."""
    if window.waking_ns is not None or window.switched_ns is not None:
        return window.run_ns
    seen = [event for event in own if event.time_ns <= window.run_ns]
    switch = next((event for event in reversed(seen) if event.kind is Kind.SWITCH), None)
    if switch is None or switch.id == window.pid:
        return window.run_ns
    return seen[-1].time_ns


def _stages(window: Window, segment: Segment) -> list[tuple[int, int, Stage]]:
    """Cut a segment where the activation's stage changes."""
    running = window.switched_ns if window.switched_ns is not None else window.run_ns
    runnable = window.waking_ns if window.waking_ns is not None else running
    waking = window.timer_ns if window.timer_ns is not None else runnable
    edges = [
        (Stage.PENDING, waking),
        (Stage.WAKING, runnable),
        (Stage.RUNNABLE, running),
        (Stage.RUNNING, window.run_ns),
    ]
    found = []
    at = segment.start_ns
    for stage, until in edges:
        end = min(until, segment.end_ns)
        if end > at:
            found.append((at, end, stage))
            at = end
    if at < segment.end_ns:
        found.append((at, segment.end_ns, Stage.RUNNING))
    return found


class _Rule:
    """The table above for one window."""

    def __init__(
        self,
        window: Window,
        idle_exit_ns: Mapping[int, int],
        stacks_after_ns: int,
        *,
        guest: bool,
    ) -> None:
        self._window = window
        self._guest = guest
        self._stacks_after_ns = stacks_after_ns
        self._idle_exit_ns = idle_exit_ns
        events = [event for event in window.events if event.cpu == window.cpu]
        # What comes later is of the next sleep: a window goes on until the CPU is taken again.
        until = window.run_ns
        stacks = [one for one in events if one.kind is Kind.STACK and one.time_ns <= until]
        self._timer_stack = _last(stacks, "timer")
        self._switch_stack = _last(stacks, "switch")
        self._passed_over_ns = self._last_passed_over(events)
        running = window.switched_ns if window.switched_ns is not None else window.due_ns
        self._first_fault_ns = min(
            (
                event.time_ns
                for event in events
                if event.kind is Kind.FAULT and event.id == window.pid and event.time_ns >= running
            ),
            default=window.run_ns,
        )

    def _last_passed_over(self, events: list[Event]) -> int:
        """Return until when the scheduler surely chose somebody less urgent; 0 where it never did.

        What it chose last goes on until the measured thread is switched to.
        """
        waking, switched = self._window.waking_ns, self._window.switched_ns
        if waking is None or switched is None or self._window.prio >= FAIR:
            return 0
        for event in events:
            if not waking + TAKES_EFFECT_NS < event.time_ns < switched:
                continue
            idle = event.kind is Kind.IDLE_ENTRY
            if event.kind is Kind.SWITCH and event.id != self._window.pid:
                idle = event.id == 0 or event.prio > self._window.prio
            if idle:
                return switched
        return 0

    def named(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Return the pieces of a segment that lies in one stage."""
        if segment.level is Level.UNKNOWN:
            cause, detail = Cause.NOT_OBSERVED, ""
        elif segment.level is Level.NMI:
            cause, detail = Cause.NMI, segment.name
        elif segment.lock:
            cause, detail = Cause.LOCK, segment.lock
        elif segment.level is Level.INTERRUPT:
            cause, detail = Cause.INTERRUPT, _detail(segment)
        elif stage is Stage.WAKING and segment.level is Level.SOFTIRQ:
            cause, detail = Cause.SOFTIRQ, _detail(segment)
        elif stage in (Stage.PENDING, Stage.WAKING):
            return self._pending(segment, stage)
        elif segment.level is Level.SOFTIRQ:
            cause, detail = Cause.SOFTIRQ, _detail(segment)
        elif segment.thread is None or segment.thread.pid == self._window.pid:
            return self._its_own(segment, stage)
        else:
            cause, detail = self._other_thread(segment, segment.thread)
        return [Piece(segment.start_ns, segment.end_ns, cause, detail, stage)]

    def _other_thread(self, segment: Segment, thread: Thread) -> tuple[Cause, str]:
        """Name what another thread's running is, while the activation was runnable."""
        urgent = thread.prio <= self._window.prio or min(thread.prio, self._window.prio) >= FAIR
        if urgent and not thread.idle:
            return Cause.THREAD, thread.name
        runnable = self._window.waking_ns
        chosen = runnable is not None and segment.chosen_ns > runnable and not thread.idle
        if chosen or segment.start_ns < self._passed_over_ns:
            return Cause.THROTTLING, f"{thread.name} ran instead"
        if thread.idle:
            return Cause.SCHEDULING, "from idle"
        stack = self._switch_stack
        if stack is not None and stack.id not in (0, thread.pid):
            # What another one did afterwards says nothing of this one.
            return Cause.UNEXPLAINED, f"in {thread.name}"
        if stack is None and not self._was_long_runnable():
            return Cause.SCHEDULING, f"from {thread.name}"
        names = [function_of(symbol) for symbol in stack.stack] if stack is not None else []
        # What lies within the scheduler is the recording itself.
        names = names[names.index("__schedule") :] if "__schedule" in names else names
        excepted = any(name.startswith(OF_EXCEPTIONS) for name in names)
        if PREEMPTED_AT_ONCE.intersection(names) and not excepted:
            return self._preempted_at_once(segment, thread)
        # Where the kernel hides its names, how the thread came here is not known.
        if set(names) <= {"?"}:
            return Cause.UNEXPLAINED, f"in {thread.name}"
        function = where(tuple(names), OF_THE_SCHEDULER | OF_UNLOCKING)
        if function in OF_SYSTEM_CALLS:
            function = "a system call"
        return Cause.PREEMPTION_OFF, f"{function} in {thread.name}".strip()

    def _preempted_at_once(self, segment: Segment, thread: Thread) -> tuple[Cause, str]:
        """Name a stretch in a thread that the first interrupt to end took off the CPU."""
        runnable = self._window.waking_ns
        after_interrupt = runnable is not None and segment.start_ns > runnable
        if after_interrupt and segment.end_ns - segment.start_ns <= TO_THE_SCHEDULER_NS:
            return Cause.SCHEDULING, f"from {thread.name}"
        if after_interrupt and self._guest:
            return Cause.STEAL, AS_IT_ENDED
        return Cause.UNEXPLAINED, f"in {thread.name}"

    def _was_long_runnable(self) -> bool:
        """Return whether it waited long enough for the recorder to take a stack."""
        waking, switched = self._window.waking_ns, self._window.switched_ns
        return waking is None or switched is None or switched - waking > self._stacks_after_ns

    def _pending(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Name what ran while the interrupt did not come."""
        thread = segment.thread
        if segment.idle_state >= 0 and segment.level is Level.THREAD:
            return self._idle_exit(segment, stage)
        stack = self._timer_stack
        if self._went_to_sleep():
            cause = Cause.STEAL if self._guest else Cause.UNEXPLAINED
            return [Piece(segment.start_ns, segment.end_ns, cause, "as it went to sleep", stage)]
        if stack is not None and stack.enabled:
            return [self._held_off(segment, stage, stack.stack)]
        if thread is not None and thread.pid == self._window.pid and self._window.timer_ns is None:
            # It was still awake, found its time past, and did not sleep.
            return [Piece(segment.start_ns, segment.end_ns, Cause.RETURN, "did not sleep", stage)]
        inside = segment.name if segment.level is Level.SOFTIRQ else thread.name if thread else ""
        detail = f"in {inside}" if inside else ""
        late = Piece(segment.start_ns, segment.end_ns, Cause.UNEXPLAINED, detail, stage)
        late = self._late_timer(late, held_up=stack is None or stack.enabled is not False)
        if late.cause is Cause.UNEXPLAINED and self._would_wait_for(thread):
            late = replace(late, cause=Cause.THREAD, detail=inside)
        return [late]

    def _held_off(self, segment: Segment, stage: Stage, stack: tuple[str, ...]) -> Piece:
        """Name what ran with interrupts off; stack: where they came on again."""
        thread = segment.thread
        start, end = segment.start_ns, segment.end_ns
        if thread is not None and stack and function_of(stack[0]) in OF_SWITCHING:
            if self._would_wait_for(thread):
                return Piece(start, end, Cause.THREAD, thread.name, stage)
            return Piece(start, end, Cause.SCHEDULING, BETWEEN_OTHERS, stage)
        # Where it was not late enough for a stack there is the innermost function alone.
        found = where(stack, OF_UNLOCKING)
        detail = "" if found in OF_UNLOCKING else found
        return Piece(start, end, Cause.INTERRUPTS_OFF, detail, stage)

    def _went_to_sleep(self) -> bool:
        """Whether its timer came as it switched interrupts on again, having set that timer.

        Of a thread that does nothing else no stack is taken: there is the one function only.
        """
        stack = self._timer_stack
        if stack is None or not stack.enabled or stack.id != self._window.pid:
            return False
        names = {function_of(symbol) for symbol in stack.stack}
        return len(stack.stack) == 1 or bool(names & GOING_TO_SLEEP)

    def _would_wait_for(self, thread: Thread | None) -> bool:
        """Whether a real-time activation had to wait for that thread, woken in time or not."""
        prio = self._window.prio
        if thread is None or thread.idle or thread.pid == self._window.pid:
            return False
        return thread.prio <= prio < FAIR

    def _late_timer(self, late: Piece, *, held_up: bool) -> Piece:
        """Name a stretch in which the interrupt did not come; held_up: the kernel may be why."""
        if held_up or not self._guest or self._window.prio >= FAIR:
            return late
        return replace(late, cause=Cause.STEAL, detail=LATE_TIMER)

    def _idle_exit(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Name what the idle state answers for, counted from when it could have been left."""
        state = segment.idle_state
        until = min(segment.end_ns, self._window.due_ns + self._idle_exit_ns.get(state, 0))
        pieces = []
        at = segment.start_ns
        if until > at:
            pieces.append(Piece(at, until, Cause.IDLE_EXIT, f"state {state}", stage))
            at = until
        if segment.end_ns > at:
            # In an idle state no code of the kernel's runs.
            late = Piece(at, segment.end_ns, Cause.UNEXPLAINED, "while idle", stage)
            pieces.append(self._late_timer(late, held_up=False))
        return pieces

    def _its_own(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Name the thread's own way to user code, and its page faults."""
        if stage is Stage.RUNNABLE:
            return [Piece(segment.start_ns, segment.end_ns, Cause.SCHEDULING, "", stage)]
        fault = min(self._first_fault_ns, segment.end_ns)
        pieces = []
        at = segment.start_ns
        if fault > at:
            pieces.append(Piece(at, fault, Cause.RETURN, "", Stage.RUNNING))
            at = fault
        if at < segment.end_ns:
            pieces.append(Piece(at, segment.end_ns, Cause.PAGE_FAULT, "", Stage.RUNNING))
        return pieces


def _last(stacks: list[Event], name: str) -> Event | None:
    return next((event for event in reversed(stacks) if event.name == name), None)


def _detail(segment: Segment) -> str:
    """Return `local_timer: tick_sched_timer`, where a function within is known."""
    return f"{segment.name}: {segment.within}" if segment.within else segment.name


#: What stolen time is taken out of, the first before the next; within one the longest first.
_ORDER = (Cause.UNEXPLAINED, Cause.IDLE_EXIT, Cause.SCHEDULING, Cause.RETURN)


#: A stretch of time in which pieces are changed; the last is what `change` needs to know of it.
_Span = tuple[int, int, int]


def _changed(
    pieces: list[Piece],
    spans: Iterable[_Span],
    change: Callable[[list[Piece], _Span], list[Piece]],
) -> list[Piece]:
    """Return the pieces after each span changed those that it overlaps.

    The spans are disjoint and in order, so that a board which makes a million of them costs no
    more than a million steps.
    """
    found: list[Piece] = []
    rest = deque(pieces)
    for span in spans:
        while rest and rest[0].end_ns <= span[0]:
            found.append(rest.popleft())
        here = []
        while rest and rest[0].start_ns < span[1]:
            here.append(rest.popleft())
        rest.extendleft(reversed(change(here, span)))
    return found + list(rest)


def _stolen(pieces: list[Piece], events: list[Event]) -> list[Piece]:
    """Name what the hypervisor took.

    Each event says how much was taken since steal was looked at before it. Of that, what fits
    in between before the window may have been taken there, and only the rest was surely in it.
    """
    if not pieces:
        return pieces
    begin, end = pieces[0].start_ns, pieces[-1].end_ns

    def spans() -> Iterator[_Span]:
        before = events[0].time_ns if events else 0
        for event in events:
            if event.kind is Kind.STEAL:
                outside = max(0, begin - before) + max(0, event.time_ns - end)
                yield before, event.time_ns, event.duration_ns - outside
            if event.kind in (Kind.STEAL, Kind.SWITCH):
                before = event.time_ns

    return _changed(pieces, spans(), _less_stolen)


def _less_stolen(pieces: list[Piece], span: _Span) -> list[Piece]:
    """Return the pieces with what was stolen in a span taken out of the likeliest first."""
    begin, until, left = span
    taken: list[Piece] = []
    for cause in (*_ORDER, None):
        for piece in sorted(pieces, key=lambda one: -one.length_ns):
            if piece.cause in (Cause.NOT_OBSERVED, Cause.STEAL):
                continue
            if (piece.cause is not cause) if cause else (piece.cause in _ORDER):
                continue
            start, end = max(piece.start_ns, begin), min(piece.end_ns, until)
            some = min(left, end - start)
            if some > 0:
                left -= some
                taken.append(replace(piece, start_ns=end - some, end_ns=end,
                                     cause=Cause.STEAL, detail=""))  # fmt: skip
    return _put_over(pieces, taken)


def _recorded(pieces: list[Piece], events: list[Event]) -> list[Piece]:
    """Name what the recorder itself took."""

    def spans() -> Iterator[_Span]:
        at = 0
        for event in events:
            if event.kind is Kind.STACK and event.duration_ns:
                start, end = max(at, event.time_ns), event.time_ns + event.duration_ns
                if end > start:
                    yield start, end, 0
                    at = end

    return _changed(pieces, spans(), _less_recording)


def _less_recording(pieces: list[Piece], span: _Span) -> list[Piece]:
    """Return the pieces with a span named as the recorder's own."""
    over = [
        replace(piece, start_ns=max(span[0], piece.start_ns), end_ns=min(span[1], piece.end_ns),
                cause=Cause.RECORDING, detail="its stack")
        for piece in pieces
        if piece.cause is not Cause.NOT_OBSERVED
    ]  # fmt: skip
    return _put_over(pieces, over)


def _put_over(pieces: list[Piece], over: list[Piece]) -> list[Piece]:
    """Return the pieces with others put over parts of them; each lies within one of them."""
    found = []
    waiting = deque(sorted(over, key=lambda one: one.start_ns))
    for piece in pieces:
        at = piece.start_ns
        while waiting and waiting[0].start_ns < piece.end_ns:
            one = waiting.popleft()
            if one.start_ns > at:
                found.append(replace(piece, start_ns=at, end_ns=one.start_ns))
            found.append(one)
            at = one.end_ns
        if at < piece.end_ns:
            found.append(replace(piece, start_ns=at))
    return found


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Join neighbours of the same cause, detail and stage."""
    found: list[Piece] = []
    for piece in pieces:
        if found and replace(found[-1], end_ns=0, start_ns=0) == replace(
            piece, end_ns=0, start_ns=0
        ):
            found[-1] = replace(found[-1], end_ns=piece.end_ns)
        else:
            found.append(piece)
    return found
