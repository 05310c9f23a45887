"""How often translations are flushed: x86's six ids in turn, arm64's generations, LRU.

The cliff from six to seven tasks was counted on x86 by the tracepoint tlb_flush: about 30 flushes
in 1.4 million switches between four tasks, 60 between six, 1.02 million between seven.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from whylate.stats.address_ids import (
    X86_IDS,
    Flushes,
    Trace,
    simulate_generations,
    simulate_in_turn,
    simulate_least_recent,
)
from whylate.stats.arrays import Int64s


def trace(mm: Int64s, cpu: Int64s | int = 0) -> Trace:
    return Trace(np.arange(len(mm)), np.broadcast_to(np.int64(cpu), len(mm)), mm)


def ring(tasks: int, switches: int = 21_000) -> Trace:
    return trace(np.arange(switches) % tasks)


@pytest.mark.parametrize("tasks", [2, 4, 6])
def test_a_ring_of_up_to_six_tasks_is_flushed_once_for_each(tasks: int) -> None:
    assert simulate_in_turn(ring(tasks)) == Flushes(21_000, tasks, cold=tasks)


def test_with_a_seventh_task_each_switch_of_a_ring_flushes() -> None:
    assert simulate_in_turn(ring(7)) == Flushes(21_000, 21_000, cold=6)
    assert simulate_least_recent(ring(7)).flushes == 21_000
    assert simulate_in_turn(ring(7), ids=7).flushes == 7


def test_seven_tasks_in_random_order_flush_at_a_seventh_of_the_switches() -> None:
    rng = np.random.default_rng(1)
    mm = (np.cumsum(rng.integers(1, 7, 60_000))) % 7
    # The next task is any of the other six; which of these has no id is as likely to be any.
    part = simulate_in_turn(trace(mm)).flushes / 60_000
    assert part == pytest.approx(1 / 6, abs=0.01)


def test_a_task_that_comes_often_keeps_its_id_only_where_the_least_recent_goes() -> None:
    # 0 comes at every other switch, and seven others in turn between.
    mm = np.column_stack([np.zeros(7_000, int), 1 + np.arange(7_000) % 7]).ravel()
    least, in_turn = simulate_least_recent(trace(mm)), simulate_in_turn(trace(mm))
    assert least.flushes == 1 + 7_000
    assert in_turn.flushes > least.flushes + 1_000


def test_each_cpu_has_its_own_ids_and_a_switch_to_the_same_is_none() -> None:
    mm, cpu = np.array([1, 1, 1, 2, 1, 1]), np.array([0, 0, 1, 0, 0, 1])
    assert simulate_in_turn(trace(mm, cpu)) == Flushes(4, 3, cold=3)
    assert simulate_generations(trace(mm, cpu)) == Flushes(4, 0, 0)


def test_the_order_is_that_of_time() -> None:
    rng = np.random.default_rng(2)
    mm = rng.integers(0, 9, 5_000)
    order = rng.permutation(5_000)
    shuffled = Trace(order, np.zeros(5_000, int), mm[order])
    assert simulate_in_turn(shuffled) == simulate_in_turn(trace(mm))


def test_generations_flush_each_cpu_once_a_rollover() -> None:
    # Three ids but the kernel's: a fourth address space begins a new generation.
    assert simulate_generations(ring(3), bits=2) == Flushes(21_000, 0, 0)
    few = simulate_generations(trace(np.arange(4)), bits=2)
    assert (few.flushes, few.rollovers) == (1, 1)
    # 2^16 - 1 address spaces that come once each, and another.
    many = simulate_generations(trace(np.arange(1 << 16)), bits=16)
    assert (many.flushes, many.rollovers) == (1, 1)
    assert simulate_generations(trace(np.arange(1 << 16)), bits=8).rollovers > 250


def test_what_runs_on_another_cpu_keeps_its_id_over_a_rollover() -> None:
    # 9 runs on CPU 1 throughout; what switches there once a generation is CPU 0 alone.
    mm = np.concatenate([[9], 10 + np.arange(50)])
    cpu = np.concatenate([[1], np.zeros(50, int)])
    result = simulate_generations(trace(mm, cpu), bits=3)
    assert result.rollovers >= 7
    assert result.flushes == result.rollovers


class _Checked:
    """A slow model of generations in which every translation is kept, and the stale are looked for.

    It knows no bitmap and no cursor: ids are given in the kernel's order by a search.
    """

    def __init__(self, ids: int, cpus: int) -> None:
        self.ids, self.cpus = ids, cpus
        self.owner: dict[int, int] = {}
        self.cursor = 1
        self.id_of: dict[int, int] = {}
        self.fresh: set[int] = set()
        self.running: dict[int, int] = {}
        self.pending: set[int] = set()
        self.flushes = self.rollovers = 0
        self.translations: dict[int, set[tuple[int, int]]] = {cpu: set() for cpu in range(cpus)}

    def switch(self, cpu: int, mm: int) -> None:
        slow = cpu in self.pending
        if mm not in self.fresh:
            slow = True
            self._give(mm)
        if slow and cpu in self.pending:
            self.pending.remove(cpu)
            self.flushes += 1
            self.translations[cpu].clear()
        self.running[cpu] = mm
        self.translations[cpu].add((self.id_of[mm], mm))
        stale = {who for number, who in self.translations[cpu] if number == self.id_of[mm]}
        assert stale == {mm}, "a translation of another address space under a live id"

    def _give(self, mm: int) -> None:
        former = self.id_of.get(mm)
        if former is not None and self.owner.get(former, mm) == mm:
            self.owner[former] = mm
            self.fresh.add(mm)
            return
        free = next((i for i in range(self.cursor, self.ids) if i not in self.owner), None)
        if free is None:
            self.rollovers += 1
            self.owner = {self.id_of[who]: who for who in self.running.values()}
            self.fresh.clear()
            self.pending = set(range(self.cpus))
            free = next(i for i in range(1, self.ids) if i not in self.owner)
        self.cursor = free
        self.owner[free], self.id_of[mm] = mm, free
        self.fresh.add(mm)


@pytest.mark.parametrize(
    ("bits", "cpus", "tasks"), list(itertools.product([3, 4], [1, 2, 3], [6, 9, 25]))
)
def test_generations_do_as_a_slow_model_that_looks_for_stale_translations(
    bits: int, cpus: int, tasks: int
) -> None:
    rng = np.random.default_rng(bits * 100 + cpus * 10 + tasks)
    n = 4_000
    # An address space that moves: any of them, on any CPU; the first switches fill all CPUs.
    cpu = np.concatenate([np.arange(cpus), rng.integers(0, cpus, n)])
    mm = np.concatenate([np.arange(cpus), rng.integers(0, tasks, n)])
    slow = _Checked(1 << bits, cpus)
    both = trace(mm, cpu)
    for where, who in both.switches():
        slow.switch(where, who)
    result = simulate_generations(both, bits)
    assert (result.flushes, result.rollovers) == (slow.flushes, slow.rollovers)


def test_what_no_machine_has_is_refused() -> None:
    with pytest.raises(ValueError, match="17 bits"):
        simulate_generations(ring(3), bits=17)
    with pytest.raises(ValueError, match="more CPUs than ids"):
        simulate_generations(trace(np.arange(9), np.arange(9)), bits=3)
    with pytest.raises(ValueError, match="0 ids"):
        simulate_in_turn(ring(3), ids=0)
    with pytest.raises(ValueError, match="for each switch"):
        Trace(np.arange(3), np.arange(2), np.arange(3))
    assert X86_IDS == 6


def test_what_another_cpu_changed_is_flushed_where_its_id_was_kept() -> None:
    def of(rows: list[tuple[int, int, bool]], ids: int = 6) -> Flushes:
        cpu, mm, changed = (np.array(column) for column in zip(*rows, strict=True))
        made = Trace(np.arange(len(rows)), cpu, mm, changed=changed.astype(bool))
        same = simulate_least_recent(made, ids)
        assert simulate_in_turn(made, ids) == same
        return same

    both = [(0, 1, False), (1, 1, False)]
    away_and_back = [(0, 2, False), (0, 1, False)]
    assert of([*both, *away_and_back]).outdated == 0
    # Changed on CPU 1 while CPU 0 has another: CPU 0 flushes when it comes back to it.
    changed = [*both, (0, 2, False), (1, 1, True), (0, 1, False)]
    assert of(changed).outdated == 1
    # While CPU 0 has it, it is interrupted, and has the new translations when it comes back.
    assert of([*both, (1, 1, True), *away_and_back]).outdated == 0
    # With a single id nothing was kept: the flush is the policy's.
    assert of(changed, ids=1).outdated == 0
    assert of(changed, ids=1).flushes == 4


def test_what_changed_while_a_cpu_was_in_lazy_mode_is_flushed_when_it_comes_back() -> None:
    cpu, mm = np.array([0, 1, 1, 0]), np.array([1, 1, 1, 1])
    by_other = Trace(np.arange(4), cpu, mm, changed=np.array([False, False, True, False]))
    assert simulate_in_turn(by_other) == Flushes(2, 3, outdated=1, cold=2)
    # By itself it flushes at once.
    by_itself = Trace(np.arange(4), np.zeros(4, int), mm, changed=by_other.changed)
    assert simulate_in_turn(by_itself) == Flushes(1, 1, cold=1)
    assert simulate_generations(by_other) == Flushes(2, 0, 0)

    def outdated(*rows: tuple[int, int, str]) -> int:
        cpu, mm, kind = (np.array(column) for column in zip(*rows, strict=True))
        made = Trace(np.arange(len(rows)), cpu, mm, changed=kind == "c", seen=kind == "s")
        return simulate_in_turn(made).outdated

    changed = [(0, 1, ""), (1, 1, ""), (1, 1, "c")]
    assert outdated(*changed, (0, 1, ""), (0, 1, "")) == 1
    # It was interrupted, and flushed at once: it had another address space since.
    assert outdated(*changed, (0, 2, ""), (0, 1, ""), (0, 1, "")) == 0
    assert outdated(*changed, (0, 1, "s")) == 0


def test_an_address_space_that_is_seen_takes_an_id_and_is_no_switch() -> None:
    mm = np.array([0, 1, 2, 3, 4, 5, 6, 0])
    whole = trace(mm)
    assert simulate_in_turn(whole) == Flushes(8, 8, cold=6)
    # The switch to 6 is lacking; that it ran is known. It took the id of 0.
    seen = Trace(whole.time_ns, whole.cpu, mm, seen=mm == 6)
    for simulate in (simulate_in_turn, simulate_least_recent):
        assert simulate(seen) == Flushes(7, 7, cold=6)
    assert simulate_in_turn(trace(np.delete(mm, 6))) == Flushes(7, 6, cold=6)
    # Generations have given its id too.
    few = Trace(np.arange(4), np.zeros(4, int), np.arange(4), seen=np.arange(4) == 2)
    assert simulate_generations(few, bits=2) == Flushes(3, 1, 1)
    last = Trace(few.time_ns, few.cpu, few.mm, seen=np.arange(4) == 3)
    assert simulate_generations(last, bits=2) == Flushes(3, 0, 1)
    # What is seen again is nothing new.
    again = Trace(np.arange(2), np.zeros(2, int), np.ones(2, int), seen=np.array([False, True]))
    assert simulate_in_turn(again) == Flushes(1, 1, cold=1)


def test_a_trace_has_a_change_for_each_row() -> None:
    with pytest.raises(ValueError, match="whether it is a change"):
        Trace(np.arange(2), np.zeros(2, int), np.zeros(2, int), changed=np.zeros(1, bool))
    with pytest.raises(ValueError, match="whether it is no switch, but seen"):
        Trace(np.arange(2), np.zeros(2, int), np.zeros(2, int), seen=np.zeros(1, bool))
