"""How often translations are flushed, by the policy that gives ids to address spaces.

A trace of switches drives a model of the policy: on each CPU, address spaces in the order in which
they came. A switch to the address space that the CPU has already (as after a kernel thread, which
borrows it) is none.

Where the trace has them, changes of translations count too (an unmapping, a protection): CPUs that
run the address space are interrupted and flush at once, which no policy changes; another CPU that
has an id of its own for it (x86) flushes when it switches to it the next time, if it still has the
id. So does a CPU that runs a kernel thread, or nothing, and has borrowed the address space: it is
not interrupted. Where changes are broadcast to all CPUs (arm64) they cost no flush at a switch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

import numpy as np

from whylate.stats.arrays import Bools, Int64s
from whylate.stats.id_policies import MOST_IDS

#: TLB_NR_DYN_ASIDS of Linux on x86.
X86_IDS = 6


class Step(IntEnum):
    """What a row of a trace is.

    SWITCH: to another address space. AGAIN: a switch to the one that the CPU has already. SEEN: the
    CPU has another one, and the trace lacks the switch. CHANGE: of translations.
    """

    SWITCH = 0
    AGAIN = 1
    SEEN = 2
    CHANGE = 3


@dataclass(frozen=True)
class Trace:
    """Switches between address spaces.

    time_ns, cpu, mm: int64, shape (n,), in any order; mm: a number for each address space, at
    least 0. changed: bool, of the same shape: the row is no switch, but a change of the address
    space's translations by a thread on that CPU; None: none is. seen: bool, of the same shape: the
    row is no switch, but shows that the CPU has the address space; None: none is.
    """

    time_ns: Int64s
    cpu: Int64s
    mm: Int64s
    changed: Bools | None = None
    seen: Bools | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for columns that do not fit together."""
        if not len(self.time_ns) == len(self.cpu) == len(self.mm):
            raise ValueError("a trace needs a time, a CPU and an address space for each switch")
        if len(self.mm) and int(self.mm.min()) < 0:
            raise ValueError("an address space has a number of at least 0")
        for column, what in ((self.changed, "a change"), (self.seen, "no switch, but seen")):
            if column is not None and len(column) != len(self.mm):
                raise ValueError(f"a trace needs for each row whether it is {what}")

    def steps(self) -> Iterator[tuple[int, int, Step]]:
        """Yield CPU, address space and what the row is, in order of time.

        Where an address space is seen that the CPU is known to have, the row is left out.
        """
        current: dict[int, int] = {}
        order = np.argsort(self.time_ns, kind="stable")
        none = np.zeros(len(self.mm), bool)
        changed = none if self.changed is None else self.changed
        seen = none if self.seen is None else self.seen
        rows = (column[order].tolist() for column in (self.cpu, self.mm, changed, seen))
        for cpu, mm, is_change, is_seen in zip(*rows, strict=True):
            if is_change:
                yield cpu, mm, Step.CHANGE
            elif current.get(cpu) != mm:
                current[cpu] = mm
                yield cpu, mm, Step.SEEN if is_seen else Step.SWITCH
            elif not is_seen:
                yield cpu, mm, Step.AGAIN

    def switches(self) -> Iterator[tuple[int, int]]:
        """Yield the CPU and the address space of each real switch, in order of time."""
        return ((cpu, mm) for cpu, mm, step in self.steps() if step is Step.SWITCH)


@dataclass(frozen=True)
class Flushes:
    """What a policy does with a trace.

    switches: real ones. flushes: of one CPU's translations each, of all or of one id's. rollovers:
    times that a shared set of ids was used up. outdated: of the flushes, those for translations
    that another CPU had changed, with an id that was still there. cold: of the flushes, those that
    gave an id for the first time in the trace: who had it before is not known, and it may have been
    the same.
    """

    switches: int
    flushes: int
    rollovers: int = 0
    outdated: int = 0
    cold: int = 0


class _Slots(Protocol):
    """The ids of one CPU."""

    def give(self, mm: int) -> bool | None:
        """Give an address space an id: None if it has one, else whether nobody had it before."""


def simulate_in_turn(trace: Trace, ids: int = X86_IDS) -> Flushes:
    """Simulate Linux on x86: each CPU has a few ids of its own, which are given in turn.

    An address space whose id is still its own needs no flush. Another gets the next id in turn,
    and what that id had is flushed, however lately it was used (choose_new_asid() of
    arch/x86/mm/tlb.c). Raises ValueError without an id.
    """
    _check(ids)
    return _simulate_own(trace, lambda: _InTurn([-1] * ids))


def simulate_least_recent(trace: Trace, ids: int = X86_IDS) -> Flushes:
    """Simulate a CPU that gives away the id that it has not used for longest.

    Raises ValueError without an id.
    """
    _check(ids)
    return _simulate_own(trace, lambda: _LeastRecent(ids))


@dataclass
class _InTurn:
    owner: list[int]
    following: int = 0

    def give(self, mm: int) -> bool | None:
        if mm in self.owner:
            return None
        is_cold = self.owner[self.following] < 0
        self.owner[self.following] = mm
        self.following = (self.following + 1) % len(self.owner)
        return is_cold


@dataclass
class _LeastRecent:
    ids: int
    owner: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def give(self, mm: int) -> bool | None:
        if mm in self.owner:
            self.owner.move_to_end(mm)
            return None
        is_cold = len(self.owner) < self.ids
        if not is_cold:
            self.owner.popitem(last=False)
        self.owner[mm] = None
        return is_cold


