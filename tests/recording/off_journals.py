"""What a probe sends of interrupts that were disabled, written down by hand."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark_journals import plan_of

from leb128 import leb128, zigzag
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.off import OffPoint, What
from whylate.wire.constants import OffClass
from whylate.wire.messages import (
    Message,
    OffCpu,
    OffGroup,
    OffLongest,
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


def off_plan(what: What = "irqs-off") -> Benchmark:
    return plan_of([OffPoint(what, PERIOD_NS, CPUS)], rounds=1)


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
        OffCpu(0, 0, 0, 1_000, 0, 500, 12_500, 1_000_000, 1_050_000),
        OffCpu(0, 1, 3, 1_000, 2, 700, 12_500, 0, 0),
        OffGroup(0, 0, unknown, 4, 0, 4, 0, 0, ()),
        OffGroup(0, 1, disabled, 2, 2, 9, 380_000, 260_000, FAULT),
        OffGroup(0, 2, disabled, 1, 0, 1, 0, 0, ("finish_task_switch+0x96", "schedule+0x5a")),
        OffLongest(0, 900_000, 3, 9, "irqs_off", 260_000, 6, 1),
        OffLongest(0, 400_000, 0, 7, "other", 120_000, 3, 1),
        stretch_block(STRETCHES),
        *repetitions(),
    ]  # fmt: skip
