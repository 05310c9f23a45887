"""Events of the wire in words: ids to names, frames to stacks, code to what it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whylate.recording.events import USER_CODE, Event, Kind
from whylate.recording.manifest import TaskName
from whylate.recording.recorder.system_calls import system_call_name
from whylate.text import shown
from whylate.wire.constants import (
    EventKind,
    NameTable,
    RecorderStack,
    RecorderVector,
    SwitchState,
)

if TYPE_CHECKING:
    from whylate.wire.events import RawEvent

#: A symbol or a thread's name; what is longer was not written by a kernel.
LONGEST_NAME = 160
MOST_NAMES = 1 << 17

VECTORS = tuple(vector.name.lower() for vector in RecorderVector)
SOFTIRQS = (
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
)  # fmt: skip
STACKS = {int(RecorderStack.TIMER): "timer", int(RecorderStack.SWITCH): "switch"}
#: Priorities of the kernel end at 139 (MAX_PRIO - 1): what is above in a byte is negative.
MOST_PRIO = 139
#: As plain numbers: a journal of hours has a million of these, and an enumeration is slow.
#: LCB_F_SPIN of the flags of a contention (trace/events/lock.h).
_SPINS = 0x1
_OF_USER, _PREEMPTED = int(RecorderStack.OF_USER), int(SwitchState.PREEMPTED)
#: Bits of task_struct.__state, as the kernel's own trace writes them.
STATES = ((0x01, "S"), (0x02, "D"), (0x04, "T"), (0x08, "t"), (0x10, "X"), (0x20, "Z"), (0x40, "P"))

#: Of a task: its process and when it began.
_TASK = re.compile(r"([0-9]{1,10}) ([0-9]{1,18})")


#: The largest a, b, c, d and e of an event: what the probe keeps them in (struct recorder_event),
#: and for c, a thread or an interrupt, and e, a time or the id of a name, what the columns hold.
LARGEST = (0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1)


def is_possible(raw: RawEvent) -> bool:
    """Whether a probe can have kept such an event."""
    return all(number <= most for number, most in zip(raw[2:7], LARGEST, strict=True))


@dataclass
class Names:
    """What ids mean, gathered from a run's name messages."""

    texts: dict[tuple[int, int], str] = field(default_factory=dict)

    def add(self, table: int, number: int, text: str) -> None:
        """Add the name of an id; it is made safe to show."""
        if len(self.texts) < MOST_NAMES:
            self.texts[table, number] = shown(text, LONGEST_NAME)

    def thread(self, number: int) -> str:
        """Return the name of a thread."""
        return self.texts.get((NameTable.THREAD, number), "?")

    def tasks(self) -> list[TaskName]:
        """Return which threads of which processes had which names, by pid."""
        tasks = []
        for (table, number), text in self.texts.items():
            if table == NameTable.TASK and (match := _TASK.fullmatch(text)) is not None:
                name = self.thread(number >> 32)
                tasks.append(TaskName(number & 0x7FFFFFFF, name, int(match[1]), int(match[2])))
        return sorted(tasks, key=lambda task: (task.pid, task.name))

    def process(self, pid: int) -> str | None:
        """Return the name of a watched program's thread by its pid; None: it is not known."""
        return self.texts.get((NameTable.PID, pid))

    def function(self, number: int) -> str:
        """Return a symbol with its offset; empty: there was no address."""
        return self.texts.get((NameTable.FUNCTION, number), "?") if number else ""

    def interrupt(self, number: int) -> str:
        """Return the names of an interrupt's handlers."""
        return self.texts.get((NameTable.INTERRUPT, number), f"irq {number}")


def _entry(symbol: str) -> str:
    """Return a function's name where its very beginning is meant."""
    return symbol.replace("+0x0", "", 1)


