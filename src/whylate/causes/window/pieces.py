"""A late activation cut into pieces, each with one cause.

The rule. From the time an activation is due to the time its thread runs, its CPU is at every
instant in one innermost context (whylate.causes.window.timeline), and the activation is in one of
four stages. A piece is a stretch in which neither changes. Its cause:

| context                  | pending            | waking      | runnable           | running    |
|--------------------------|--------------------|-------------|--------------------|------------|
| not recorded             | not observed       | the same    | the same           | the same   |
| NMI                      | nmi                | the same    | the same           | the same   |
| spinning on a lock       | lock               | the same    | the same           | the same   |
| interrupt                | interrupt          | the same    | the same           | the same   |
| softirq                  | irqs disabled (1)  | softirq (8) | softirq            | softirq    |
| idle                     | idle exit (2)      | –           | scheduling or      | –          |
|                          |                    |             | throttling (4)     |            |
| thread of equal or       | irqs disabled (1), | –           | thread (7)         | thread     |
| higher priority          | else thread (11)   |             |                    |            |
| thread of lower priority | irqs disabled (1)  | –           | preemption         | –          |
|                          |                    |             | disabled (3) or    |            |
|                          |                    |             | throttling (4)     |            |
| the measured thread      | return, steal (9)  | –           | scheduling         | return, or |
|                          |                    |             |                    | fault (5)  |

pending: due, its interrupt has not begun. waking: in the interrupt that wakes it.

(1) Only if the stack at the timer interrupt shows that the instruction before the interrupted one
enabled interrupts: they were disabled until there. If it shows that they were enabled (user code,
or any other instruction), the kernel delayed nothing: the timer fired late, which in a guest is
the host's doing (6). Otherwise there is no evidence why the interrupt came late: unexplained. If a
switch between other threads enabled them, the piece is the cost of that switch: scheduling, or
thread if that thread has equal or higher priority.
(2) Up to the exit latency that the idle state declares. The rest is not kernel code, since none
runs in an idle state, whether it masks interrupts or not: (6).
(3) Only if the stack at the switch shows that the thread switched voluntarily or at the end of
a non-preemptible section. A thread preempted at the end of an interrupt delayed nothing (12). If
the stage was too short for a stack, it is the cost of switching: scheduling. So is the usual cost
of switching at the end of the stage (whylate.causes.episodes).
(4) If the scheduler made a choice while the activation was runnable, and chose a lower-priority
thread or (deeper) idle: only throttling makes it do so. What ran before that choice ran for the
same reason: no real-time thread has used any of the budget since.
(5) From a page fault to the end of the stage.
(6) `steal` in a guest. On other machines it is firmware or hardware, without evidence: unexplained.
(7) SCHED_OTHER threads share the CPU in slices by weight: all count as equal, whatever their nice
value. (6) never applies to their timers, which the kernel delays by the thread's timer slack.
(8) For a program's thread that a softirq woke: from the time the softirq was raised.
(9) If the time was already past and the thread did not sleep: return. If the timer fired as the
thread enabled interrupts after setting it, only a few of its own instructions lie in between: no
kernel code delayed them. In a guest the host did, which gets the CPU when a timer is set; on other
machines it is unexplained. Otherwise as for a lower-priority thread.
(10) If another thread ran at the due time, and neither the waking nor the switch was recorded, the
recording has a gap: from its last event on, not observed.
(11) A real-time activation would have waited for it even if the interrupt had come in time.
(12) Until an interrupt: unexplained. After it, a few instructions lead to the next interrupt or
the scheduler: scheduling. What takes longer is no kernel code: `steal` in a guest, else
unexplained.
(13) If the ring lost the first events, the running sums may still give a lower bound of the time in
interrupts, softirqs and NMIs (whylate.causes.window.running_sums).

Then the time of the recorder and of the hypervisor replaces what it overlaps
(whylate.causes.window.overlays). The pieces are disjoint, in order, and sum to the latency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whylate.causes.window.overlays import overlay_recording, overlay_steal
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.running_sums import locate_lost_time
from whylate.causes.window.stacks import (
    GOING_TO_SLEEP,
    OF_EXCEPTIONS,
    OF_SWITCHING,
    OF_SYSTEM_CALLS,
    OF_THE_SCHEDULER,
    OF_UNLOCKING,
    PREEMPTED_AT_ONCE,
    function_name,
    innermost_function,
)
from whylate.causes.window.timeline import Level, Segment, Thread, cut_segments, join_adjoining
from whylate.recording.activation import FAIR
from whylate.recording.events import Event, Kind, Window
from whylate.wire.constants import STACK_AFTER_NS

#: Detail of `scheduling` where a switch that it had nothing to do with kept interrupts disabled.
BETWEEN_OTHERS = "switch between other threads"
#: Details of `steal` where the host did not say that it took time, and yet did.
LATE_TIMER = "timer delayed"
AS_IT_ENDED = "during interrupt exit"
#: Detail of `not observed` where the kernel did not show how the thread came to run.
HIDDEN = "hidden by the kernel"
#: A waking from another CPU takes effect within that, and idle may be entered until then.
TAKES_EFFECT_NS = 5_000
#: From an interrupt's end to the scheduler no board needs longer, nor do emulated ones.
TO_THE_SCHEDULER_NS = 10_000


def stack_after_ns(threshold_ns: int | None) -> int:
    """Return what a stage took at least of which there is a stack, by the threshold asked for."""
    return min(STACK_AFTER_NS, threshold_ns // 2) if threshold_ns else STACK_AFTER_NS


def cut_window(
    window: Window,
    idle_exit_ns: Mapping[int, int] | None = None,
    stacks_after_ns: int | None = None,
    *,
    guest: bool = False,
) -> list[Piece]:
    """Cut a window into pieces by the rule above.

    idle_exit_ns: declared exit latency by idle state. stacks_after_ns:
    stack_after_ns() of the recording, else STACK_AFTER_NS. guest: the board is a virtual
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
    seen = cut_segments(own, window.cpu, observed, until)
    pieces += locate_lost_time(window, seen)
    for segment in seen:
        for start, end, stage in _stages(window, segment):
            whole = (start, end) == (segment.start_ns, segment.end_ns)
            part = segment if whole else replace(segment, start_ns=start, end_ns=end)
            pieces += rule.named(part, stage)
    if until < window.run_ns:
        pieces.append(Piece(until, window.run_ns, Cause.NOT_OBSERVED, HIDDEN))
    return join_adjoining(overlay_steal(overlay_recording(pieces, own), own))


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
    stretches = []
    at = segment.start_ns
    for stage, until in edges:
        end = min(until, segment.end_ns)
        if end > at:
            stretches.append((at, end, stage))
            at = end
    if at < segment.end_ns:
        stretches.append((at, segment.end_ns, Stage.RUNNING))
    return stretches


