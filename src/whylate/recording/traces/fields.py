"""What tracepoints say, from the text of their fields.

The same tracepoint is written in up to three ways: as the kernel prints it, as trace-cmd's and
perf's plugins do, and raw (`trace-cmd report -R`). Where text comes from threads' names, a pattern
takes no more than a name can hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from whylate.recording.events import Event, Kind
from whylate.recording.recorder.raw_events import LONGEST_NAME, STATES, VECTORS
from whylate.text import is_number, shown

#: Time in ns, kind (None: what precedes was not observed), the text of the fields or the event
#: itself, and a number more: of a timer when it was due, of a fault the thread's pid.
Record = tuple[int, "Kind | None", object, int]
#: The largest number that a column of ours holds.
MOST = (1 << 63) - 1

#: A name is at most 15 characters, and some kernel threads' are shown longer.
_NAME = rb"(.{0,48}?)"
SWITCH = re.compile(
    rb"prev_comm=" + _NAME + rb" prev_pid=(\d{1,10}) prev_prio=(-?\d{1,5}) prev_state=(\S{1,24})"
    rb" (?:==> )?next_comm=" + _NAME + rb" next_pid=(\d{1,10}) next_prio=(-?\d{1,5})"
)
SWITCH_SHORT = re.compile(
    _NAME
    + rb":(\d{1,10}) \[(-?\d{1,5})\] (\S{1,24}) ==> "
    + _NAME
    + rb":(\d{1,10}) \[(-?\d{1,5})\]"
)
WAKING = re.compile(
    rb"comm=" + _NAME + rb" pid=(\d{1,10}) prio=(-?\d{1,5})(?: success=\d+)? target_cpu=(\d{1,5})"
)
WAKING_SHORT = re.compile(_NAME + rb":(\d{1,10}) \[(-?\d{1,5})\].{0,40}? CPU:(\d{1,5})")
MIGRATE = re.compile(rb" pid=(\d{1,10}) .{0,60}?dest_cpu=(\d{1,5})")
TIMER_START = re.compile(rb"hrtimer=(?:0x)?([0-9a-f]{1,16}) .*?softexpires=(\d{1,19})")
TIMER_EXPIRE = re.compile(rb"hrtimer=(?:0x)?([0-9a-f]{1,16}) .*?now=(\d{1,19})")
_FUNCTION = re.compile(rb"func(?:tion)?=([^\s,]{1,160})")
_IRQ = re.compile(rb"irq=(\d{1,10})(?: name=(.{1,160}))?")
_SOFTIRQ = re.compile(rb"vec=(\d{1,3})(?: \[action=(\w{1,32})\])?")
_IPI = re.compile(rb"\(([\w ]{1,64})\)")
#: The kernel's own text has the address without 0x, hashed.
_LOCK = re.compile(rb"(?:lock_addr=)?(?:0x)?([0-9a-f]{1,16})\b")
_LOCK_FLAGS = re.compile(rb"flags=(0x[0-9a-f]{1,8}|\d{1,8}|[\w|]{1,64})")
_STATE = re.compile(rb"state=(-?\d{1,10})")
_NMI = re.compile(rb"([\w.]{1,160})(?:\(\))? delta_ns: ?=?(\d{1,18})|"
                  rb"handler=(\S{1,160}).{0,40}?delta_ns=(\d{1,18})")  # fmt: skip
_CPU = re.compile(rb"cpu=(\d{1,5})")
_CALLBACK = re.compile(rb"callback=([^\s,]{1,160})")

#: How arm and arm64 call their calls between CPUs, and how x86's interrupts for them are called.
_IPIS = {
    "Rescheduling interrupts": "reschedule",
    "Function call interrupts": "call_function",
    "Single function call interrupts": "call_function_single",
    "CPU stop interrupts": "cpu_stop",
    "CPU stop (for crash dump) interrupts": "cpu_stop",
    "Timer broadcast interrupts": "timer_broadcast",
    "IRQ work interrupts": "irq_work",
}
#: An idle state that is none: the CPU left it.
_RUNNING = {b"4294967295", b"-1"}
#: Of LCB_F_SPIN in the raw flags of a contention.
_SPINS = 0x1

TRACEPOINTS: Mapping[bytes, Kind] = {
    b"sched_switch": Kind.SWITCH,
    b"sched_waking": Kind.WAKING,
    b"sched_migrate_task": Kind.MIGRATE,
    b"irq_handler_entry": Kind.IRQ_ENTRY,
    b"irq_handler_exit": Kind.IRQ_EXIT,
    b"softirq_raise": Kind.SOFTIRQ_RAISE,
    b"softirq_entry": Kind.SOFTIRQ_ENTRY,
    b"softirq_exit": Kind.SOFTIRQ_EXIT,
    b"hrtimer_expire_entry": Kind.TIMER_ENTRY,
    b"hrtimer_expire_exit": Kind.TIMER_EXIT,
    b"contention_begin": Kind.LOCK_BEGIN,
    b"contention_end": Kind.LOCK_END,
    b"cpu_idle": Kind.IDLE_ENTRY,
    b"ipi_entry": Kind.VECTOR_ENTRY,
    b"ipi_exit": Kind.VECTOR_EXIT,
    b"ipi_send_cpu": Kind.IPI_SEND,
    b"nmi_handler": Kind.NMI,
    b"page_fault_user": Kind.FAULT,
    b"csd_function_entry": Kind.CALL_ENTRY,
    b"csd_function_exit": Kind.CALL_EXIT,
    **{
        f"{name}{apic}_{end}".encode(): kind
        for name in VECTORS
        for apic in ("", "_apic")
        for end, kind in (("entry", Kind.VECTOR_ENTRY), ("exit", Kind.VECTOR_EXIT))
    },
}


@lru_cache(maxsize=4096)
def text(raw: bytes) -> str:
    """Return a name from a trace, safe to show."""
    return shown(raw.decode("utf-8", "replace"), LONGEST_NAME)


def function(symbol: str) -> str:
    """Return a function's name where its very beginning is meant."""
    return symbol.partition("+0x0")[0].removesuffix("/0x0")


