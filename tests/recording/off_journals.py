"""What a probe sends of interrupts that were disabled, written down by hand."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark_journals import plan_of
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.off import OffPoint, What
from whylate.wire.constants import OffClass
from whylate.wire.constants import OffMethod as OffMethodNumber
from whylate.wire.messages import (
    Message,
    OffBins,
    OffCpu,
    OffGroup,
    OffLongest,
    OffMethod,
    OffRepetition,
    OffStretches,
)

PERIOD_NS = 50_000
BLOCK_NS = 1_000_000
CPUS = (0, 3)
FAULT = ("fault_main+0x19f [irqs_off]", "kthread+0xda", "ret_from_fork+0x22")
#: Time, what was seen, points, CPU, pid, group.
STRETCHES = (
    (400_000, 120_000, 3, 0, 7, 1),
    (900_000, 260_000, 6, 3, 9, 1),
    (950_000, 0, 1, 3, 9, 2),
)
#: Of each block and CPU: disabled, handler, user, unknown.
POINTS = ((3, 0, 1, 0), (7, 0, 0, 0), (0, 0, 0, 0), (0, 2, 0, 4))


def off_plan(what: What = "irqs-off", counters: Sequence[str] = ()) -> Benchmark:
    plan = plan_of([OffPoint(what, PERIOD_NS, cpus=CPUS)], rounds=1)
    return replace(plan, counters=[CounterPlan(name) for name in counters])


def stretch_block(rows: Sequence[tuple[int, ...]], turn: int = 0, first: int = 0) -> OffStretches:
    data, before = b"", 0
    for at_ns, *rest in rows:
        data += leb128(zigzag(at_ns - before)) + b"".join(map(leb128, rest))
        before = at_ns
    return OffStretches(turn=turn, count=len(rows), first=first, data=data)


def repetitions() -> list[Message]:
    return [
        OffRepetition(0, number // 2, number % 2, CPUS[number % 2], BLOCK_NS, 20, *points)
        for number, points in enumerate(POINTS)
    ]


def off_messages() -> list[Message]:
    """All that a turn sends, in order."""
    disabled, unknown = int(OffClass.DISABLED), int(OffClass.UNKNOWN)
    return [
        OffMethod(0, OffMethodNumber.SAMPLED, "this kernel has no tracepoint irq_disable"),
        OffCpu(0, 0, 0, 1_000, 0, 0, 0, 500, 12_500, 1_000_000, 1_050_000),
        OffCpu(0, 1, 3, 1_000, 0, 0, 2, 700, 12_500, 0, 0),
        OffGroup(0, 0, unknown, 4, 0, 4, 0, 0, (), ()),
        OffGroup(0, 1, disabled, 2, 2, 9, 380_000, 260_000, FAULT, ()),
        OffGroup(0, 2, disabled, 1, 0, 1, 0, 0, ("finish_task_switch+0x96", "schedule+0x5a"), ()),
        OffLongest(0, 900_000, 3, 9, "irqs_off", 260_000, 6, 1, 0, ()),
        OffLongest(0, 400_000, 0, 7, "other", 120_000, 3, 1, 0, ()),
        stretch_block(STRETCHES),
        *repetitions(),
    ]  # fmt: skip


#: Of all stretches by tracepoints, by CPU: bin and count. The bins hold 16 to 17 ns, 1024 to 1088
#: ns, and 253952 to 262144 ns.
DURATIONS = (((16, 900), (112, 99)), ((112, 1), (16 * 14 + 15, 1)))
LOCK = ("_raw_spin_lock_irqsave+0x10", "take_it+0x8")


def bins_of(cpu: int, counts: Sequence[tuple[int, int]]) -> OffBins:
    data, before = b"", 0
    for number, count in counts:
        data += leb128(zigzag(number - before)) + leb128(count)
        before = number
    return OffBins(0, cpu, len(counts), data)


def traced_messages() -> list[Message]:
    """What a turn by tracepoints sends, in order; only the last stretch is of a period or more."""
    disabled = int(OffClass.DISABLED)
    return [
        OffMethod(0, OffMethodNumber.TRACEPOINTS, ""),
        OffCpu(0, 0, 0, 999, 200, 1, 0, 0, 0, 1_000_000, 1_010_000),
        OffCpu(0, 1, 3, 2, 0, 0, 3, 0, 0, 0, 0),
        OffGroup(0, 0, disabled, 0, 0, 0, 0, 0, (), ()),
        OffGroup(0, 1, disabled, 1, 1, 260_000, 260_000, 260_000, FAULT[:2], FAULT[:2]),
        OffGroup(0, 2, disabled, 1_000, 0, 118_000, 0, 1_050, ("unlock+0x4",), LOCK),
        OffLongest(0, 900_000, 3, 9, "irqs_off", 260_000, 260_000, 1, 0, ()),
        stretch_block(((900_000, 260_000, 260_000, 3, 9, 1),)),
        *(bins_of(cpu, DURATIONS[at]) for at, cpu in enumerate(CPUS)),
        *(
            OffRepetition(0, at // 2, at % 2, CPUS[at % 2], BLOCK_NS, BLOCK_NS, ns, 0, 0, 0)
            for at, ns in enumerate((59_000, 260_000, 59_000, 0))
        ),
    ]
