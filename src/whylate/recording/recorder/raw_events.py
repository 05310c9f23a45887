"""Events of the wire in words: ids to names, frames to stacks, code to what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from whylate.recording.events import USER_CODE, Event, Kind
from whylate.recording.shown import shown
from whylate.wire.constants import (
    EventKind,
    NameTable,
    RecorderStack,
    RecorderVector,
    SwitchState,
)
from whylate.wire.events import RawEvent

#: A symbol or a thread's name; what is longer was not written by a kernel.
LONGEST_NAME = 160
MOST_NAMES = 1 << 17

VECTORS = tuple(vector.name.lower() for vector in RecorderVector)
SOFTIRQS = (
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
)  # fmt: skip
STACKS = {int(RecorderStack.TIMER): "timer", int(RecorderStack.SWITCH): "switch"}
#: Bits of task_struct.__state, as the kernel's own trace writes them.
STATES = ((0x01, "S"), (0x02, "D"), (0x04, "T"), (0x08, "t"), (0x10, "X"), (0x20, "Z"), (0x40, "P"))


@dataclass
class Names:
    """What ids mean, gathered from a run's name messages."""

    texts: dict[tuple[int, int], str] = field(default_factory=dict)

    def add(self, table: int, number: int, text: str) -> None:
        """Add one; what a board says is made safe to show."""
        if len(self.texts) < MOST_NAMES:
            self.texts[table, number] = shown(text, LONGEST_NAME)

    def thread(self, number: int) -> str:
        """Return the name of a thread."""
        return self.texts.get((NameTable.THREAD, number), "?")

    def process(self, pid: int) -> str | None:
        """Return the name of a watched program's thread by its pid; None: it was not told."""
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


def events_of(raw: Iterable[RawEvent], cpu: int, names: Names, machine: str) -> list[Event]:
    """Return the events of a CPU in words; machine: of uname. Unknown kinds are left out."""
    found: list[Event] = []
    for one in raw:
        if one.kind == EventKind.FRAMES:
            if found and found[-1].kind is Kind.STACK:
                stack = (*found[-1].stack, names.function(one.e), names.function(one.f))
                found[-1] = replace(found[-1], stack=tuple(name for name in stack if name))
            continue
        make = _MAKERS.get(one.kind)
        if make is None:
            continue
        event = replace(make(one, names, machine), time_ns=one.time_ns, cpu=cpu)
        if one.kind == EventKind.IPI_SEND and one.f:
            found += [replace(event, target_cpu=one.b + bit)
                      for bit in range(one.f.bit_length()) if one.f >> bit & 1]  # fmt: skip
        else:
            found.append(event)
    return found


def _state(bits: int) -> str:
    """Return why a thread left the CPU, as the kernel's own trace writes it; R: preempted."""
    if bits & SwitchState.PREEMPTED:
        return "R"
    return next((state for bit, state in STATES if bits & bit), "?")


def _switch(one: RawEvent, names: Names, machine: str) -> Event:
    del machine
    state = _state(one.a)
    return Event(0, 0, Kind.SWITCH, id=one.d, name=names.thread(one.e), prio=one.b >> 8 & 0xFF,
                 prev_id=one.c, prev_prio=one.b & 0xFF, prev_state=state)  # fmt: skip


def _stack(one: RawEvent, names: Names, machine: str) -> Event:
    # User code cannot disable interrupts.
    user = one.a & RecorderStack.OF_USER
    interrupted = USER_CODE if user else names.function(one.e)
    return Event(
        0, 0, Kind.STACK, id=one.c, name=STACKS.get(one.a & ~RecorderStack.OF_USER, "?"),
        stack=(interrupted,) if interrupted else (),
        enabled=False if user else enables(one.f, machine),
        duration_ns=one.d,
    )  # fmt: skip


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
    only after the instruction that follows STI: where that does nothing it is looked past.
    Encodings: Intel SDM volume 2 (STI, POPF, NOP), Arm ARM DDI 0487 C5.2 (MSR DAIF, DAIFClr, PMR).
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
    return None


def _vector(number: int) -> str:
    return VECTORS[number] if number < len(VECTORS) else f"vector {number}"