def state_of(raw: bytes) -> str:
    """Return the state of a thread that was switched from: R where it was preempted."""
    state = text(raw)
    if not is_number(state):
        return state[:1]
    bits = int(state)
    # TASK_REPORT_MAX marks preemption; the rest are those of task_struct.__state.
    return next((state for bit, state in STATES if bits & bit), "R")


def switch_of(rest: bytes) -> tuple[bytes, int, int, bytes, bytes, int, int] | None:
    """Return name, pid, priority and state of who was switched from; and name, pid, priority."""
    match = SWITCH.search(rest) or SWITCH_SHORT.search(rest)
    if match is None:
        return None
    prev, prev_pid, prev_prio, state, name, pid, prio = match.groups()
    return prev, int(prev_pid), int(prev_prio), state, name, int(pid), int(prio)


def waking_of(rest: bytes) -> tuple[bytes, int, int, int] | None:
    """Return name, pid, priority and CPU of who is woken."""
    match = WAKING.search(rest) or WAKING_SHORT.search(rest)
    if match is None:
        return None
    name, pid, prio, cpu = match.groups()
    return name, int(pid), int(prio), int(cpu)


def event_of(record: Record, cpu: int) -> Event | None:
    """Return a record as an event; None where its fields are not as they are known."""
    time_ns, kind, rest, extra = record
    if kind is None:
        return None
    if isinstance(rest, Event):
        return rest
    read = _FIELDS.get(kind)
    fields = read(rest) if read is not None and isinstance(rest, bytes) else {}
    if fields is None:
        return None
    if kind is Kind.FAULT:
        fields["id"] = extra
    elif kind is Kind.TIMER_ENTRY and extra:
        # Rounded to nanoseconds, a timer that came in its very nanosecond was due a nanosecond ago.
        fields["duration_ns"] = min(max(1, time_ns - extra), MOST)
    return Event(time_ns, cpu, **{"kind": kind, **fields})


_Fields = dict[str, Any]
_Reader = Callable[[bytes], _Fields | None]


