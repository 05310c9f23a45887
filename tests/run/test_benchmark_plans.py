"""Plans of benchmarks, before any board is asked: points, order, pinning, parameters, counters."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark_plans import benchmark
from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.benchmarks import BenchmarkWorkload, CounterPlan
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.run.errors import RequestError
from whylate.run.resolve import resolve
from whylate.run.sweeps import parse_size
from whylate.run.workloads import rules
from whylate.run.workloads.clock import ClockTable
from whylate.run.workloads.counters import check_counters, parse_counters
from whylate.run.workloads.memory import MemoryTable
from whylate.run.workloads.switch import SwitchTable
from whylate.run.workloads.tables import BenchmarkTable


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("4k", 4096), ("64M", 64 << 20), ("1GiB", 1 << 30), ("2 kb", 2048), ("4x", None),
     ("-1", None), ("", None), ("1.5M", None)],
)  # fmt: skip
def test_sizes(text: str, size: int | None) -> None:
    assert parse_size(text) == size


def points(table: type[BenchmarkTable], **keys: Any) -> list[Any]:
    workload: Any = table(**keys).workload()
    return list(workload.points)


def resolved(
    workload: Benchmark, cpus: list[int] | None, available: tuple[int, ...], seed: int
) -> BenchmarkWorkload:
    plan = resolve(RunPlan(workload=workload, cpus=cpus, seed=seed), available).benchmark
    assert plan is not None
    return plan


def with_parameter(workload: Benchmark, name: str, value: str) -> Any:
    return rules(workload).with_parameter(workload, name, value)


def test_every_combination_is_a_point_and_none_twice() -> None:
    rings = points(
        SwitchTable,
        tasks=(2, 4),
        set_size=(0, 4096),
        over=("pipe", "futex"),
        kind=("process", "thread"),
    )
    assert len(rings) == len(set(rings)) == 16
    buffers = points(
        MemoryTable,
        ops=("copy", "set", "latency"),
        sizes=(4096,),
        source=("untouched", "random"),
        pages=("small", "thp"),
        routine=("libc", "plain"),
    )
    # set reads no source, and a chain of reads calls no routine.
    assert len(buffers) == len(set(buffers)) == 8 + 4 + 2
    clocks = points(
        ClockTable,
        clocks=("monotonic", "realtime"),
        threads=(1, 2),
        via=("libc", "device"),
        service=1000,
        think=3000,
    )
    assert len(clocks) == 6
    assert ClockPoint("device", 2, "device", 1000, 3000) in clocks


def test_a_round_has_every_point_once_in_an_order_of_its_own() -> None:
    request = benchmark(points(SwitchTable, tasks=(2, 3, 4, 5, 6)), rounds=20)
    plan = resolved(request, None, (3, 4), 1)
    rounds = [plan.order[at : at + 5] for at in range(0, 100, 5)]
    assert all(sorted(points) == [0, 1, 2, 3, 4] for points in rounds)
    assert len({tuple(points) for points in rounds}) > 10
    assert plan.order == resolved(request, None, (3, 4), 1).order
    assert plan.order != resolved(request, None, (3, 4), 2).order
    # On one CPU by default.
    assert plan.points[0] == SwitchPoint(2, cpus=(3,))


def test_where_points_run() -> None:
    clock = benchmark(points(ClockTable, clocks=("monotonic",)))
    assert resolved(clock, None, (0, 1), 1).points == [ClockPoint("monotonic", cpus=(0, 1))]
    memory = benchmark(points(MemoryTable, ops=("set",), sizes=(4096,)))
    assert resolved(memory, [5], (0, 5), 1).points == [MemoryPoint("set", 4096, cpu=5)]
    free = benchmark(memory.points, free=True)
    assert resolved(free, None, (0, 5), 1).points == [MemoryPoint("set", 4096)]


def test_a_knob_changes_a_parameter_of_all_points() -> None:
    request = benchmark(points(MemoryTable, ops=("copy", "set"), sizes=(4096, 8192)))
    changed = with_parameter(request, "pages", "thp")
    assert {point.pages for point in changed.points if isinstance(point, MemoryPoint)} == {"thp"}
    assert len(changed.points) == 4
    # Two points that it makes the same are one.
    assert len(with_parameter(request, "sizes", "4k").points) == 2
    for name, value in (("pages", "big"), ("nope", "1"), ("cpu", "1"), ("sizes", "x"),
                        ("sizes", "1000")):  # fmt: skip
        with pytest.raises(RequestError):
            with_parameter(request, name, value)
    # What is only set has no source that could differ.
    with pytest.raises(RequestError, match="would change nothing"):
        with_parameter(
            benchmark(points(MemoryTable, ops=("set",), sizes=(4096,))), "source", "zeros"
        )
    rings = benchmark(points(SwitchTable, tasks=(2, 4)))
    changed = with_parameter(with_parameter(rings, "kind", "thread"), "set_size", "4k")
    assert changed.points == points(SwitchTable, tasks=(2, 4), set_size=(4096,), kind=("thread",))
    with pytest.raises(RequestError, match="--tasks must lie between"):
        with_parameter(rings, "tasks", "99999")
    clocks = benchmark(points(ClockTable, clocks=("monotonic",)))
    assert with_parameter(clocks, "via", "syscall").points == [
        ClockPoint("monotonic", 1, "syscall")
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cycles", (0, 0, 0)),
        ("instructions:u", (0, 1, 5)),
        ("page-faults", (1, 2, 0)),
        ("L1-icache-load-misses", (3, 1 | 1 << 16, 0)),
        ("LLC-stores", (3, 2 | 1 << 8, 0)),
        ("r60", (4, 0x60, 0)),
        ("rE1:k", (4, 0xE1, 6)),
        ("cycles:uk", (0, 0, 4)),
    ],
)
def test_events_by_the_names_that_perf_has(name: str, code: tuple[int, int, int]) -> None:
    assert parse_counters([name, name], None) == (CounterPlan(name, *code),)


@pytest.mark.parametrize(
    ("name", "model", "code"),
    [
        ("icache-stall", "Cortex-A9 r2p10", 0x60),
        ("icache-dependent-stall:u", "Cortex-A53 r0p4 + Cortex-A53 r0p5", 0xE1),
        ("icache_16b.ifdata_stall", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", 0x0480),
        ("ICACHE_16B.IFDATA_STALL", "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", 0x0480),
        ("l1i-stall", "Cortex-A9 r2p10", 0x60),
        ("l1i-stall", "Cortex-A53 r0p4 + Cortex-A53 r0p5", 0xE1),
        ("l1d-stall:k", "Cortex-A55 r1p0", 0xE9),
        ("l1i-stall", "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", 0x0480),
        ("l1d-stall", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", 0x0C000CA3),
        ("l1i-stall", "Intel(R) Core(TM) i7-1065G7 CPU @ 1.30GHz", 0x0480),
        ("l1i-stall", "Intel(R) Core(TM) i5-3320M CPU @ 2.60GHz", 0x0480),
        ("l1i-stall", "Intel(R) Core(TM) i9-10900K CPU @ 3.70GHz", 0x0480),
        ("l1i-stall", "Intel(R) Xeon(R) CPU E5-2680 v2 @ 2.80GHz", 0x0480),
        ("icache_64b.iftag_stall", "Genuine Intel(R) CPU 0000 @ 2.10GHz", 0x0483),
    ],
)
def test_events_that_only_some_cpus_have_by_their_model(name: str, model: str, code: int) -> None:
    (counter,) = parse_counters([name], model)
    assert (counter.type, counter.config) == (4, code)
    check_counters([name])
    # A raw code means something else on the other cores of a board that has two kinds.
    two = "Cortex-A53 r0p4 + Cortex-A72 r0p2"
    for other in ("Cortex-A97 r0p0", "AMD EPYC", "Intel(R) Atom(TM) CPU E3950", two, None):
        with pytest.raises(RequestError, match="raw code"):
            parse_counters([name], other)


@pytest.mark.parametrize(
    ("name", "side", "cache"),
    [("l1i-stall", "frontend", "L1-icache"), ("L1D-STALL:u", "backend", "L1-dcache")],
)
@pytest.mark.parametrize(
    "model",
    ["Cortex-A72 r0p3", "Cortex-A76 r4p1", "AMD EPYC", "Intel(R) N100",
     "Intel(R) Xeon(R) Processor", "12th Gen Intel(R) Core(TM) i7-1260P",
     "Intel(R) Core(TM) i5-2500K CPU @ 3.30GHz", None],
)  # fmt: skip
def test_where_a_cpu_has_no_event_of_its_own_for_a_stall_others_are_named(
    name: str, side: str, cache: str, model: str | None
) -> None:
    with pytest.raises(RequestError, match=f"count stalled-cycles-{side} .* or {cache}-load-misse"):
        parse_counters([name], model)


@pytest.mark.parametrize("name", ["", "cyc", "L1-icache-stores-x", "r", "rxyz", "cycles:z", "a b"])
def test_what_is_no_event(name: str) -> None:
    with pytest.raises(RequestError, match="no event"):
        check_counters([name])