def _softirq(number: int) -> str:
    return SOFTIRQS[number] if number < len(SOFTIRQS) else f"softirq {number}"


_Maker = Callable[[RawEvent, Names, str], Event]
_MAKERS: Mapping[int, _Maker] = {
    EventKind.IRQ_ENTRY: lambda one, names, _: Event(
        0, 0, Kind.IRQ_ENTRY, id=one.c, name=names.interrupt(one.c)
    ),
    EventKind.IRQ_EXIT: lambda one, names, _: Event(
        0, 0, Kind.IRQ_EXIT, id=one.c, name=names.interrupt(one.c)
    ),
    EventKind.VECTOR_ENTRY: lambda one, _, __: Event(
        0, 0, Kind.VECTOR_ENTRY, id=one.a, name=_vector(one.a)
    ),
    EventKind.VECTOR_EXIT: lambda one, _, __: Event(
        0, 0, Kind.VECTOR_EXIT, id=one.a, name=_vector(one.a)
    ),
    EventKind.SOFTIRQ_RAISE: lambda one, _, __: Event(
        0, 0, Kind.SOFTIRQ_RAISE, id=one.a, name=_softirq(one.a)
    ),
    EventKind.SOFTIRQ_ENTRY: lambda one, _, __: Event(
        0, 0, Kind.SOFTIRQ_ENTRY, id=one.a, name=_softirq(one.a)
    ),
    EventKind.SOFTIRQ_EXIT: lambda one, _, __: Event(
        0, 0, Kind.SOFTIRQ_EXIT, id=one.a, name=_softirq(one.a)
    ),
    EventKind.NMI: lambda one, names, _: Event(
        0, 0, Kind.NMI, name=_entry(names.function(one.f)), duration_ns=_signed(one.e)
    ),
    EventKind.TIMER_ENTRY: lambda one, names, _: Event(
        0, 0, Kind.TIMER_ENTRY, name=_entry(names.function(one.e))
    ),
    EventKind.TIMER_EXIT: lambda _, __, ___: Event(0, 0, Kind.TIMER_EXIT),
    EventKind.WAKING: lambda one, _, __: Event(
        0, 0, Kind.WAKING, id=one.c, prio=one.a, target_cpu=one.b
    ),
    EventKind.SWITCH: _switch,
    EventKind.MIGRATE: lambda one, _, __: Event(0, 0, Kind.MIGRATE, id=one.c, target_cpu=one.b),
    EventKind.LOCK_BEGIN: lambda one, names, _: Event(
        0, 0, Kind.LOCK_BEGIN, id=one.e, name=_entry(names.function(one.e)).replace("?", "")
    ),
    EventKind.LOCK_END: lambda one, names, _: Event(
        0, 0, Kind.LOCK_END, id=one.e, name=_entry(names.function(one.e)).replace("?", "")
    ),
    EventKind.IDLE_ENTRY: lambda one, _, __: Event(0, 0, Kind.IDLE_ENTRY, id=one.b),
    EventKind.IDLE_EXIT: lambda _, __, ___: Event(0, 0, Kind.IDLE_EXIT),
    EventKind.IPI_SEND: lambda one, names, _: Event(
        0, 0, Kind.IPI_SEND, target_cpu=one.b, name=_entry(names.function(one.e))
    ),
    EventKind.FAULT: lambda one, _, __: Event(0, 0, Kind.FAULT, id=one.c),
    EventKind.STEAL: lambda one, _, __: Event(0, 0, Kind.STEAL, duration_ns=_signed(one.e)),
    EventKind.STACK: _stack,
    EventKind.CALL_ENTRY: lambda one, names, _: Event(
        0, 0, Kind.CALL_ENTRY, name=_entry(names.function(one.e))
    ),
    EventKind.CALL_EXIT: lambda one, names, _: Event(
        0, 0, Kind.CALL_EXIT, name=_entry(names.function(one.e))
    ),
}


def _signed(value: int) -> int:
    """Return a length that fits 63 bits, whatever a board says."""
    return min(value, (1 << 63) - 1)
