"""Journals of a watched program's wakeups, written down by hand as a probe would send them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from journals import START, opening, write_journal
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.app import App, CommTarget, Target
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    Message,
    Name,
    RecorderStarted,
    Result,
    Samples,
    SampleStages,
    SampleThreads,
)

SECOND = 1_000_000_000
TIMER, INTERRUPT, SOFTIRQ, THREAD = 1, 2, 3, 4
RECORDER = RecorderPlan("best", None, 2000, 1000)
NAMES = [Name(4, 301, "pacer"), Name(4, 302, "pacer-io")]


@dataclass(frozen=True)
class Wakeup:
    """One wakeup; due_ns: since START."""

    pid: int
    due_ns: int
    latency_ns: int
    origin: int = TIMER
    stages: tuple[int, int] | None = (300, 900)


def block(wakeups: Sequence[Wakeup], first: int = 0, cpu: int = 0) -> list[Message]:
    """Return the three messages of a block."""
    latencies, dues = [w.latency_ns for w in wakeups], [w.due_ns for w in wakeups]
    rows = b"".join(leb128(zigzag(step)) for step in _steps(latencies))
    stages = b"".join(
        b"".join(leb128(1 + zigzag(ns)) for ns in (*w.stages, w.latency_ns))
        if w.stages
        else bytes(3)
        for w in wakeups
    )
    threads = b"".join(
        leb128(w.pid) + leb128(zigzag(step)) + leb128(w.origin)
        for w, step in zip(wakeups, _steps(dues), strict=True)
    )
    count = len(wakeups)
    return [Samples(cpu, count, first, rows), SampleStages(cpu, count, first, stages),
            SampleThreads(cpu, count, first, threads)]  # fmt: skip


def _stages(wakeup: Wakeup) -> bytes:
    if wakeup.stages is None:
        return bytes(3)
    return b"".join(leb128(1 + zigzag(ns)) for ns in (*wakeup.stages, wakeup.latency_ns))


def _steps(values: Sequence[int]) -> list[int]:
    return [b - a for a, b in zip([0, *values], values, strict=False)]


def app_journal(
    directory: Path,
    *messages: Message,
    seen: int,
    dropped: int = 0,
    cpus: int = 1,
    app: Target | None = None,
    ended: bool = True,
    recorder: Message | None = RecorderStarted("bpf", 4096),  # noqa: B008 (it is frozen)
    end_ns: int = SECOND,
) -> Path:
    """Write the journal of a second's run; seen, dropped: what the probe counted on CPU 0."""
    begun = opening(RECORDER)
    workload = App(duration_ns=SECOND, recorder=RECORDER, target=app or CommTarget("pacer"))
    plan = replace(begun.plan, workload=workload, cpus=list(range(cpus)))
    sent = [
        *([recorder] if recorder is not None else []),
        *(CpuStarted(cpu, 0, 0, 0, START, START + SECOND, 0) for cpu in range(cpus)),
        *messages,
    ]
    if ended:
        counts = [(seen, dropped), *[(0, 0)] * (cpus - 1)]
        sent += [CpuResult(cpu, 0, 0, 0, START, START + end_ns, count, 0, lost)
                 for cpu, (count, lost) in enumerate(counts)]  # fmt: skip
        sent += [Result(1_000, 1_000)]
    return write_journal(directory, replace(begun, plan=plan), sent, ended=ended)