def name_events(
    raw_events: Iterable[RawEvent], cpu: int, names: Names, machine: str
) -> list[Event]:
    """Return the events of a CPU in words; machine: of uname. Unknown kinds are left out."""
    events: list[Event] = []
    for raw in raw_events:
        if raw.kind == EventKind.FRAMES:
            if events and events[-1].kind is Kind.STACK:
                stack = (*events[-1].stack, names.function(raw.e), names.function(raw.f))
                events[-1] = replace(events[-1], stack=tuple(name for name in stack if name))
            continue
        if event_kind(raw.kind) is None:
            continue
        event = name_event(raw, cpu, names, machine)
        if event.kind is Kind.IPI_SEND and raw.f:
            events += [replace(event, target_cpu=raw.b + bit)
                       for bit in range(raw.f.bit_length()) if raw.f >> bit & 1]  # fmt: skip
        else:
            events.append(event)
    return events


def event_kind(number: int) -> Kind | None:
    """Return the kind that the probe means with a number; None: it is not known, or of frames."""
    known = _KINDS.get(number)
    return known[0] if known is not None else None


def name_event(raw: RawEvent, cpu: int, names: Names, machine: str) -> Event:
    """Return one event of a known kind in words: of a stack, what was interrupted."""
    kind, name = _KINDS[raw.kind]
    fields = name(raw, names)
    if kind is Kind.STACK and raw.a == RecorderStack.SWITCH:
        fields["prev_state"] = system_call_name(raw.f - 1, machine) if raw.f else ""
    elif kind is Kind.STACK and fields["enabled"] is None:
        fields["enabled"] = enables(raw.f, machine)
    return Event(raw.time_ns, cpu, kind, **fields)


def _prio(byte: int) -> int:
    """Return a priority from its low byte: SCHED_DEADLINE has -1."""
    return byte - 256 if byte > MOST_PRIO else byte


def _state(bits: int) -> str:
    """Return why a thread left the CPU, as the kernel's own trace writes it; R: preempted."""
    if bits & _PREEMPTED:
        return "R"
    return next((state for bit, state in STATES if bits & bit), "?")


#: POPF, and STI with a no-op of up to 6 bytes behind it.
_ENABLING = (
    b"\x9d",
    *(
        bytes.fromhex(f"fb{no_op}")
        for no_op in ("", "90", "6690", "0f1f00", "0f1f4000", "0f1f440000", "660f1f440000")
    ),
)


def enables(code: int, machine: str) -> bool | None:
    """Return whether the last instruction of 8 bytes of code switches interrupts on.

    None where there is no code, or the machine's is not known here. On x86 an interrupt comes
    only after the instruction that follows STI: a no-op there is skipped.
    Encodings: Intel SDM volume 2 (STI, POPF, NOP), Arm ARM DDI 0487 C5.2 (MSR DAIF, DAIFClr, PMR),
    RISC-V ISA volume 2 (CSRRSI and CSRRS of sstatus, whose bit 1 is SIE).
    """
    if not code:
        return None
    if machine in ("x86_64", "i686"):
        return code.to_bytes(8, "little").endswith(_ENABLING)
    if machine == "aarch64":
        word = code >> 32
        return (
            (word & 0xFFFFF0FF == 0xD50340FF and bool(word & 0x200))
            or word & 0xFFFFFFE0 in (0xD51B4220, 0xD5184600)
        )  # fmt: skip
    if machine == "riscv64":
        word = code >> 32
        return word == 0x10016073 or word & 0xFFF07FFF == 0x10002073
    return None


_Fields = dict[str, Any]


def _irq(raw: RawEvent, names: Names) -> _Fields:
    return {"id": raw.c, "name": names.interrupt(raw.c)}


def numbered_name(kind: str, names: Sequence[str], number: int) -> str:
    """Return the name of a number, which may be unknown."""
    return names[number] if number < len(names) else f"{kind} {number}"


def _numbered(kind: str, names: Sequence[str]) -> Callable[[RawEvent, Names], _Fields]:
    """Return what gives an event the name of its number."""
    return lambda raw, _: {"id": raw.a, "name": numbered_name(kind, names, raw.a)}


_vector = _numbered("vector", VECTORS)
_softirq = _numbered("softirq", SOFTIRQS)


