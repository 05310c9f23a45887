"""The account against a truth: a real-time hog that says when it held the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whylate.boards.local import LocalBoard
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet

pytestmark = pytest.mark.machine

CPU = 0
INTERVAL_NS = 1_000_000
STALLS = 12

#: Holds the CPU at a priority above the probe's and writes down from when to when.
HOG = """
import json, os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
clock = time.clock_gettime_ns
held = []
for i in range(int(sys.argv[2])):
    time.sleep(0.15)
    start = clock(time.CLOCK_MONOTONIC)
    end = start + (5 + 4 * (i % 8)) * 1_000_000 + 370_000
    while (now := clock(time.CLOCK_MONOTONIC)) < end:
        pass
    held.append((start, now))
json.dump(held, sys.stdout)
"""


@pytest.mark.realtime
def test_overruns_are_counted_as_a_known_stall_makes_them(tmp_path: Path) -> None:
    hog = subprocess.Popen(
        [sys.executable, "-c", HOG, str(CPU), str(STALLS)], stdout=subprocess.PIPE, text=True
    )
    request = RunPlan(
        workload=Wakeup(duration_ns=4_000_000_000, interval_ns=INTERVAL_NS), cpus=[CPU]
    )
    manifest = measure(LocalBoard(), request, tmp_path / "r", Quiet())
    out, _ = hog.communicate(timeout=30)
    held = json.loads(out)

    account = manifest.cpus[0]
    assert account.expected == account.seen + account.overrun + account.dropped
    assert account.dropped == 0
    samples = open_recording(tmp_path / "r").samples[0]
    due, latency = samples.due_ns, samples.latency_ns
    inside = [(a, b) for a, b in held if a > due[0] + INTERVAL_NS and b < due[-1] - 50_000_000]
    assert len(inside) >= STALLS - 4, "too few stalls fell into the run to test anything"

    exact = 0
    for start, end in inside:
        # Due while the hog held the CPU: none of these can have run before it let go.
        stalled = np.flatnonzero((due > start) & (due < end))
        assert stalled.size >= 3
        assert (due[stalled] + latency[stalled] >= end).all(), "a bound below the truth"
        first = stalled[0]
        # The first may itself have come due while this guest stood still, then it is an overrun.
        if samples.overrun[first]:
            continue
        woke = due[first] + latency[first]
        followers = np.flatnonzero((due > due[first]) & (due < woke))
        assert samples.overrun[followers].all()
        assert (due[followers] + latency[followers] == woke).all(), "each bound is wake − due"
        counted = int(samples.overrun[first + 1 : first + 1 + followers.size].sum())
        assert counted == followers.size
        assert not samples.overrun[first + 1 + followers.size], "an overrun that never was"
        truth = int(((due > due[first]) & (due < end)).sum())
        exact += abs(counted - truth) <= 1
    # The host of a virtual machine can lengthen a stall beyond what the hog saw of it.
    assert exact >= 0.75 * len(inside)