def cause_in_any_stage(segment: Segment) -> tuple[Cause, str] | None:
    """Return the cause of a context that is the same in all stages; None where it is not."""
    if segment.level is Level.UNKNOWN:
        return Cause.NOT_OBSERVED, ""
    if segment.level is Level.NMI:
        return Cause.NMI, segment.name
    if segment.lock:
        return Cause.LOCK, segment.lock
    return (Cause.INTERRUPT, segment.label) if segment.level is Level.INTERRUPT else None


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
        stacks = [event for event in events if event.kind is Kind.STACK and event.time_ns <= until]
        self._timer_stack = _last(stacks, "timer")
        self._switch_stack = _last(stacks, "switch")
        self._throttled_until_ns = self._last_throttled(events)
        running = window.switched_ns if window.switched_ns is not None else window.due_ns
        self._first_fault_ns = min(
            (
                event.time_ns
                for event in events
                if event.kind is Kind.FAULT and event.id == window.pid and event.time_ns >= running
            ),
            default=window.run_ns,
        )

    def _last_throttled(self, events: list[Event]) -> int:
        """Return until when the scheduler surely chose a lower-priority thread; 0: it never did.

        Its last choice lasts until the switch to the measured thread.
        """
        waking, switched = self._window.waking_ns, self._window.switched_ns
        if waking is None or switched is None or self._window.prio >= FAIR:
            return 0
        lower = any(
            event.kind is Kind.IDLE_ENTRY
            or (
                event.kind is Kind.SWITCH
                and event.id != self._window.pid
                and (event.id == 0 or event.prio > self._window.prio)
            )
            for event in events
            if waking + TAKES_EFFECT_NS < event.time_ns < switched
        )
        return switched if lower else 0

    def named(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Return the pieces of a segment that lies in one stage."""
        if (alike := cause_in_any_stage(segment)) is not None:
            cause, detail = alike
        elif stage is not Stage.PENDING and segment.level is Level.SOFTIRQ:
            cause, detail = Cause.SOFTIRQ, segment.label
        elif stage in (Stage.PENDING, Stage.WAKING):
            return self._pending(segment, stage)
        elif segment.thread is None or segment.thread.pid == self._window.pid:
            return self._its_own(segment, stage)
        else:
            cause, detail = self._other_thread(segment, segment.thread)
        return [Piece(segment.start_ns, segment.end_ns, cause, detail, stage)]

    def _other_thread(self, segment: Segment, thread: Thread) -> tuple[Cause, str]:
        """Name what another thread's running is, while the activation was runnable."""
        competes = thread.prio <= self._window.prio or min(thread.prio, self._window.prio) >= FAIR
        if competes and not thread.idle:
            return Cause.THREAD, thread.name
        runnable = self._window.waking_ns
        chosen = runnable is not None and segment.chosen_ns > runnable and not thread.idle
        if chosen or segment.start_ns < self._throttled_until_ns:
            return Cause.THROTTLING, f"{thread.name} ran instead"
        if thread.idle:
            return Cause.SCHEDULING, "from idle"
        stack = self._switch_stack
        if stack is not None and stack.id not in (0, thread.pid):
            # What another thread did afterwards is no evidence for this one.
            return Cause.UNEXPLAINED, f"in {thread.name}"
        if stack is None and not self._was_long_runnable():
            return Cause.SCHEDULING, f"from {thread.name}"
        names = [function_name(symbol) for symbol in stack.stack] if stack is not None else []
        # What lies within the scheduler is the recording itself.
        names = names[names.index("__schedule") :] if "__schedule" in names else names
        excepted = any(name.startswith(OF_EXCEPTIONS) for name in names)
        if PREEMPTED_AT_ONCE.intersection(names) and not excepted:
            return self._preempted_at_once(segment, thread)
        # Where the kernel hides its names, how the thread came here is not known.
        if set(names) <= {"?"}:
            return Cause.UNEXPLAINED, f"in {thread.name}"
        function = innermost_function(tuple(names), OF_THE_SCHEDULER | OF_UNLOCKING)
        if function in OF_SYSTEM_CALLS:
            function = "a system call"
        return Cause.PREEMPTION_DISABLED, f"{function} in {thread.name}".strip()

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
            return [Piece(segment.start_ns, segment.end_ns, cause, "before sleep", stage)]
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
        """Name what ran with interrupts disabled; stack: where they came on again."""
        thread = segment.thread
        start, end = segment.start_ns, segment.end_ns
        if thread is not None and stack and function_name(stack[0]) in OF_SWITCHING:
            if self._would_wait_for(thread):
                return Piece(start, end, Cause.THREAD, thread.name, stage)
            return Piece(start, end, Cause.SCHEDULING, BETWEEN_OTHERS, stage)
        # Where it was not late enough for a stack there is the innermost function alone.
        function = innermost_function(stack, OF_UNLOCKING)
        detail = "" if function in OF_UNLOCKING else function
        return Piece(start, end, Cause.INTERRUPTS_DISABLED, detail, stage)

    def _went_to_sleep(self) -> bool:
        """Whether its timer came as it switched interrupts on again, having set that timer.

        Of a thread that does nothing else no stack is taken: there is the one function only.
        """
        stack = self._timer_stack
        if stack is None or not stack.enabled or stack.id != self._window.pid:
            return False
        names = {function_name(symbol) for symbol in stack.stack}
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
        state, start, end = segment.idle_state, segment.start_ns, segment.end_ns
        declared_ns = self._window.due_ns + self._idle_exit_ns.get(state, 0)
        until = min(max(declared_ns, start), end)
        # In an idle state no code of the kernel's runs.
        late = Piece(until, end, Cause.UNEXPLAINED, "while idle", stage)
        pieces = (
            Piece(start, until, Cause.IDLE_EXIT, f"state {state}", stage),
            self._late_timer(late, held_up=False),
        )
        return [piece for piece in pieces if piece.length_ns]

    def _its_own(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Name the thread's own way to user code, and its page faults."""
        if stage is Stage.RUNNABLE:
            return [Piece(segment.start_ns, segment.end_ns, Cause.SCHEDULING, "", stage)]
        fault = min(max(self._first_fault_ns, segment.start_ns), segment.end_ns)
        pieces = (
            Piece(segment.start_ns, fault, Cause.RETURN, "", Stage.RUNNING),
            Piece(fault, segment.end_ns, Cause.PAGE_FAULT, "", Stage.RUNNING),
        )
        return [piece for piece in pieces if piece.length_ns]


def _last(stacks: list[Event], name: str) -> Event | None:
    return next((event for event in reversed(stacks) if event.name == name), None)
