"""A piece of a late activation: a stretch of time with one cause."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What a piece is put down to; what stands behind it is the piece's detail."""

    INTERRUPT = "interrupt"
    SOFTIRQ = "softirq"
    NMI = "nmi"
    THREAD = "thread"
    INTERRUPTS_DISABLED = "interrupts disabled"
    PREEMPTION_DISABLED = "preemption disabled"
    LOCK = "lock"
    IDLE_EXIT = "idle exit"
    #: A quota was used up: of all real-time threads, of a cgroup's threads, of its own deadline.
    THROTTLING = "throttling"
    BANDWIDTH = "CFS bandwidth"
    DEADLINE = "deadline budget"
    PRIORITY = "priority changed"
    STOPPED = "stopped by a signal"
    BLOCKED = "blocked"
    WOKEN_LATE = "woken late"
    MIGRATION = "migration"
    PAGE_FAULT = "page fault"
    #: Of others, at a tracepoint or as a notifier.
    HOOK = "hook"
    #: By the hypervisor's own count alone.
    STEAL = "steal"
    #: The host, firmware, or a handler that leaves no event.
    OUTSIDE = "outside the traced kernel"
    #: The activation's own way: the scheduler's work, and the way back to user code.
    SCHEDULING = "scheduling"
    RETURN = "return"
    #: Of an execution: until its thread was woken.
    ASLEEP = "asleep"
    #: Of an execution: it had the CPU, and nothing else was recorded there.
    OWN = "own code"
    #: What whylate itself took, to see why it was late.
    RECORDING = "recording"
    UNEXPLAINED = "unexplained"
    NOT_OBSERVED = "not observed"

    @classmethod
    def _missing_(cls, value: object) -> Cause | None:
        """Accept the names of earlier versions, which stored studies have."""
        former = {
            "interrupts off": cls.INTERRUPTS_DISABLED,
            "preemption off": cls.PREEMPTION_DISABLED,
        }
        return former.get(value) if isinstance(value, str) else None


class Stage(StrEnum):
    """What an activation waits for."""

    PENDING = "pending"  # due, its interrupt has not begun
    STOPPED = "stopped"  # by a signal or a tracer
    BLOCKED = "blocked"  # asleep in the kernel for something else
    ASLEEP = "asleep"  # of an execution
    MIGRATED = "migrated"  # runnable on another CPU
    WAKING = "waking"  # in the interrupt that wakes it
    RUNNABLE = "runnable"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a window with one cause. detail: the interrupt, thread, function or state."""

    start_ns: int
    end_ns: int
    cause: Cause
    detail: str = ""
    stage: Stage = Stage.PENDING

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.start_ns