def _matched(
    pattern: re.Pattern[bytes], fields: Callable[[re.Match[bytes]], _Fields | None]
) -> _Reader:
    """Return a reader of fields that are a match of a pattern, or are not understood."""

    def read(rest: bytes) -> _Fields | None:
        match = pattern.search(rest)
        return None if match is None else fields(match)

    return read


def _switch(rest: bytes) -> _Fields | None:
    match = switch_of(rest)
    if match is None:
        return None
    _, prev_pid, prev_prio, state, name, pid, prio = match
    return {"id": pid, "name": text(name), "prio": prio, "prev_id": prev_pid,
            "prev_prio": prev_prio, "prev_state": state_of(state)}  # fmt: skip


def _waking(rest: bytes) -> _Fields | None:
    match = waking_of(rest)
    return match and {"id": match[1], "prio": match[2], "target_cpu": match[3]}


def _vector(rest: bytes) -> _Fields:
    # Of irq_vectors the follower puts the event's name here; of ipi_* it is in brackets.
    match = _IPI.search(rest)
    name = _IPIS.get(text(match[1]), text(match[1])) if match else text(rest)
    return {"name": name or "ipi"}


def _named(pattern: re.Pattern[bytes], rest: bytes) -> _Fields:
    """Return the name of a function, empty where there is none."""
    match = pattern.search(rest)
    return {"name": function(text(match[1])) if match else ""}


def _call(rest: bytes) -> _Fields:
    return _named(_FUNCTION, rest)


def _ipi_send(rest: bytes) -> _Fields:
    target = _CPU.search(rest)
    return {**_named(_CALLBACK, rest), "target_cpu": int(target[1]) if target else -1}


def spins(rest: bytes) -> bool:
    """Return whether a contention is one of a CPU that spins, not of a thread that sleeps."""
    match = _LOCK_FLAGS.search(rest)
    if match is None:
        return False
    flags = match[1]
    if flags[:1].isdigit():
        return bool(int(flags, 16 if flags.startswith(b"0x") else 10) & _SPINS)
    return b"SPIN" in flags


_irq = _matched(
    _IRQ,
    lambda match: {
        "id": int(match[1]),
        "name": text((match[2] or b"").strip()) or f"irq {int(match[1])}",
    },
)
_softirq = _matched(
    _SOFTIRQ,
    lambda match: {
        "id": int(match[1]),
        "name": text(match[2]) if match[2] else f"softirq {int(match[1])}",
    },
)
# The address identifies the lock, and does not name it.
_lock = _matched(_LOCK, lambda match: {"id": int(match[1], 16) & MOST})

#: The fields of an event, beside its time and CPU, by its kind; None: they were not understood.
_FIELDS: Mapping[Kind, _Reader] = {
    Kind.SWITCH: _switch,
    Kind.WAKING: _waking,
    Kind.MIGRATE: _matched(
        MIGRATE, lambda match: {"id": int(match[1]), "target_cpu": int(match[2])}
    ),
    Kind.IRQ_ENTRY: _irq,
    Kind.IRQ_EXIT: _irq,
    Kind.SOFTIRQ_RAISE: _softirq,
    Kind.SOFTIRQ_ENTRY: _softirq,
    Kind.SOFTIRQ_EXIT: _softirq,
    Kind.VECTOR_ENTRY: _vector,
    Kind.VECTOR_EXIT: _vector,
    Kind.TIMER_ENTRY: _call,
    Kind.LOCK_BEGIN: lambda rest: _lock(rest) if spins(rest) else None,
    Kind.LOCK_END: _lock,
    Kind.IDLE_ENTRY: _matched(
        _STATE,
        lambda match: (
            {"kind": Kind.IDLE_EXIT} if match[1] in _RUNNING else {"id": abs(int(match[1]))}
        ),
    ),
    Kind.NMI: _matched(
        _NMI,
        lambda match: {
            "name": text(match[1] or match[3]),
            "duration_ns": int(match[2] or match[4]),
        },
    ),
    Kind.IPI_SEND: _ipi_send,
    Kind.CALL_ENTRY: _call,
    Kind.CALL_EXIT: _call,
}
