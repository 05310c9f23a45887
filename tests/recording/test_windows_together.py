"""Windows and blocks that are put together many at a time are those that are put together alone."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from journals import INTERVAL, START, opening, write_journal
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording import decoder
from whylate.recording.finish import finish
from whylate.recording.manifest import MANIFEST
from whylate.recording.recorder import assembler
from whylate.recording.workloads.activations import RecorderPlan, wakeup
from whylate.wire.constants import NOT_SEEN, EventKind
from whylate.wire.messages import (
    CpuStarted,
    Events,
    Message,
    Name,
    Progress,
    RecorderStarted,
    Samples,
    SampleStages,
    Window,
)

#: What is unusual, or wrong, now and then.
ALL = ("cut", "mask", "kind", "wide", "early", "lost", "reason", "cpus", "stages", "long")
ENDS = START + 100_000 * INTERVAL
NAMES = [Name(1, 1, "make"), Name(1, 2, ""), Name(2, 1, "f+0x0"), Name(2, 2, "g+0x9 [m]"),
         Name(2, 3, "?"), Name(3, 24, "eth0")]  # fmt: skip
KNOWN = [int(kind) for kind in EventKind]


def data_of(chance: random.Random, count: int, wrong: str) -> bytes:
    """Return the data of so many events."""
    data = b""
    for _ in range(count):
        kind = chance.choice([*KNOWN, EventKind.STACK, EventKind.FRAMES, EventKind.IPI_SEND, 90])
        if wrong == "kind":
            kind = chance.choice([kind, 200])
        fields = [chance.choice([0, 1, 2, 129]), chance.choice([0, 3, 300]),
                  chance.choice([0, 24, 7000]), chance.choice([0, 5]), chance.choice([0, 1, 2, 3]),
                  chance.choice([0, 1, 5, 1 << 63, 0xFB << 56])]  # fmt: skip
        if wrong == "wide":
            fields[chance.choice([2, 3, 4])] = chance.choice([1 << 20, (1 << 63) + 1])
        mask = sum(1 << index for index, number in enumerate(fields) if number)
        step = chance.choice([0, 0, 10, 500]) - (chance.random() < 0.1) * 700
        step = -(1 << 60) if wrong == "early" and chance.random() < 0.3 else step
        data += bytes([kind, mask | 0x40 * (wrong == "mask")]) + leb128(zigzag(step))
        data += b"".join(leb128(number) for number in fields if number)
    return data[:-1] if wrong == "cut" else data


def window_of(chance: random.Random, number: int, wrong: str) -> list[Message]:
    """Return the messages of a window."""
    due = START + number * INTERVAL
    counts = [chance.choice([0, 1, 3, 20]) for _ in range(chance.choice([1, 1, 2]))]
    seen = chance.random() > 0.1
    window = Window(
        cpu=0, tid=7, prio=4, reason=chance.choice([0, 1, 2]), activation=number, due_ns=due,
        run_ns=due + 80_000, timer_ns=due + 700 if seen else 0, waking_ns=due + 900 * seen,
        switched_ns=due + 79_000, waking_cpu=0, observed_ns=due, events=sum(counts),
        sums=(1000, 2000, (1 << 64) - 5, 0, 77_000, 0),
    )  # fmt: skip
    if wrong == "reason":
        window = replace(window, run_ns=due - 1)
    cpus = [chance.choice([0, 1]) if wrong == "cpus" else 0 for _ in counts]
    events = [Events(cpu, count, data_of(chance, count, wrong))
              for cpu, count in zip(cpus, counts, strict=True)]  # fmt: skip
    return [window, *events[wrong == "lost" :]]


def block_of(chance: random.Random, first: int, wrong: str) -> list[Message]:
    """Return a block of samples and its stages."""
    count = chance.randrange(1, 30)
    late = chance.choice([0, 0, 3]) * INTERVAL
    latency = [chance.randrange(-500, 200_000) for _ in range(count)]
    latency[-1] += late
    if wrong == "long":
        latency[0] = 1 << 45
    steps = [after - before for before, after in zip([0, *latency], latency, strict=False)]
    data = b"".join(leb128(zigzag(step)) for step in steps)
    data += leb128(count - 1) + leb128(3) if late else b""
    stages = [NOT_SEEN if chance.random() < 0.1 else ns for ns in latency for _ in range(3)]
    staged = b"".join(b"\0" if ns == NOT_SEEN else leb128(1 + zigzag(ns)) for ns in stages)
    moved = chance.choice([0, 1, 2]) if wrong == "stages" else 0
    sent = [Samples(0, count, first, data), SampleStages(0, count, first + moved, staged)]
    return sent[: 2 - (wrong == "stages" and moved == 0)]


def sent_of(seed: int, unusual: str) -> list[Message]:
    """Return what a probe sends."""
    chance = random.Random(seed)
    sent: list[Message] = [
        RecorderStarted("bpf", 4096),
        CpuStarted(0, 1, 95, 1, START, ENDS, INTERVAL),
    ]
    for number in range(300):
        wrong = unusual if chance.random() < 0.02 else ""
        sent += block_of(chance, 40 * number, wrong)
        sent += window_of(chance, 40 * number, wrong) if chance.random() < 0.7 else []
        sent.append(Progress(START, (40 * number,)))
    return [*sent, *NAMES]


def plain(path: Path) -> pa.Table:
    """Return a table whose texts are not by number."""
    table = pq.read_table(path).combine_chunks()
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
               for column in table.columns]  # fmt: skip
    return pa.table(columns, names=table.column_names)


@pytest.mark.parametrize("unusual", ["", *ALL])
def test_many_together_are_what_each_is_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unusual: str
) -> None:
    monkeypatch.setattr(wakeup, "_WAITING", 20)
    for seed in range(3):
        made = []
        for alone in (False, True):
            with monkeypatch.context() as patch:
                if alone:
                    patch.setattr(decoder.JournalDecoder, "_families", lambda _: [])
                else:
                    patch.setattr(assembler, "_FEW", 2)
                directory = tmp_path / f"{seed} {alone}"
                write_journal(directory, opening(RecorderPlan()), sent_of(seed, unusual))
                finish(directory)
            files = ("samples.parquet", "windows.parquet", "events.parquet")
            made.append([plain(directory / name) for name in files])
        for together, single in zip(*made, strict=True):
            assert together.num_rows
            assert together.equals(single)
        manifests = [(tmp_path / f"{seed} {alone}" / MANIFEST) for alone in (False, True)]
        assert manifests[0].read_bytes() == manifests[1].read_bytes()