def _switch(raw: RawEvent, names: Names) -> _Fields:
    return {"id": raw.d, "name": names.thread(raw.e), "prio": _prio(raw.b >> 8 & 0xFF),
            "prev_id": raw.c, "prev_prio": _prio(raw.b & 0xFF),
            "prev_state": _state(raw.a)}  # fmt: skip


def _lock(raw: RawEvent, names: Names) -> _Fields:
    return {"id": raw.e, "name": _entry(names.function(raw.e)).replace("?", "")}


def _lock_begin(raw: RawEvent, names: Names) -> _Fields:
    """Return a wait for a lock; its state: S where its thread does not spin, but sleeps."""
    return {**_lock(raw, names), "prev_state": "" if raw.a & _SPINS else "S"}


def _call(raw: RawEvent, names: Names) -> _Fields:
    return {"name": _entry(names.function(raw.e))}


def _span(raw: RawEvent, names: Names) -> _Fields:
    return {"id": raw.c, "duration_ns": raw.d, **_call(raw, names)}


def _stack(raw: RawEvent, names: Names) -> _Fields:
    user = raw.a & _OF_USER
    interrupted = USER_CODE if user else names.function(raw.e)
    return {
        "id": raw.c,
        "name": STACKS.get(raw.a & ~_OF_USER, "?"),
        "stack": (interrupted,) if interrupted else (),
        # User code cannot switch interrupts on; of kernel code, its instructions say it.
        "enabled": False if user else None,
        "duration_ns": raw.d,
    }


def _bounded(value: int) -> int:
    """Return a length that fits 63 bits, whatever a board sends."""
    return min(value, (1 << 63) - 1)


#: The fields of an event, beside its time and CPU, by its kind. A kind has the same name in Kind.
_EVENT_FIELDS: Mapping[EventKind, Callable[[RawEvent, Names], _Fields]] = {
    EventKind.IRQ_ENTRY: _irq,
    EventKind.IRQ_EXIT: _irq,
    EventKind.VECTOR_ENTRY: _vector,
    EventKind.VECTOR_EXIT: _vector,
    EventKind.SOFTIRQ_RAISE: _softirq,
    EventKind.SOFTIRQ_ENTRY: _softirq,
    EventKind.SOFTIRQ_EXIT: _softirq,
    EventKind.NMI: lambda raw, names: {
        "name": _entry(names.function(raw.f)), "duration_ns": _bounded(raw.e)
    },
    EventKind.TIMER_ENTRY: _call,
    EventKind.TIMER_EXIT: lambda *_: {},
    EventKind.WAKING: lambda raw, _: {
        "id": raw.c, "prio": _prio(raw.a), "target_cpu": raw.b,
        "prev_state": _state(raw.d - 1) if raw.d else "",
    },
    EventKind.SWITCH: _switch,
    EventKind.MIGRATE: lambda raw, _: {"id": raw.c, "target_cpu": raw.b},
    EventKind.LOCK_BEGIN: _lock_begin,
    EventKind.LOCK_END: _lock,
    EventKind.IDLE_ENTRY: lambda raw, _: {"id": raw.b},
    EventKind.IDLE_EXIT: lambda *_: {},
    EventKind.IPI_SEND: lambda raw, names: {"target_cpu": raw.b, **_call(raw, names)},
    EventKind.FAULT: lambda raw, _: {"id": raw.c},
    EventKind.STEAL: lambda raw, _: {"duration_ns": _bounded(raw.e)},
    EventKind.STACK: _stack,
    EventKind.CALL_ENTRY: _call,
    EventKind.CALL_EXIT: _call,
    EventKind.DEFERRED_ENTRY: _call,
    EventKind.DEFERRED_EXIT: lambda *_: {},
    EventKind.PRIO: lambda raw, _: {"id": raw.c, "prio": _prio(raw.a)},
    EventKind.CALLBACK: _span,
    EventKind.HOOK: _span,
}  # fmt: skip
_KINDS = {int(kind): (Kind[kind.name], fields) for kind, fields in _EVENT_FIELDS.items()}
