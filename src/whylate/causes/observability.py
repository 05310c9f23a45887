"""What each cause needs to be observable on a board.

The one table from causes to what the recorder must have (recording.md names the tracepoints).
It is asked before a run, of what the recorder reports when it is tried for a moment, and after a
run, of the same report in the manifest. A cause that cannot be named is not lost: its time counts
as something else, most often as unexplained, and which that is follows from the rule in
whylate.causes.window.pieces.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from whylate.causes.window.piece import Cause
from whylate.recording.manifest import Fact, FactValue, RecorderReport


class Observable(StrEnum):
    """Whether a cause can be named on a board."""

    YES = "observable"
    PARTLY = "partly"
    NO = "not observable"
    #: The board reports no such thing.
    ABSENT = "not present"


@dataclass(frozen=True, slots=True)
class Observability:
    """Whether one cause can be named.

    missing: the one thing that it lacks, and where there is no such thing why. counts_as: what
    its time is called then. Both are "" for an observable cause.
    """

    cause: Cause
    observable: Observable
    missing: str = ""
    counts_as: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """What the recorder must have for a cause, and what its time counts as without it."""

    tracepoints: tuple[str, ...]
    counts_as: str
    stack: bool = False


_SCHED = ("sched:sched_switch", "sched:sched_waking")
NEEDS: Mapping[Cause, Need] = {
    Cause.INTERRUPT: Need(("irq:irq_handler_entry", "irq:irq_handler_exit"), "what it interrupted"),
    Cause.SOFTIRQ: Need(("irq:softirq_entry", "irq:softirq_exit"), "what it ran in"),
    Cause.NMI: Need(("nmi:nmi_handler",), "what it interrupted"),
    Cause.THREAD: Need(_SCHED, "unexplained"),
    Cause.INTERRUPTS_DISABLED: Need(("timer:hrtimer_expire_entry",), "unexplained", stack=True),
    Cause.PREEMPTION_DISABLED: Need(_SCHED, "unexplained", stack=True),
    Cause.LOCK: Need(
        ("lock:contention_begin", "lock:contention_end"),
        "interrupts disabled, preemption disabled or unexplained",
    ),
    Cause.IDLE_EXIT: Need(("power:cpu_idle",), "unexplained"),
    Cause.THROTTLING: Need(_SCHED, "unexplained"),
    Cause.BANDWIDTH: Need(_SCHED, "unexplained"),
    Cause.DEADLINE: Need(_SCHED, "unexplained"),
    Cause.PRIORITY: Need(_SCHED, "thread, or preemption disabled"),
    Cause.STOPPED: Need(_SCHED, "unexplained"),
    Cause.BLOCKED: Need(_SCHED, "unexplained"),
    Cause.WOKEN_LATE: Need(_SCHED, "unexplained"),
    Cause.MIGRATION: Need(("sched:sched_migrate_task",), "what ran on its own CPU"),
    Cause.PAGE_FAULT: Need(("exceptions:page_fault_user",), "return"),
    Cause.HOOK: Need((), "what had the CPU"),
    Cause.STEAL: Need((), "outside the traced kernel, or what seemed to run"),
    Cause.OUTSIDE: Need(("timer:hrtimer_expire_entry",), "unexplained", stack=True),
    Cause.SCHEDULING: Need(_SCHED, "unexplained"),
}

#: Of executions: causes of a wakeup alone are none of theirs.
EXECUTION_NEEDS: Mapping[Cause, Need] = {
    **{
        cause: NEEDS[cause]
        for cause in (
            Cause.INTERRUPT, Cause.SOFTIRQ, Cause.NMI, Cause.THREAD, Cause.LOCK, Cause.THROTTLING,
            Cause.BANDWIDTH, Cause.DEADLINE, Cause.STOPPED, Cause.HOOK, Cause.SCHEDULING,
        )
    },
    Cause.ASLEEP: Need(_SCHED, "not observed"),
    Cause.STEAL: Need((), "own code, or what seemed to run"),
}  # fmt: skip

#: Entries that make an interrupt what is not one of a device.
_X86_VECTORS = tuple(
    f"irq_vectors:{vector}_{end}"
    for vector in ("local_timer", "reschedule", "call_function", "call_function_single", "irq_work")
    for end in ("entry", "exit")
)
_IPIS = ("ipi:ipi_entry", "ipi:ipi_exit")
#: Where a tracepoint is to be had, for those that many kernels lack.
_HAD = {
    "lock:contention_begin": "which Linux has from 5.19 on",
    "exceptions:page_fault_user": "which kernels for ARM lack, and older ones for RISC-V",
    "nmi:nmi_handler": "which x86 alone has",
}
_X86 = frozenset({"x86_64", "i686", "i586", "i386"})
#: They are named by the time up to a switch (rule (15) of whylate.causes.window.pieces).
_UP_TO_A_SWITCH = frozenset({Cause.THREAD, Cause.PREEMPTION_DISABLED})
#: Of their code it is known what switches interrupts on (whylate.recording.recorder.raw_events).
_KNOWN_CODE = _X86 | {"aarch64", "riscv64"}
ENOENT = 2


def untimed_switch_hooks(report: RecorderReport | None) -> list[str]:
    """Return what others have at the tracepoint sched_switch whose time is not recorded."""
    hooks = report.hooks if report is not None else []
    return [hook.name for hook in hooks if hook.at == "sched_switch" and not hook.timed]


def list_observability(
    report: RecorderReport | None, facts: Sequence[Fact], needs: Mapping[Cause, Need] = NEEDS
) -> list[Observability]:
    """Return for each cause whether it can be named where a recorder reported that.

    facts: of the same board; those that are missing make nothing better. report None: there was
    no recorder. needs: of the causes to list. Never raises on what a board reports.
    """
    if report is None or report.engine is None:
        why = (report.refused if report is not None else None) or "nothing is recorded"
        return [
            Observability(cause, Observable.NO, why, Cause.NOT_OBSERVED.value) for cause in needs
        ]
    board = _Board(report, report.engine, {fact.name: fact.value for fact in facts})
    return [board.sight(cause, need) for cause, need in needs.items()]


class _Board:
    """What is known of a board."""

    def __init__(self, report: RecorderReport, engine: str, facts: Mapping[str, FactValue]) -> None:
        self._engine = engine
        self._errors = {source.name: source.error for source in report.sources}
        self._report = report
        self._has_symbols = report.symbols is None or report.symbols.shown
        self._facts = facts
        self._machine = str(facts.get("machine") or "")

    def sight(self, cause: Cause, need: Need) -> Observability:
        if (why := self._absent(cause)) is not None:
            return Observability(cause, Observable.ABSENT, why)
        missing = self._without(need.tracepoints) or (self._no_stack(cause) if need.stack else "")
        missing = missing or self._beyond_tracepoints(cause)
        if missing:
            return Observability(cause, Observable.NO, missing, need.counts_as)
        partly = self._partly(cause, need)
        return (
            Observability(cause, Observable.PARTLY, *partly)
            if partly
            else Observability(cause, Observable.YES)
        )

    def _absent(self, cause: Cause) -> str | None:
        """Return why the board can have no such cause; None where it can."""
        if cause is Cause.NMI and self._machine == "aarch64":
            option = "irqchip.gicv3_pseudo_nmi=1"
            return None if option in self._words("kernel_command_line") else f"not without {option}"
        if cause is Cause.NMI and self._machine.startswith("arm"):
            return "32-bit ARM has none"
        if cause is Cause.NMI and self._machine == "riscv64":
            return "RISC-V has none"
        if cause is Cause.STEAL and "hypervisor" in self._facts and not self._facts["hypervisor"]:
            return "no sign of a hypervisor"
        if cause is Cause.THROTTLING and self._facts.get("rt_runtime_us") == -1:
            return "kernel.sched_rt_runtime_us is -1"
        return None

    def _without(self, tracepoints: Sequence[str]) -> str:
        """Return the first tracepoint that was not attached, and why; "" where all were."""
        for name in tracepoints:
            error = self._errors.get(name)
            if error is None or error == ENOENT:
                had = _HAD.get(name)
                return f"no tracepoint {name}" + (f", {had}" if had else "")
            if error and self._engine == "bpf":
                return f"a program at {name}, which the kernel refuses: {os.strerror(error)}"
            if error:
                return f"tracepoint {name}: {os.strerror(error)}"
        return ""

    def _no_stack(self, cause: Cause) -> str:
        if self._engine != "bpf":
            return f"stacks, which the {self._engine} engine does not take"
        if cause is Cause.INTERRUPTS_DISABLED and self._machine not in _KNOWN_CODE:
            return "what switches interrupts on is not known of this CPU's code"
        return ""

    def _beyond_tracepoints(self, cause: Cause) -> str:
        """Return what else a cause lacks altogether."""
        if cause is Cause.STEAL:
            if self._engine != "bpf":
                return f"the hypervisor's account, which the {self._engine} engine lacks"
            options = self._words("kernel_config")
            if options and "PARAVIRT_TIME_ACCOUNTING=y" not in options:
                return "a kernel with CONFIG_PARAVIRT_TIME_ACCOUNTING"
        if cause in _UP_TO_A_SWITCH and (hooks := untimed_switch_hooks(self._report)):
            return (
                "a switch without functions of others: before the recorder's runs "
                f"{', '.join(hooks)}"
            )
        if cause is Cause.HOOK and self._report.shows_hooks is None:
            lacks = f"the {self._engine} engine" if self._engine != "bpf" else "an older recorder"
            return f"the time of functions of others, which {lacks} does not record"
        if cause is Cause.IDLE_EXIT and not self._words("idle_states"):
            return "idle states that say how long leaving them takes"
        return ""

    def _partly(self, cause: Cause, need: Need) -> tuple[str, str] | None:
        """Return what a part of a cause lacks, and what that part counts as."""
        counts_as = need.counts_as
        if cause is Cause.INTERRUPT:
            missing = self._without(_X86_VECTORS if self._machine in _X86 else _IPIS)
            return (missing, counts_as) if missing else None
        if cause is Cause.HOOK and (missing := self._untimed()):
            return missing, counts_as
        if cause is Cause.PREEMPTION_DISABLED and not self._report.shows_hooks:
            return (
                "which functions of others are at sched_switch (CONFIG_KALLSYMS_ALL)",
                "the time of such a function counts as preemption disabled",
            )
        if cause is Cause.PRIORITY:
            missing = self._without(("sched:sched_pi_setprio",))
            return (missing, counts_as) if missing else None
        if cause is Cause.LOCK:
            if self._machine.startswith("arm"):
                return "raw spinlocks have no tracepoint on 32-bit ARM", counts_as
            return "a raw spinlock's first waiter has no tracepoint", counts_as
        if cause is Cause.STEAL and not self._facts.get("steal_since_boot_s"):
            return "the host took nothing since boot, or does not say", counts_as
        if need.stack and not self._has_symbols:
            return "kernel symbols: where it was is not known", "the same, without a place"
        return None

    def _untimed(self) -> str:
        """Return which functions of others are not timed, or not known; "" where all are."""
        if not self._report.shows_hooks:
            return "which functions of others are at its tracepoints (CONFIG_KALLSYMS_ALL)"
        untimed = [
            f"{hook.name or 'a notifier'} at {hook.at}"
            for hook in self._report.hooks
            if not hook.timed
        ]
        return f"the time of {', '.join(untimed)}" if untimed else ""

    def _words(self, name: str) -> list[str]:
        value = self._facts.get(name)
        return value if isinstance(value, list) else []
