"""Blocks of samples that are decoded together give what each alone gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording.workloads.activations import wakeup
from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.assembler import SamplesDigest
from whylate.recording.workloads.activations.wakeup import WakeupAssembler
from whylate.wire.codec import WireError
from whylate.wire.constants import NOT_SEEN
from whylate.wire.events import decode_stages
from whylate.wire.messages import CpuStarted, Samples, SampleStages
from whylate.wire.samples import decode_samples

MS = 1_000_000
ENDS = 100_000
#: What may be wrong with what a probe sends, or unusual.
ALL = ("gaps", "missing", "data", "order", "end", "stages", "other")
STARTED = CpuStarted(3, 1, 95, 1, 0, ENDS * MS, MS)


def block(
    rng: np.random.Generator, first: int, count: int, stall: int | None
) -> tuple[Samples, SampleStages, int]:
    """Return a block with its stages, and the number after it; stall: where overruns follow."""
    latency = rng.integers(-500, 200_000, count).tolist()
    late = 0
    if stall is not None:
        late = int(rng.integers(1, 9))
        latency[stall] = late * MS + 5_000
    data = b"".join(leb128(zigzag(b - a)) for a, b in zip([0, *latency], latency, strict=False))
    if stall is not None:
        data += leb128(stall) + leb128(late)
    stages = b"".join(
        leb128(zigzag(int(ns)) + 1) if rng.random() > 0.1 else leb128(0)
        for ns in np.repeat(latency, 3)
    )
    return (
        Samples(3, count, first, data),
        SampleStages(3, count, first, stages),
        first + count + late,
    )


def moved(samples: Samples, stages: SampleStages, first: int) -> tuple[Samples, SampleStages]:
    """Return the same from another activation on."""
    return replace(samples, first=first), replace(stages, first=first)


def messages(seed: int, wrong: frozenset[str]) -> list[Samples | SampleStages]:
    """Return what a probe sends of a CPU; wrong: what is not as it should be, now and then."""
    rng = np.random.default_rng(seed)
    sent: list[Samples | SampleStages] = []
    number = 0
    for _ in range(400):
        count = int(rng.integers(1, 40))
        stall = int(rng.integers(0, count)) if rng.random() < 0.05 else None
        samples, stages, after = block(rng, number, count, stall)
        one = rng.random()
        if "data" in wrong and one < 0.03:
            samples = Samples(3, count, samples.first, samples.data[:-1] + b"\x80")
        if "order" in wrong and 0.03 < one < 0.06:
            samples, stages = moved(samples, stages, max(0, number - 50))
        if "end" in wrong and 0.06 < one < 0.09:
            samples, stages = moved(samples, stages, ENDS - 1)
        if "stages" in wrong and 0.09 < one < 0.12:
            stages = SampleStages(3, count, stages.first, stages.data + b"\0")
        if "other" in wrong and 0.12 < one < 0.15:
            stages = SampleStages(3, count, stages.first + 1, stages.data)
        sent.append(samples)
        if not ("missing" in wrong and 0.15 < one < 0.2):
            sent.append(stages)
        number = after + (7 if "gaps" in wrong and 0.2 < one < 0.25 else 0)
    return sent


def alone(sent: list[Samples | SampleStages]) -> tuple[list[Any], CpuAccounting, str, int]:
    """Return rows with their stages, the accounting, the digest, and how many were malformed."""
    accounting, digest, rows, malformed = CpuAccounting(STARTED), SamplesDigest(), [], 0
    last: list[Any] | None = None
    for message in sent:
        try:
            if isinstance(message, Samples):
                last = None
                decoded = decode_samples(message, MS, accounting.planned)
                if accounting.add(decoded):
                    digest.add(3, decoded)
                    last = [message, decoded, None]
                    rows.append(last)
            elif last is None or (last[0].first, last[0].count) != (message.first, message.count):
                raise WireError("stages of no block")
            else:
                last[2] = decode_stages(message)
        except WireError:
            malformed += 1
    whole = []
    for _, decoded, stages in rows:
        own = np.full((decoded.activation.size, 3), NOT_SEEN)
        if stages is not None:
            own[~decoded.overrun] = stages
        columns = (decoded.activation, decoded.latency_ns, decoded.overrun)
        whole += list(zip(*(c.tolist() for c in columns), own.tolist(), strict=True))
    return whole, accounting, digest.hexdigest(), malformed


@pytest.mark.parametrize("waiting", [1, 7, 1024])
@pytest.mark.parametrize("wrong", ["", *ALL, " ".join(ALL)])
def test_blocks_together_are_what_each_is_alone(
    monkeypatch: pytest.MonkeyPatch, wrong: str, waiting: int
) -> None:
    monkeypatch.setattr(wakeup, "_WAITING", waiting)
    sent = messages(waiting, frozenset(wrong.split()))
    rows: list[Any] = []

    def sink(cpu: int, got: Any, stages: Any, threads: Any) -> None:
        assert (cpu, threads) == (3, None)
        own = np.full((got.activation.size, 3), NOT_SEEN)
        if stages is not None:
            own[~got.overrun] = stages
        columns = (got.activation, got.latency_ns, got.overrun)
        rows.extend(zip(*(c.tolist() for c in columns), own.tolist(), strict=True))

    assembler = WakeupAssembler(sink, 10**18)
    assembler.add(STARTED, [])
    refused = 0
    for message in sent:
        try:
            assembler.add(message, [])
        except WireError:
            refused += 1
    assembler.close()
    expected, accounting, digest, malformed = alone(sent)
    assert rows == expected
    assert assembler.accountings[3] == accounting
    assert assembler.digest.hexdigest() == digest
    assert refused + assembler.malformed == malformed
