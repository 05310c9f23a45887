"""Journals written down by hand: what a probe with a flight recorder would have sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from leb128 import leb128, zigzag
from whylate.recording.manifest import SCHEMA_VERSION
from whylate.recording.plan import RunPlan
from whylate.recording.store.journal import CLOSING, NAME, OPENING, Closing, Opening
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.wire.frame import encode_frame
from whylate.wire.messages import CpuResult, CpuStarted, Message, Result, Samples

START = 5_000_000_000
INTERVAL = 1_000_000
#: Latencies of the activations that a journal has unless told otherwise, ns.
LATENCIES = [9_000, 10_000, 80_000, 9_500]


def samples(latencies: Sequence[int] = LATENCIES, first: int = 0) -> Samples:
    deltas = [b - a for a, b in zip([0, *latencies], latencies, strict=False)]
    data = b"".join(leb128(zigzag(delta)) for delta in deltas)
    return Samples(0, len(latencies), first, data)


def opening(recorder: RecorderPlan | None) -> Opening:
    plan = RunPlan(
        workload=Wakeup(
            duration_ns=len(LATENCIES) * INTERVAL, interval_ns=INTERVAL, recorder=recorder
        ),
        cpus=[0],
    )
    return Opening(
        schema_version=SCHEMA_VERSION, created="2026-01-01T00:00:00+00:00", whylate="0",
        board="b", clock="CLOCK_MONOTONIC", plan=plan, facts=[], probe_version="0",
        probe_arch="x86_64", probe_sha256="", clock_resolution_ns=1, clock_read_ns=20, problems=[],
    )  # fmt: skip


def journal(directory: Path, *messages: Message, recorder: RecorderPlan | None = None) -> Path:
    """Write a journal of one CPU's run; `messages` come after its start."""
    end = START + len(LATENCIES) * INTERVAL
    plan = recorder or RecorderPlan("best", None, 2000, 1000)
    before = [m for m in messages if type(m).__name__.startswith("Recorder")
              and type(m).__name__ != "RecorderResult"]  # fmt: skip
    sent = [
        *before,
        CpuStarted(0, 1, 95, 1, START, end, INTERVAL),
        *[m for m in messages if m not in before],
        CpuResult(0, 1, 95, 1, START, end, len(LATENCIES), 0, 0),
        Result(1_000, 1_000),
    ]
    return write_journal(directory, opening(plan), sent)


def write_journal(
    directory: Path, begun: Opening, sent: Sequence[Message], *, ended: bool = True
) -> Path:
    """Write the frames of a run; ended: whether the host wrote its last word too."""
    directory.mkdir()
    frames = [encode_frame(OPENING, 0, msgspec.json.encode(begun))]
    frames += [encode_frame(m.KIND, n, m.pack()) for n, m in enumerate(sent, 1)]
    if ended:
        closing = Closing("complete", [], [], len(sent), 0, 0, 0)
        frames.append(encode_frame(CLOSING, 0, msgspec.json.encode(closing)))
    (directory / NAME).write_bytes(b"".join(frames))
    return directory