def _simulate_own(trace: Trace, new_slots: Callable[[], _Slots]) -> Flushes:
    """Simulate a policy by which each CPU has ids of its own."""
    slots: dict[int, _Slots] = {}
    versions = _Versions()
    switches = flushes = outdated = cold = 0
    for cpu, mm, step in trace.steps():
        if step is Step.CHANGE:
            versions.change(cpu, mm)
        elif step is Step.AGAIN:
            outdated += versions.load_again(cpu, mm)
        else:
            is_old = versions.load(cpu, mm)
            if cpu not in slots:
                slots[cpu] = new_slots()
            is_cold = slots[cpu].give(mm)
            if step is Step.SWITCH:
                switches += 1
                outdated += is_cold is None and is_old
                flushes += is_cold is not None
                cold += is_cold is True
    return Flushes(switches, flushes + outdated, outdated=outdated, cold=cold)


@dataclass
class _Versions:
    """Versions of translations: of each address space, and that which each CPU has of it.

    So does x86: tlb_gen of an mm_context_t, and that of each id in cpu_tlbstate. missed: CPUs that
    had the address space while another changed it, and may have been in lazy mode.
    """

    latest: dict[int, int] = field(default_factory=dict)
    on_cpu: dict[tuple[int, int], int] = field(default_factory=dict)
    runs: dict[int, set[int]] = field(default_factory=dict)
    current: dict[int, int] = field(default_factory=dict)
    missed: set[int] = field(default_factory=set)

    def change(self, changer: int, mm: int) -> None:
        """Change the translations of an address space; who has it loaded flushes at once.

        changer: the CPU of the thread that does it.
        """
        version = self.latest[mm] = self.latest.get(mm, 0) + 1
        for cpu in self.runs.get(mm, ()):
            self.on_cpu[cpu, mm] = version
            if cpu != changer:
                self.missed.add(cpu)

    def load(self, cpu: int, mm: int) -> bool:
        """Load an address space; return whether what the CPU had of it is outdated."""
        before = self.current.get(cpu)
        if before is not None:
            self.runs[before].discard(cpu)
        self.current[cpu] = mm
        self.runs.setdefault(mm, set()).add(cpu)
        self.missed.discard(cpu)
        version = self.latest.get(mm, 0)
        is_old = self.on_cpu.get((cpu, mm), version) != version
        self.on_cpu[cpu, mm] = version
        return is_old

    def load_again(self, cpu: int, mm: int) -> bool:
        """Leave lazy mode for the address space that the CPU had; return whether it is outdated."""
        if cpu not in self.missed or self.current.get(cpu) != mm:
            return False
        self.missed.discard(cpu)
        return True


def simulate_generations(trace: Trace, bits: int = 16) -> Flushes:
    """Simulate Linux on arm64: all CPUs share ids of so many bits, which last for a generation.

    When all are given, a new generation begins: only what runs on some CPU then keeps its id, and
    each CPU flushes everything at its next switch to an address space of an earlier generation
    (new_context() and check_and_switch_context() of arch/arm64/mm/context.c). Id 0 is the
    kernel's. With page-table isolation half of the ids are there: one bit less. Raises ValueError
    for bits that are not 2 to 16, or where the CPUs' own ids are all ids that there are.
    """
    if not 2 <= bits <= 16:
        raise ValueError(f"{bits} bits of an id: expected 2 to 16")
    known = np.unique(trace.cpu)
    if known.size >= (1 << bits) - 1:
        raise ValueError("more CPUs than ids: the kernel refuses that too")
    state = _Generations(1 << bits, known.tolist())
    switches = flushes = 0
    for cpu, mm, step in trace.steps():
        if step in (Step.SWITCH, Step.SEEN):
            is_flush = state.switch(cpu, mm)
            switches += step is Step.SWITCH
            flushes += is_flush and step is Step.SWITCH
    return Flushes(switches, flushes, state.generation - 1)


@dataclass
class _Generations:
    """The allocator's state. context: of each address space its generation and id.

    following: the ids below it are all given in this generation.
    """

    ids: int
    cpus: list[int]
    generation: int = 1
    following: int = 1
    used: bytearray = field(default_factory=bytearray)
    context: dict[int, tuple[int, int]] = field(default_factory=dict)
    active: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    reserved: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.used = bytearray(self.ids)

    def switch(self, cpu: int, mm: int) -> bool:
        """Switch a CPU to an address space; return whether it flushes."""
        context = self.context.get(mm)
        is_flush = False
        if self.active.get(cpu) is None or context is None or context[0] != self.generation:
            if context is None or context[0] != self.generation:
                context = self.context[mm] = self._new_context(context)
            if cpu in self.pending:
                self.pending.remove(cpu)
                is_flush = True
        self.active[cpu] = context
        return is_flush

    def _new_context(self, former: tuple[int, int] | None) -> tuple[int, int]:
        """Return an id of this generation: its former one if nobody has that, else a new one."""
        if former is not None:
            kept = self.generation, former[1]
            holders = [cpu for cpu, held in self.reserved.items() if held == former]
            for cpu in holders:
                self.reserved[cpu] = kept
            if holders:
                return kept
            if not self.used[former[1]]:
                self.used[former[1]] = 1
                return kept
        free = self.used.find(0, self.following)
        if free < 0:
            self._roll_over()
            free = self.used.find(0, 1)
        self.used[free] = 1
        self.following = free
        return self.generation, free

    def _roll_over(self) -> None:
        self.generation += 1
        self.used = bytearray(self.ids)
        self.used[0] = 1
        for cpu in self.cpus:
            held = self.active.get(cpu) or self.reserved.get(cpu)
            self.active[cpu] = None
            self.reserved[cpu] = held
            if held is not None:
                self.used[held[1]] = 1
        self.pending = set(self.cpus)


def _check(ids: int) -> None:
    if not 1 <= ids <= MOST_IDS:
        raise ValueError(f"{ids} ids on a CPU: expected 1 to {MOST_IDS}")
