"""A late activation cut into pieces, each with one cause.

The rule. From the time an activation is due to the time its thread runs, its CPU is at every
instant in one innermost context (whylate.causes.window.timeline), and the activation is in one
stage (whylate.causes.window.own_stages). A piece is a stretch in which neither changes. Its cause:

| context                  | pending            | waking      | runnable           | running    |
|--------------------------|--------------------|-------------|--------------------|------------|
| not recorded             | not observed       | the same    | the same           | the same   |
| NMI                      | nmi                | the same    | the same           | the same   |
| spinning on a lock       | lock               | the same    | the same           | the same   |
| a function of others     | hook (16)          | hook        | hook               | hook       |
| interrupt                | interrupt          | the same    | the same           | the same   |
| softirq                  | irqs disabled (1)  | softirq (8) | softirq            | softirq    |
| idle                     | idle exit (2)      | –           | scheduling or      | –          |
|                          |                    |             | a quota (4)        |            |
| thread of equal or       | irqs disabled (1), | –           | thread (7)         | –          |
| higher priority          | else thread (11)   |             |                    |            |
| thread of lower priority | irqs disabled (1)  | –           | preemption         | –          |
|                          |                    |             | disabled (3) or    |            |
|                          |                    |             | a quota (4)        |            |
| the measured thread      | return, or         | –           | scheduling         | return, or |
|                          | unexplained (9)    |             |                    | fault (5)  |

pending: due, its interrupt has not begun. waking: in the interrupt that wakes it. Two more stages
have one cause each, in any context: stopped (by a signal or a tracer) and blocked (asleep in the
kernel for something else). Whoever else runs then delays nothing. A third is migrated: runnable on
another CPU, of which nothing is recorded.

(1) Only if the stack at the timer interrupt shows that the instruction before the interrupted one
enabled interrupts: they were disabled until there. If it shows that they were enabled (user code,
or any other instruction), no code that was recorded held the interrupt up: (6). Otherwise there is
no evidence why the interrupt came late: unexplained. If a switch between threads enabled them, they
were disabled in whoever held the CPU until that switch, and then for the switch itself; what is
short is the usual cost of switching: scheduling, or thread if that thread has equal or higher
priority.
(2) Up to the exit latency that the idle state declares. The rest is not kernel code that is
recorded, since none runs in an idle state, whether it masks interrupts or not: (6).
(3) Only if the stack of that thread, or why it left the CPU, shows that it switched voluntarily or
at the end of a non-preemptible section. A thread preempted at the end of an interrupt delayed
nothing (12). If the stage was too short for a stack, it is the cost of switching: scheduling. So is
the usual cost of switching at the end of the stage (whylate.causes.episodes).
(4) If the scheduler made a choice while the activation was runnable, and chose a thread that comes
after it, or (deeper) idle, then a quota was used up or its priority had been lowered. It is a quota
only if the kernel's timer that gives a new one ran meanwhile: RT throttling, the budget of its own
deadline, or the bandwidth of its cgroup. What ran before that choice ran for the same reason.
Without that timer it is unexplained.
(5) From a page fault to the end of the stage. If the thread blocks after it, before its code runs,
that is in the page fault: for a lock of its address space, or a page from a disk.
(6) `outside the traced kernel`: the host, firmware, or a handler that leaves no event (of
an exception, or the way back to user code, which end with interrupts on again by themselves).
It is not known which of them, so none is named; steal is the hypervisor's own count alone.
(7) SCHED_OTHER threads share the CPU in slices by weight: all count as equal, whatever their nice
value. (6) never applies to their timers, which the kernel delays by the thread's timer slack. A
thread that comes first only because its priority was raised meanwhile, or because that of the
measured thread was lowered, is `priority changed`.
(8) For a program's thread that a softirq woke: from the time the softirq was raised.
(9) If the time was already past and the thread did not sleep: return. If the timer fired as the
thread enabled interrupts after setting it, only a few of its own instructions lie in between, and
nothing shows what took so long: unexplained. Otherwise as for a lower-priority thread.
(10) If another thread ran at the due time, and neither the waking nor the switch was recorded, the
recording has a gap: from its last event on, not observed.
(11) A real-time activation would have waited for it even if the interrupt had come in time.
(12) Until an interrupt: unexplained. After it, a few instructions lead to the next interrupt or
the scheduler: scheduling. What takes longer has no evidence: unexplained.
(13) If the ring lost the first events, the running sums may still give a lower bound of the time in
interrupts, softirqs and NMIs (whylate.causes.window.running_sums).
(14) If it was woken on another CPU, its own CPU held nothing up until then: `woken late`, by what
that CPU ran.
(15) Functions that others have at the tracepoint sched_switch run before the recorder's, within
what looks like the time of the thread that leaves the CPU. Where there are some whose time is not
recorded, the time up to a switch has no evidence, but for what no such function is in: an
interrupt, a softirq, a lock.
(16) At a tracepoint, or as a notifier, whose beginning and end were recorded. While the interrupt
is pending, only if that came as the function ended: otherwise as if there were none.

Then the time of the recorder and of the hypervisor replaces what it overlaps
(whylate.causes.window.overlays). The pieces are disjoint, in order, and sum to the latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from whylate.causes.window.overlays import overlay_recording, overlay_steal
from whylate.causes.window.own_stages import own_stages, stages_within
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.running_sums import locate_lost_time
from whylate.causes.window.stacks import (
    GOING_TO_SLEEP,
    OF_COMPAT_CALLS,
    OF_SWITCHING,
    OF_SYSTEM_CALLS,
    OF_THE_SCHEDULER,
    OF_UNLOCKING,
    function_name,
    innermost_function,
    place_in,
    preempted_at_once,
)
from whylate.causes.window.timeline import Level, Segment, Thread, cut_segments, join_adjoining
from whylate.recording.activation import FAIR
from whylate.recording.events import Event, Kind, Window
from whylate.wire.constants import STACK_AFTER_NS

#: Detail of `scheduling` where a switch that it had nothing to do with kept interrupts disabled.
BETWEEN_OTHERS = "switch between other threads"
#: Detail of `interrupts disabled` for a switch that takes longer than switching does.
LONG_SWITCH = "context switch"
#: Detail of `outside the traced kernel` where its timer's interrupt came late.
LATE_TIMER = "timer delayed"
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
    untimed_hooks: Sequence[str] = (),
) -> list[Piece]:
    """Cut a window into pieces by the rule above.

    idle_exit_ns: declared exit latency by idle state. stacks_after_ns:
    stack_after_ns() of the recording, else STACK_AFTER_NS. untimed_hooks: functions that others
    have at the tracepoint sched_switch and that are not timed. Returns at least one piece, or none
    where nothing lies between due and run.
    """
    if window.run_ns <= window.due_ns:
        return []
    if stacks_after_ns is None:
        stacks_after_ns = STACK_AFTER_NS
    own = [event for event in window.events if event.cpu == window.cpu]
    rule = _Rule(window, own, idle_exit_ns or {}, stacks_after_ns)
    pieces: list[Piece] = []
    observed = min(max(window.observed_ns, window.due_ns), window.run_ns)
    until = max(observed, _seen_until(window, own))
    seen = cut_segments(own, window.cpu, observed, until)
    pieces += locate_lost_time(window, seen)
    stages = own_stages(window, own)
    for segment in seen:
        for start, end, stage in stages_within(stages, segment.start_ns, segment.end_ns):
            whole = (start, end) == (segment.start_ns, segment.end_ns)
            part = segment if whole else replace(segment, start_ns=start, end_ns=end)
            named = rule.named(part, stage)
            pieces += without_hooks(named, untimed_hooks, rule.switches_ns)
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


def cause_in_any_stage(segment: Segment) -> tuple[Cause, str] | None:
    """Return the cause of a context that is the same in all stages; None where it is not."""
    if segment.level is Level.UNKNOWN:
        return Cause.NOT_OBSERVED, ""
    if segment.level is Level.NMI:
        return Cause.NMI, segment.name
    if segment.lock:
        return Cause.LOCK, segment.lock
    if segment.hook:
        return Cause.HOOK, segment.hook
    return (Cause.INTERRUPT, segment.label) if segment.level is Level.INTERRUPT else None


#: Stages in which nothing that the CPU does delays the activation, and their causes.
_WHATEVER_RUNS = {
    Stage.STOPPED: Cause.STOPPED,
    Stage.BLOCKED: Cause.BLOCKED,
    Stage.MIGRATED: Cause.MIGRATION,
}
#: Functions of the timers that give a new quota, and the quota.
QUOTAS = {
    "sched_rt_period_timer": Cause.THROTTLING,
    "dl_task_timer": Cause.DEADLINE,
    "sched_cfs_period_timer": Cause.BANDWIDTH,
    "sched_cfs_slack_timer": Cause.BANDWIDTH,
}
#: Stages in which it waits to be woken.
_NOT_WOKEN = frozenset({Stage.PENDING, Stage.WAKING})
#: What is named by the time up to a switch, in which functions of others may run: rule (15).
_UP_TO_A_SWITCH = frozenset({
    Cause.PREEMPTION_DISABLED,
    Cause.INTERRUPTS_DISABLED,
    Cause.THREAD,
    Cause.PRIORITY,
    Cause.THROTTLING,
    Cause.BANDWIDTH,
    Cause.DEADLINE,
})  # fmt: skip


def without_hooks(
    pieces: list[Piece], hooks: Sequence[str], switches_ns: frozenset[int]
) -> list[Piece]:
    """Return pieces of which none is named that a hook at a switch may have made: rule (15)."""
    if not hooks:
        return pieces
    return [
        replace(piece, cause=Cause.UNEXPLAINED, detail=f"before a switch: {', '.join(hooks)}")
        if piece.cause in _UP_TO_A_SWITCH and piece.end_ns in switches_ns
        else piece
        for piece in pieces
    ]


class _Rule:
    """The table above for one window."""

    def __init__(
        self,
        window: Window,
        own: list[Event],
        idle_exit_ns: Mapping[int, int],
        stacks_after_ns: int,
    ) -> None:
        self._window = window
        self._own = own
        self._stacks_after_ns = stacks_after_ns
        self._idle_exit_ns = idle_exit_ns
        # What comes later is of the next sleep: a window goes on until the CPU is taken again.
        until = window.run_ns
        during = [event for event in own if window.due_ns <= event.time_ns <= until]
        stacks = [event for event in during if event.kind is Kind.STACK]
        self._timer_stack = _last(stacks, "timer")
        self._switch_stack = _last(stacks, "switch")
        self._lowered_to = self._lowest_own(own)
        self._over_quota_until_ns = self._last_over_quota(own)
        self._quota = self._find_quota()
        self._left_prio = _priorities_when_left(own)
        since_due = [e.time_ns for e in own if e.kind is Kind.SWITCH and e.time_ns > window.due_ns]
        self._first_switch_ns = since_due[0] if since_due else window.run_ns
        self.switches_ns = frozenset(since_due)
        running = window.switched_ns if window.switched_ns is not None else window.due_ns
        self._first_fault_ns = min(
            (
                event.time_ns
                for event in own
                if event.kind is Kind.FAULT and event.id == window.pid and event.time_ns >= running
            ),
            default=window.run_ns,
        )

    def _blocked_in_a_fault(self, at_ns: int) -> bool:
        """Whether the thread's own page fault came before it fell into that sleep, in state D."""
        return any(
            event.kind is Kind.SWITCH
            and event.prev_id == self._window.pid
            and self._first_fault_ns < event.time_ns <= at_ns
            and event.prev_state == "D"
            for event in self._own
        )

    def _last_over_quota(self, own: list[Event]) -> int:
        """Return until when the scheduler surely chose what comes after it; 0: it never did.

        Its last choice lasts until the switch to the measured thread.
        """
        waking, switched = self._window.waking_ns, self._window.switched_ns
        if waking is None or switched is None:
            return 0
        chose_another = any(
            event.kind is Kind.IDLE_ENTRY
            or (
                event.kind is Kind.SWITCH
                and event.id != self._window.pid
                and (event.id == 0 or self._is_after(event.prio))
            )
            for event in own
            if waking + TAKES_EFFECT_NS < event.time_ns < switched
        )
        return switched if chose_another else 0

    def _find_quota(self) -> Cause:
        """Return which quota was given anew while it was runnable: rule (4)."""
        waking, switched = self._window.waking_ns, self._window.switched_ns
        if waking is None or switched is None:
            return Cause.UNEXPLAINED
        given = [
            QUOTAS[name]
            for event in self._window.events
            if event.kind is Kind.TIMER_ENTRY and waking <= event.time_ns <= switched
            if (name := function_name(event.name)) in QUOTAS
        ]
        return given[-1] if given else Cause.UNEXPLAINED

    def _lowest_own(self, own: list[Event]) -> int:
        """Return the lowest priority (the highest number) that the thread was seen with."""
        seen = [
            event.prio
            for event in own
            if event.id == self._window.pid
            and event.kind in (Kind.WAKING, Kind.SWITCH, Kind.PRIO)
            and self._window.due_ns <= event.time_ns <= self._window.run_ns
        ]
        return max([self._window.prio, *seen])

    def named(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Return the pieces of a segment that lies in one stage."""
        start, end = segment.start_ns, segment.end_ns
        if stage is Stage.BLOCKED and self._blocked_in_a_fault(start):
            return [Piece(start, end, Cause.PAGE_FAULT, "blocked in it", stage)]
        if stage in _WHATEVER_RUNS:
            return [Piece(start, end, _WHATEVER_RUNS[stage], "", stage)]
        if stage in _NOT_WOKEN and self._woken_elsewhere():
            return self._woken_late(segment, stage)
        if stage is Stage.PENDING and not self._holds_the_interrupt_up(segment):
            segment = replace(segment, hook="")
        if (alike := cause_in_any_stage(segment)) is not None:
            cause, detail = alike
        elif (
            segment.sleeps_for
            and segment.thread is not None
            and segment.thread.pid == self._window.pid
        ):
            # On its way to sleep for it, or back; of another thread it says nothing of the CPU.
            cause, detail = Cause.LOCK, segment.sleeps_for
        elif stage is not Stage.PENDING and segment.level is Level.SOFTIRQ:
            cause, detail = Cause.SOFTIRQ, segment.label
        elif stage in _NOT_WOKEN:
            return self._pending(segment, stage)
        elif segment.thread is None or segment.thread.pid == self._window.pid:
            return self._its_own(segment, stage)
        else:
            cause, detail = self._other_thread(segment, segment.thread)
        return [Piece(start, end, cause, detail, stage)]

    def _holds_the_interrupt_up(self, segment: Segment) -> bool:
        """Whether the interrupt came just when a function of others had ended.

        What ends earlier has not kept it off, and what it interrupts had interrupts enabled.
        """
        timer_ns = self._window.timer_ns
        return timer_ns is not None and 0 <= timer_ns - segment.hook_end_ns <= TO_THE_SCHEDULER_NS

    def _woken_elsewhere(self) -> bool:
        waking_cpu = self._window.waking_cpu
        return waking_cpu is not None and waking_cpu != self._window.cpu

    def _woken_late(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Name what the CPU that woke it ran until then: rule (14)."""
        cpu = self._window.waking_cpu
        assert cpu is not None  # noqa: S101 - _woken_elsewhere() has looked
        events = [event for event in self._window.events if event.cpu == cpu]
        pieces = []
        for part in cut_segments(events, cpu, segment.start_ns, segment.end_ns):
            ran = f"{part.label or 'idle'} " if part.level is not Level.UNKNOWN else ""
            detail = f"{ran}on CPU {cpu}"
            pieces.append(Piece(part.start_ns, part.end_ns, Cause.WOKEN_LATE, detail, stage))
        return pieces

    def _other_thread(self, segment: Segment, thread: Thread) -> tuple[Cause, str]:
        """Name what another thread's running is, while the activation was runnable."""
        if not thread.idle and (before := self._comes_before(segment, thread)) is not None:
            return before
        runnable = self._window.waking_ns
        chosen = runnable is not None and segment.chosen_ns > runnable and not thread.idle
        if segment.start_ns < self._over_quota_until_ns or (chosen and self._is_after(thread.prio)):
            return self._quota, f"{thread.name or 'idle'} ran instead"
        if thread.idle:
            return Cause.SCHEDULING, "from idle"
        stack = self._switch_stack
        if stack is not None and stack.id not in (0, thread.pid):
            # What another thread did afterwards is no evidence for this one.
            return Cause.UNEXPLAINED, f"in {thread.name}"
        if stack is None and not self._was_long_runnable():
            return Cause.SCHEDULING, f"from {thread.name}"
        if stack is None and self._slept(thread):
            return Cause.PREEMPTION_DISABLED, f"in {thread.name}"
        symbols = stack.stack if stack is not None else ()
        names = [function_name(symbol) for symbol in symbols]
        # What lies within the scheduler is the recording itself.
        begin = names.index("__schedule") if "__schedule" in names else 0
        symbols, names = symbols[begin:], names[begin:]
        if preempted_at_once(names):
            return self._preempted_at_once(segment, thread)
        # Where the kernel hides its names, how the thread came here is not known.
        if set(names) <= {"?"}:
            return Cause.UNEXPLAINED, f"in {thread.name}"
        function = place_in(symbols) or segment.within or _system_call(stack, symbols, thread)
        if not function:
            function = innermost_function(symbols, OF_THE_SCHEDULER | OF_UNLOCKING)
        return Cause.PREEMPTION_DISABLED, f"{function} in {thread.name}".strip()

    def _comes_before(self, segment: Segment, thread: Thread) -> tuple[Cause, str] | None:
        """Name a thread that the scheduler prefers or treats as equal; None where it does not."""
        prio = self._window.prio
        began, left = thread.prio, self._left_prio.get(segment.chosen_ns, thread.prio)
        if thread.inherited and _competes(began, prio):
            return Cause.PRIORITY, f"{thread.name} inherited one"
        if _competes(began, prio):
            return Cause.THREAD, segment.label
        if _competes(left, prio):
            return Cause.PRIORITY, f"{thread.name} was raised"
        if _competes(began, self._lowered_to):
            return Cause.PRIORITY, f"its own was lowered: {thread.name} ran"
        return None

    def _is_after(self, prio: int) -> bool:
        """Whether choosing a thread of that priority needs a quota that is used up: rule (4)."""
        return self._window.prio < FAIR and prio > self._lowered_to

    def _preempted_at_once(self, segment: Segment, thread: Thread) -> tuple[Cause, str]:
        """Name a stretch in a thread that the first interrupt to end took off the CPU."""
        runnable = self._window.waking_ns
        after_interrupt = runnable is not None and segment.start_ns > runnable
        if after_interrupt and segment.end_ns - segment.start_ns <= TO_THE_SCHEDULER_NS:
            return Cause.SCHEDULING, f"from {thread.name}"
        return Cause.UNEXPLAINED, f"in {thread.name}"

    def _slept(self, thread: Thread) -> bool:
        """Whether the thread that had the CPU before went to sleep, or ended, by itself."""
        return any(
            event.prev_id == thread.pid and event.prev_state not in ("R", "?", "")
            for event in self._own
            if event.kind is Kind.SWITCH and event.time_ns == self._window.switched_ns
        )

    def _was_long_runnable(self) -> bool:
        """Return whether it waited long enough for the recorder to take a stack."""
        waking, switched = self._window.waking_ns, self._window.switched_ns
        return waking is None or switched is None or switched - waking > self._stacks_after_ns

    def _pending(self, segment: Segment, stage: Stage) -> list[Piece]:
        """Name what ran while the interrupt did not come."""
        thread = segment.thread
        start, end = segment.start_ns, segment.end_ns
        if segment.idle_state >= 0 and segment.level is Level.THREAD:
            return list(self._idle_exit(segment, stage))
        stack = self._timer_stack
        if self._went_to_sleep():
            return [Piece(start, end, Cause.UNEXPLAINED, "before sleep", stage)]
        if stack is not None and stack.enabled:
            return [Piece(start, end, *self._held_off(segment, stack.stack), stage)]
        if thread is not None and thread.pid == self._window.pid and self._window.timer_ns is None:
            # It was still awake, found its time past, and did not sleep.
            return [Piece(start, end, Cause.RETURN, "did not sleep", stage)]
        inside = segment.label if segment.level is Level.SOFTIRQ else thread.name if thread else ""
        if stack is not None and stack.enabled is False and self._window.prio < FAIR:
            return [Piece(start, end, Cause.OUTSIDE, LATE_TIMER, stage)]
        if self._would_wait_for(thread):
            return [Piece(start, end, Cause.THREAD, inside, stage)]
        return [Piece(start, end, Cause.UNEXPLAINED, f"in {inside}" if inside else "", stage)]

    def _held_off(self, segment: Segment, stack: tuple[str, ...]) -> tuple[Cause, str]:
        """Name what ran with interrupts disabled; stack: where they came on again."""
        thread = segment.thread
        if thread is not None and stack and function_name(stack[0]) in OF_SWITCHING:
            if self._would_wait_for(thread):
                return Cause.THREAD, thread.name
            if segment.end_ns - segment.start_ns <= TO_THE_SCHEDULER_NS:
                return Cause.SCHEDULING, BETWEEN_OTHERS
            # They were off in that thread until the switch; what is left is the switch itself.
            in_switch = self._first_switch_ns <= segment.start_ns
            return Cause.INTERRUPTS_DISABLED, LONG_SWITCH if in_switch else f"in {thread.name}"
        # Where it was not late enough for a stack there is the innermost function alone.
        function = place_in(stack) or innermost_function(stack, OF_UNLOCKING)
        if function not in OF_UNLOCKING:
            return Cause.INTERRUPTS_DISABLED, function
        # Nobody knows for whom; but the CPU was that thread's, with interrupts or without.
        if thread is not None and self._would_wait_for(thread):
            return Cause.THREAD, thread.name
        return Cause.INTERRUPTS_DISABLED, ""

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

    def _idle_exit(self, segment: Segment, stage: Stage) -> Iterator[Piece]:
        """Name what the idle state answers for, counted from when it could have been left."""
        state, start, end = segment.idle_state, segment.start_ns, segment.end_ns
        declared_ns = self._window.due_ns + self._idle_exit_ns.get(state, 0)
        until = min(max(declared_ns, start), end)
        if until > start:
            yield Piece(start, until, Cause.IDLE_EXIT, f"state {state}", stage)
        if end > until:
            # The timers of SCHED_OTHER threads have slack: they are not late.
            late = Cause.OUTSIDE if self._window.prio < FAIR else Cause.UNEXPLAINED
            yield Piece(until, end, late, "while idle", stage)

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


def _system_call(stack: Event | None, symbols: tuple[str, ...], thread: Thread) -> str:
    """Return the system call at whose end a thread left the CPU: `poll()`; "": at none.

    The number is that with which it last entered the kernel, which the stack must show.
    """
    names = {function_name(symbol) for symbol in symbols}
    if not names & OF_SYSTEM_CALLS or names & OF_COMPAT_CALLS:
        return ""
    known = stack is not None and stack.id == thread.pid and stack.prev_state
    return f"{known}()" if known else "a system call"


def _last(stacks: list[Event], name: str) -> Event | None:
    return next((event for event in reversed(stacks) if event.name == name), None)


def _competes(prio: int, own: int) -> bool:
    """Whether a thread of that priority may have the CPU before one of the other."""
    return prio <= own or min(prio, own) >= FAIR


def _priorities_when_left(own: list[Event]) -> dict[int, int]:
    """Return with which priority each thread left the CPU, by when it was switched to."""
    left: dict[int, int] = {}
    chosen: Event | None = None
    for event in own:
        if event.kind is Kind.SWITCH:
            # Switches that are made of noise have neither state nor priority of who left.
            if chosen is not None and chosen.id == event.prev_id and event.prev_state:
                left[chosen.time_ns] = event.prev_prio
            chosen = event
    return left
