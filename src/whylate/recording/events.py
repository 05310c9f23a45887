"""What the flight recorder has of an activation: a window of events.

Late activations, and a random sample of controls, are recorded with all that happened on their
CPU from the last context switch before they were due until they ran. Traces of other tools are
brought into the same form (whylate.recording.traces).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Kind(StrEnum):
    """Kinds of events; the comments name the fields that they use beside time and CPU."""

    IRQ_ENTRY = "irq_entry"  # id: interrupt, name: handler
    IRQ_EXIT = "irq_exit"  # id: interrupt
    VECTOR_ENTRY = "vector_entry"  # name: local_timer, reschedule, ...
    VECTOR_EXIT = "vector_exit"  # name
    SOFTIRQ_RAISE = "softirq_raise"  # id: vector, name: NET_RX, ...
    SOFTIRQ_ENTRY = "softirq_entry"  # id, name
    SOFTIRQ_EXIT = "softirq_exit"  # id, name
    NMI = "nmi"  # at its end; duration_ns, name: handler
    TIMER_ENTRY = "timer_entry"  # id: the hrtimer, name: its function; duration_ns: since due
    TIMER_EXIT = "timer_exit"  # id: the hrtimer
    WAKING = "waking"  # on the waking CPU; id: thread, prio, target_cpu, prev_state
    SWITCH = "switch"  # id, name, prio: the next thread; prev_*: the previous thread
    MIGRATE = "migrate"  # id: thread, target_cpu
    LOCK_BEGIN = "lock_begin"  # id: address, name: symbol
    LOCK_END = "lock_end"  # id: address
    IDLE_ENTRY = "idle_entry"  # id: state
    IDLE_EXIT = "idle_exit"
    IPI_SEND = "ipi_send"  # target_cpu, name: callback
    FAULT = "fault"  # id: thread
    STEAL = "steal"  # duration_ns: taken by the hypervisor since steal was last looked at
    STACK = "stack"  # name: "timer" or "switch"; enabled, prev_state; duration_ns: of taking it
    CALL_ENTRY = "call_entry"  # a function called from another CPU; name
    CALL_EXIT = "call_exit"  # name
    DEFERRED_ENTRY = "deferred_entry"  # name: of a timer_list, a work item, a tasklet
    DEFERRED_EXIT = "deferred_exit"
    PRIO = "prio"  # id: thread, prio: that it inherits, or has again
    HOOK = "hook"  # of others, at its end; id: thread, name: its function, duration_ns
    CALLBACK = "callback"  # of RCU, at its end; id: thread, name: its function, duration_ns


#: In place of a stack, where an interrupt interrupted user code.
USER_CODE = "(user code)"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. Times are int ns on the board's CLOCK_MONOTONIC."""

    time_ns: int
    cpu: int
    kind: Kind
    id: int = 0
    name: str = ""
    #: As the kernel counts, lower goes first: -1 SCHED_DEADLINE; 0…98 real-time, 99 - priority;
    #: 100…139 others.
    prio: int = 0
    prev_id: int = 0
    prev_prio: int = 0
    #: "R" where the previous thread was preempted, else the letter of its new state. Of a waking:
    #: the letter of the state that it ends. Of a stack at a switch: the system call that its thread
    #: is in, as `poll`. Empty: not known.
    prev_state: str = ""
    target_cpu: int = -1
    duration_ns: int = 0
    #: Functions, innermost first; USER_CODE alone where that was interrupted.
    stack: tuple[str, ...] = ()
    #: Of a stack at an interrupt: whether the instruction before the interrupted one enables
    #: interrupts. None: not known.
    enabled: bool | None = None


#: Why a window was recorded: it was late, drawn at random as a control, or it ended the run.
Reason = Literal["tail", "control", "stop"]


@dataclass(frozen=True, slots=True)
class Window:
    """One activation with all that was recorded of it.

    events: in order of time; of its own CPU from a context switch at or before due_ns on. Of the
    CPU that woke it from elsewhere until the waking; of all CPUs where it ended the run. Those of
    another CPU are all there from their first on. From observed_ns on all events of its own CPU
    are there; where that is later than due_ns, the part before was not observed.
    """

    cpu: int
    activation: int
    #: Of the measured thread.
    pid: int
    prio: int
    due_ns: int
    run_ns: int
    reason: Reason
    #: When the interrupt that woke it began, its waking, and its switching in; None: not seen.
    timer_ns: int | None
    waking_ns: int | None
    switched_ns: int | None
    #: Where it was woken; None where waking_ns is.
    waking_cpu: int | None
    observed_ns: int
    events: tuple[Event, ...]
    #: ns from when the thread was switched to before until it was for this activation: in
    #: interrupts, softirqs, NMIs, idle, in other threads, and taken by the hypervisor, which is
    #: part of the others. Empty where they were not recorded; they hold also where events are lost.
    sums: tuple[int, ...] = ()

    @property
    def latency_ns(self) -> int:
        """From due to run."""
        return self.run_ns - self.due_ns
