"""When activations in a trace were due, what woke them, and where their time went."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest
from of_traces import CYCLICTEST, DATA, EVERYBODY, OF_EVENTS, AddActivation, follow, lines_of

from whylate.recording.activation import Leg, Waker, Woken, legs, what_woke
from whylate.recording.events import Event, Kind
from whylate.recording.traces.watch import Watch

#: What a thread needs beside its loop to wake, write a line down and sleep again.
AROUND_NS = 200_000


def _entry(time_ns: int, kind: Kind, name: str, ago: int = 0) -> Event:
    return Event(time_ns, 0, kind, name=name, duration_ns=ago)


def test_due_is_the_timers_expiry_and_else_the_outermost_interrupts_entry() -> None:
    vector = _entry(1000, Kind.VECTOR_ENTRY, "local_timer")
    timer = _entry(1200, Kind.TIMER_ENTRY, "hrtimer_wakeup", ago=700)
    assert what_woke([vector, timer], 1250) == Woken(Waker.TIMER, 500, "hrtimer_wakeup", 1000)
    undated = _entry(1200, Kind.TIMER_ENTRY, "hrtimer_wakeup")
    assert what_woke([vector, undated], 1250).due_ns == 1000
    nested = _entry(1100, Kind.IRQ_ENTRY, "eth0")
    assert what_woke([vector, nested], 1250) == Woken(Waker.INTERRUPT, 1000, "eth0", 1000)


def test_due_is_a_softirqs_raise_where_that_was_seen_and_a_threads_waking_itself() -> None:
    softirq = _entry(1000, Kind.SOFTIRQ_ENTRY, "NET_RX")
    assert what_woke([softirq], 1250, raised_ns=900) == Woken(Waker.SOFTIRQ, 900, "NET_RX")
    assert what_woke([softirq], 1250) == Woken(Waker.SOFTIRQ, 1000, "NET_RX")
    assert what_woke([], 1250) == Woken(Waker.THREAD, 1250)
    assert what_woke([], 1250, by_thread=False) == Woken(Waker.UNKNOWN, 1250)


def test_an_activation_goes_from_the_cpu_that_woke_it_to_those_it_was_to_run_on() -> None:
    woken = Woken(Waker.TIMER, 100, "", 120)
    assert legs(woken, 3, 150, 1, [(160, 2)], 2, 400) == (
        Leg(3, 100, 150), Leg(1, 150, 160), Leg(2, 160, 400),
    )  # fmt: skip
    assert legs(woken, 1, 150, 1, [], 1, 400) == (Leg(1, 100, 400),)
    # A move was not seen: the end is where it ran.
    assert legs(woken, 1, 150, 1, [], 2, 400) == (Leg(1, 100, 150), Leg(2, 150, 400))


@pytest.mark.parametrize("name", OF_EVENTS)
def test_pieces_are_disjoint_in_order_and_sum_to_the_latency(name: str) -> None:
    _, found = follow(name)
    for one in found:
        assert sum(piece.length_ns for piece in one.pieces) == one.activation.latency_ns
        for before, after in pairwise(one.pieces):
            assert before.end_ns == after.start_ns


def _spins() -> list[tuple[int, int]]:
    lines = (DATA / "hog.txt").read_text().splitlines()
    return [(int(start), int(end)) for start, end in (line.split() for line in lines)]


def _spun_ns(one: AddActivation) -> int:
    """How long the hog span between a waking and the switch, by its own log."""
    waking, run = one.activation.waking_ns, one.activation.run_ns
    assert waking is not None
    return sum(max(0, min(end, run) - max(start, waking)) for start, end in _spins())


@pytest.mark.parametrize("name", ["ftrace.txt", "trace-cmd.txt", "perf.txt"])
def test_a_more_urgent_thread_is_located_as_long_as_it_says_itself_that_it_ran(name: str) -> None:
    _, found = follow(name, CYCLICTEST)
    real_time = [one for one in found if one.activation.prio < 100]
    assert len(real_time) > 20
    for one in real_time:
        inside = one.spent("interrupt") + one.spent("softirq")
        located = one.spent("thread", "python3")
        assert _spun_ns(one) - inside <= located <= _spun_ns(one) + AROUND_NS


def test_the_hog_made_some_of_them_late() -> None:
    _, found = follow("trace-cmd.txt", CYCLICTEST)
    assert any(_spun_ns(one) > 50_000 for one in found if one.activation.prio < 100)


def test_all_ways_to_print_one_recording_tell_the_same() -> None:
    _, exact = follow("trace-cmd.txt", CYCLICTEST)
    for name in ("trace-cmd-microseconds.txt", "trace-cmd-latency.txt", "trace-cmd-raw.txt"):
        read, rounded = follow(name, CYCLICTEST)
        assert read.seen.rounded
        assert len(rounded) == len(exact)
        for one, other in zip(exact, rounded, strict=True):
            assert one.activation.woken.by is other.activation.woken.by
            assert abs(one.activation.latency_ns - other.activation.latency_ns) <= 2000
            # Each edge is rounded by less than a microsecond; a short unexplained stretch is
            # scheduling.
            unsure = one.spent("unexplained") + one.spent("scheduling")
            assert abs(unsure - other.spent("unexplained") - other.spent("scheduling")) <= 4000
            for cause in ("thread", "interrupt", "softirq"):
                assert abs(one.spent(cause) - other.spent(cause)) <= 1000 * len(one.pieces)


def test_a_timers_expiry_is_found_on_a_clock_that_is_not_the_timers() -> None:
    _, found = follow("perf-own-clock.txt", CYCLICTEST)
    by_timer = [one for one in found if one.activation.woken.by is Waker.TIMER]
    _, same_clock = follow("perf.txt", CYCLICTEST)
    others = [one for one in same_clock if one.activation.woken.by is Waker.TIMER]

    def until_interrupt(ones: list[AddActivation]) -> float:
        return median(
            (one.activation.woken.interrupt_ns or 0) - one.activation.due_ns for one in ones
        )

    assert len(by_timer) > 20
    assert abs(until_interrupt(by_timer) - until_interrupt(others)) < 5000


def test_interrupts_of_x86_have_the_names_of_their_vectors() -> None:
    _, found = follow("trace-cmd.txt", CYCLICTEST)
    assert any(one.spent("interrupt", "local_timer: hrtimer_wakeup") for one in found)
    names = {event.name for one in found for event in one.cut.window.events
             if event.kind is Kind.VECTOR_ENTRY}  # fmt: skip
    assert "local_timer" in names
    assert not any(name.endswith("_entry") or "=" in name for name in names)


def test_on_arm_the_calls_between_cpus_and_the_timers_interrupt_are_known() -> None:
    _, found = follow("virt-arm64-rt-events.txt")
    names = {event.name for one in found for event in one.cut.window.events}
    assert {"arch_timer", "reschedule"} <= names
    assert any(one.activation.woken.by is Waker.TIMER for one in found)


def test_who_is_explained_is_chosen_by_name_or_priority_or_asked_for() -> None:
    read, found = follow("trace-cmd.txt", None)
    assert {one.activation.name for one in found} <= {"cyclictest", "whylate-probe"}
    assert read.chosen is not None
    assert read.chosen.why == "named as those of a program that measures latency"
    renamed = [line.replace(b"cyclictest", b"controller") for line in lines_of("trace-cmd.txt")]
    read, found = follow(renamed, None)
    assert read.chosen is not None
    assert read.chosen.why == "the highest-priority real-time threads that timers woke"
    assert {one.activation.prio for one in found} == {min(one.activation.prio for one in found)}


def test_one_that_a_softirq_wakes_waits_from_its_raise_on_for_whoever_has_the_cpu() -> None:
    lines = [
        _switch("000000", 0, "z:7 [120]", "S", "low:8 [120]"),
        b"  x-8  [000] d... 1.000100: irq_handler_entry: irq=9 name=eth0",
        b"  x-8  [000] d... 1.000110: softirq_raise: vec=3 [action=NET_RX]",
        b"  x-8  [000] d... 1.000120: irq_handler_exit: irq=9 ret=handled",
        b"  x-8  [000] d... 1.000150: softirq_entry: vec=3 [action=NET_RX]",
        b"  x-8  [000] d... 1.000200: sched_waking: comm=a pid=1 prio=9 target_cpu=000",
        b"  x-8  [000] d... 1.000260: softirq_exit: vec=3 [action=NET_RX]",
        _switch("000300", 0, "low:8 [120]", "R", "a:1 [9]"),
    ]
    _, found = follow(lines, Watch(pids=frozenset({1})))
    (one,) = found
    assert (one.activation.woken.by, one.activation.due_ns) == (Waker.SOFTIRQ, 1_000_110_000)
    assert one.spent("interrupt", "eth0") == 10_000
    assert one.spent("thread", "low") == 30_000
    assert one.spent("softirq", "NET_RX") == 110_000


def test_of_periodic_real_time_threads_the_most_urgent_are_explained() -> None:
    lines = []
    for index in range(10):
        for pid, name, prio in ((1, "fast", 9), (2, "slow", 49), (3, "irq/9-eth", 4)):
            at = f"{index}{pid}0000"
            lines += [
                f"  x-9  [000] d... 1.{at}: local_timer_entry: vector=236".encode(),
                f"  x-9  [000] d... 1.{at}: hrtimer_expire_entry: hrtimer=1 now=1".encode(),
                f"  x-9  [000] d... 1.{at}: sched_waking: {name}:{pid} [{prio}] CPU:000".encode(),
                f"  x-9  [000] d... 1.{at}: local_timer_exit: vector=236".encode(),
                _switch(at, 0, "x:9 [120]", "R", f"{name}:{pid} [{prio}]"),
                _switch(at, 0, f"{name}:{pid} [{prio}]", "S", "x:9 [120]"),
            ]
    read, found = follow(lines, None)
    assert {one.activation.name for one in found} == {"fast"}
    assert read.chosen is not None
    assert read.chosen.why == "the highest-priority real-time threads that timers woke"


def _switch(at: str, cpu: int, prev: str, state: str, name: str) -> bytes:
    """A line of a switch; a thread is written as name:pid [priority]."""
    return f"  x-1  [{cpu:03}] d... 1.{at}: sched_switch: {prev} {state} ==> {name}".encode()


def test_a_thread_that_was_preempted_and_comes_back_is_no_activation() -> None:
    lines = [
        _switch("000000", 0, "a:1 [120]", "R", "b:2 [9]"),
        _switch("000100", 0, "b:2 [9]", "S", "a:1 [120]"),
        b"  a-1  [000] d... 1.000200: sched_waking: comm=a pid=1 prio=120 target_cpu=000",
    ]
    read, found = follow(lines, EVERYBODY)
    assert found == []
    assert read.seen.awake == 1


def test_a_wakeup_that_ran_without_a_switch_to_it_is_counted_and_told() -> None:
    lines = [
        b"  c-3  [001] d... 1.000000: sched_waking: comm=a pid=1 prio=120 target_cpu=000",
        _switch("000100", 0, "a:1 [120]", "S", "b:2 [9]"),
    ]
    read, found = follow(lines, Watch(pids=frozenset({1})))
    assert found == []
    assert (read.seen.unswitched, read.seen.unswitched_cpu) == (1, 0)


def test_a_moved_thread_waits_for_the_cpu_that_it_was_moved_to() -> None:
    lines = [
        _switch("000000", 0, "z:7 [120]", "S", "low:8 [120]"),
        _switch("000000", 1, "z:9 [120]", "S", "high:5 [1]"),
        b"  c-3  [000] d... 1.000100: sched_waking: comm=a pid=1 prio=9 target_cpu=000",
        b"  c-3  [000] d... 1.000110: sched_migrate_task: comm=a pid=1 prio=9 dest_cpu=1",
        _switch("000500", 1, "high:5 [1]", "S", "a:1 [9]"),
    ]
    _, found = follow(lines, Watch(pids=frozenset({1})))
    assert [(leg.cpu, leg.end_ns - leg.start_ns) for leg in found[0].activation.legs] == [
        (0, 10_000), (1, 390_000),
    ]  # fmt: skip
    assert found[0].spent("thread", "high") == 390_000


def test_among_ordinary_threads_one_that_runs_instead_is_no_throttling() -> None:
    lines = [
        _switch("000000", 0, "z:7 [120]", "S", "nice:8 [130]"),
        b"  c-3  [001] d... 1.000100: sched_waking: comm=a pid=1 prio=120 target_cpu=000",
        _switch("000500", 0, "nice:8 [130]", "R", "other:9 [139]"),
        _switch("000700", 0, "other:9 [139]", "R", "a:1 [120]"),
    ]
    _, found = follow(lines, Watch(pids=frozenset({1})))
    assert (found[0].spent("thread", "nice"), found[0].spent("thread", "other")) == (
        400_000,
        200_000,
    )


def test_stacks_of_two_cpus_that_follow_each_other_are_not_taken_for_one() -> None:
    lines = [
        _switch("000000", 0, "z:7 [120]", "S", "low:8 [120]"),
        b"  c-3  [001] d... 1.000100: sched_waking: comm=a pid=1 prio=9 target_cpu=000",
        _switch("000500", 0, "low:8 [120]", "R", "a:1 [9]"),
        _switch("000501", 1, "c:3 [120]", "S", "d:4 [120]"),
        b"  c-3  [001] d... 1.000502: <stack trace>",
        b" => __schedule", b" => other_cpu",
        b"low-8  [000] d... 1.000503: <stack trace>",
        b" => __schedule", b" => preempt_schedule", b" => walk_cache",
    ]  # fmt: skip
    _, found = follow(lines, Watch(pids=frozenset({1})))
    assert found[0].spent("preemption disabled", "walk_cache in low") == 400_000


def test_the_stack_of_another_thread_that_ran_later_says_nothing_of_the_first() -> None:
    lines = [
        _switch("000000", 0, "z:7 [120]", "S", "low:8 [120]"),
        b"  c-3  [001] d... 1.000100: sched_waking: comm=a pid=1 prio=9 target_cpu=000",
        _switch("000500", 0, "low:8 [120]", "R", "high:9 [4]"),
        b" => __schedule", b" => preempt_schedule", b" => walk_cache",
        _switch("000700", 0, "high:9 [4]", "S", "a:1 [9]"),
        b" => __schedule", b" => do_nanosleep",
    ]  # fmt: skip
    _, found = follow(lines, Watch(pids=frozenset({1})))
    assert found[0].spent("preemption disabled", "walk_cache in low") == 400_000
    assert found[0].spent("thread", "high") == 200_000
    assert found[0].spent("preemption disabled", "do_nanosleep") == 0
