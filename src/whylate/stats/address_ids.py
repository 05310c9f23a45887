"""How often translations are flushed, by the policy that gives ids to address spaces.

A trace of switches drives a model of the policy: on each CPU, address spaces in the order in which
they came. A switch to the address space that the CPU has already (as after a kernel thread, which
borrows it) is none. What else flushes, an unmapping or a process that ends, is not in the trace and
not counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from whylate.stats.arrays import Int64s

#: TLB_NR_DYN_ASIDS of Linux on x86.
X86_IDS = 6
#: More has no processor.
_MOST_IDS = 1 << 16


@dataclass(frozen=True)
class Trace:
    """Switches between address spaces.

    time_ns, cpu, mm: int64, shape (n,), in any order; mm: a number for each address space, at
    least 0.
    """

    time_ns: Int64s
    cpu: Int64s
    mm: Int64s

    def __post_init__(self) -> None:
        """Raise ValueError for columns that do not fit together."""
        if not len(self.time_ns) == len(self.cpu) == len(self.mm):
            raise ValueError("a trace needs a time, a CPU and an address space for each switch")
        if len(self.mm) and int(self.mm.min()) < 0:
            raise ValueError("an address space has a number of at least 0")

    def switches(self) -> Iterator[tuple[int, int]]:
        """Yield the CPU and the address space of each real switch, in order of time."""
        current: dict[int, int] = {}
        order = np.argsort(self.time_ns, kind="stable")
        for cpu, mm in zip(self.cpu[order].tolist(), self.mm[order].tolist(), strict=True):
            if current.get(cpu) != mm:
                current[cpu] = mm
                yield cpu, mm


@dataclass(frozen=True)
class Flushes:
    """What a policy does with a trace.

    switches: real ones. flushes: of one CPU's translations each, of all or of one id's. rollovers:
    times that a shared set of ids was used up.
    """

    switches: int
    flushes: int
    rollovers: int = 0


def simulate_in_turn(trace: Trace, ids: int = X86_IDS) -> Flushes:
    """Simulate Linux on x86: each CPU has a few ids of its own, which are given in turn.

    An address space whose id is still its own needs no flush. Another gets the next id in turn,
    and what that id had is flushed, however lately it was used (choose_new_asid() of
    arch/x86/mm/tlb.c). Raises ValueError without an id.
    """
    _check(ids)
    owners: dict[int, list[int]] = {}
    following: dict[int, int] = {}
    switches = flushes = 0
    for cpu, mm in trace.switches():
        switches += 1
        owner = owners.setdefault(cpu, [-1] * ids)
        if mm in owner:
            continue
        slot = following.get(cpu, 0)
        owner[slot] = mm
        following[cpu] = (slot + 1) % ids
        flushes += 1
    return Flushes(switches, flushes)


def simulate_least_recent(trace: Trace, ids: int = X86_IDS) -> Flushes:
    """Simulate a CPU that gives away the id that it has not used for longest.

    Raises ValueError without an id.
    """
    _check(ids)
    owners: dict[int, OrderedDict[int, None]] = {}
    switches = flushes = 0
    for cpu, mm in trace.switches():
        switches += 1
        owner = owners.setdefault(cpu, OrderedDict())
        if mm in owner:
            owner.move_to_end(mm)
            continue
        if len(owner) >= ids:
            owner.popitem(last=False)
        owner[mm] = None
        flushes += 1
    return Flushes(switches, flushes)


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
    switches = 0
    for cpu, mm in trace.switches():
        switches += 1
        state.switch(cpu, mm)
    return Flushes(switches, state.flushes, state.generation - 1)


@dataclass
class _Generations:
    """The allocator's state. context: of each address space its generation and id.

    following: the ids below it are all given in this generation.
    """

    ids: int
    cpus: list[int]
    generation: int = 1
    flushes: int = 0
    following: int = 1
    used: bytearray = field(default_factory=bytearray)
    context: dict[int, tuple[int, int]] = field(default_factory=dict)
    active: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    reserved: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.used = bytearray(self.ids)

    def switch(self, cpu: int, mm: int) -> None:
        """Switch a CPU to an address space."""
        context = self.context.get(mm)
        if self.active.get(cpu) is None or context is None or context[0] != self.generation:
            if context is None or context[0] != self.generation:
                context = self.context[mm] = self._new_context(context)
            if cpu in self.pending:
                self.pending.remove(cpu)
                self.flushes += 1
        self.active[cpu] = context

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
    if not 1 <= ids <= _MOST_IDS:
        raise ValueError(f"{ids} ids on a CPU: expected 1 to {_MOST_IDS}")
