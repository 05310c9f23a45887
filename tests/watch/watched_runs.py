"""Runs in progress, as the journal of a process that measures has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from journals import INTERVAL, START, opening, samples, write_journal

from whylate.recording.finish import finish
from whylate.recording.manifest import Fact
from whylate.recording.plan import LoadPlan
from whylate.recording.store.journal import NAME, Opening
from whylate.recording.workloads.wakeup import Wakeup
from whylate.wire.frame import encode_frame
from whylate.wire.messages import CpuResult, CpuStarted, Message, Progress, Result

FACTS = [
    Fact("temperatures", ["cpu-thermal: 48.2 °C"], "/sys/class/thermal"),
    Fact("cpu_frequency_measured", ["cpu 0: 1500 MHz"], "timed by the probe"),
]


def begin(count: int, seed: int = 0, load: str = "memory") -> Opening:
    """Return the opening of a run of so many activations of a CPU."""
    first = opening(None)
    plan = msgspec.structs.replace(
        first.plan,
        workload=Wakeup(duration_ns=count * INTERVAL, interval_ns=INTERVAL),
        loads=[LoadPlan(load, 1)],
        seed=seed,
    )
    return msgspec.structs.replace(first, plan=plan, facts=FACTS)


def start(count: int) -> CpuStarted:
    return CpuStarted(0, 1, 95, 1, START, START + count * INTERVAL, INTERVAL)


def progress(activations: int) -> Progress:
    """The report of the probe after so many activations."""
    return Progress(START + activations * INTERVAL, (activations,))


def append(directory: Path, *messages: Message) -> None:
    with (directory / NAME).open("ab") as file:
        for number, message in enumerate(messages, 1000):
            file.write(encode_frame(message.KIND, number, message.pack()))


def finished(directory: Path, latencies: Sequence[int], seed: int = 0, load: str = "memory") -> str:
    """Make the recording of a run that ended."""
    count = len(latencies)
    sent = [
        start(count),
        *(samples(latencies[at : at + 500], at) for at in range(0, count, 500)),
        CpuResult(0, 1, 95, 1, START, START + count * INTERVAL, count, 0, 0),
        Result(1_000, 1_000),
    ]
    finish(write_journal(directory, begin(count, seed, load), sent))
    return str(directory)
