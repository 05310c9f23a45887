"""Answers for runs written down by hand: one CPU, an activation each millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from windows import PRIO, busy_window

from whylate.causes.answer import Answer, explain
from whylate.recording.events import Reason, Window
from whylate.recording.manifest import CpuAccount, Fact, Manifest, ProbeReport, RecorderReport
from whylate.recording.plan import RunPlan
from whylate.recording.samples import CpuSamples
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup

MS = 1_000_000
REPORT = RecorderReport("bpf", None, 4096, [], 0, 0, 0, 0, None, None)


def manifest(count: int, recorder: RecorderReport | None = REPORT, facts: Sequence[Fact] = (),
             threshold_ns: int | None = None) -> Manifest:  # fmt: skip
    plan = RunPlan(
        workload=Wakeup(
            duration_ns=count * MS,
            interval_ns=MS,
            recorder=RecorderPlan("best", threshold_ns, 2000, 1000),
        ),
        cpus=[0],
    )
    probe = ProbeReport("0", "x86_64", "", None, None, 1, 20, 0, 0, 0, 0)
    account = CpuAccount(0, 0, count * MS, count, count, 0, 0, "fifo", 95, True)
    return Manifest("whylate-recording", 6, "complete", "", "0", "b", "CLOCK_MONOTONIC", plan,
                    [account], [], list(facts), [], probe, [], recorder=recorder)  # fmt: skip


def samples(latency_ns: Sequence[int], overrun: Sequence[int] = ()) -> list[CpuSamples]:
    late = np.zeros(len(latency_ns), bool)
    late[list(overrun)] = True
    return [CpuSamples(0, 0, MS, np.arange(len(latency_ns)), np.array(latency_ns), late)]


def window(activation: int, latency_ns: int, reason: Reason = "tail") -> Window:
    """A window in which a thread of equal priority took all but a µs of the time."""
    due = activation * MS
    base = busy_window(prio=PRIO)
    shift = due - base.due_ns
    events = [replace(event, time_ns=event.time_ns + shift) for event in base.events]
    events[-1] = replace(events[-1], time_ns=due + latency_ns - 100)
    return replace(
        base, activation=activation, due_ns=due, run_ns=due + latency_ns, timer_ns=due + 100,
        waking_ns=due + 150, switched_ns=due + latency_ns - 100, observed_ns=due - 400,
        events=tuple(events), reason=reason,
    )  # fmt: skip


def of(count: int, late: dict[int, int], windows: Sequence[Window], **options: int) -> Answer:
    latency = [10_000 + i % 100 for i in range(count)]
    for activation, ns in late.items():
        latency[activation] = ns
    return explain(manifest(count), samples(latency), windows, **options)
