"""Side by side with cyclictest: same interval, priority, CPUs and load, interleaved.

`python bench/cyclictest.py [--pairs 40] [--seconds 5] [--interval-us 1000] [--load memory]
[--recorder]`

Prints the ratios of medians, of p90 and of CPU time with intervals, and the activations that each
tool accounts for. The load runs through, outside both. Needs root and rt-tests.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ratios import paired_ratio
from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.probe.client import Client
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.wire.messages import LoadStart

PRIORITY = 95
#: cyclictest's histogram can not be longer; with --nsecs that is 1 ms.
HISTOGRAM = 1_000_000


@dataclass(frozen=True)
class Side:
    """One run of one tool; times in ns, CPU time in seconds."""

    median_ns: float
    p90_ns: float
    cpu_s: float
    expected: int
    accounted: int
    lost_silently: int
    maximum_ns: int


def children_cpu_s() -> float:
    """Return the CPU time of the child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_whylate(
    recorder: RecorderPlan | None, seconds: float, interval_us: int, cpus: Sequence[int]
) -> Side:
    """Measure with whylate: the whole of `whylate measure`, of which the probe's CPU counts."""
    with tempfile.TemporaryDirectory() as folder:
        request = RunPlan(
            workload=Wakeup(
                duration_ns=int(seconds * 1e9),
                interval_ns=interval_us * 1000,
                priority=PRIORITY,
                recorder=recorder,
            ),
            cpus=list(cpus),
        )
        before = children_cpu_s()
        manifest = measure(LocalBoard(), request, Path(folder) / "r", Quiet())
        cpu_s = children_cpu_s() - before
        samples = open_recording(Path(folder) / "r").samples
    latency = np.concatenate([cpu.latency_ns for cpu in samples])
    expected = sum(account.expected for account in manifest.cpus)
    accounted = sum(a.seen + a.overrun + a.dropped for a in manifest.cpus)
    return Side(
        float(np.median(latency)),
        float(np.quantile(latency, 0.9)),
        cpu_s,
        expected,
        accounted,
        expected - accounted,
        int(latency.max()),
    )


def cyclictest(
    seconds: float, interval_us: int, cpus: Sequence[int], *more: str
) -> tuple[str, float]:
    """Run cyclictest; return its output and its CPU time in seconds."""
    command = ["cyclictest", "--mlockall", f"--priority={PRIORITY}", f"--threads={len(cpus)}"]
    command += [f"--affinity={','.join(map(str, cpus))}", f"--interval={interval_us}"]
    command += ["--distance=0", "--quiet", f"--duration={int(seconds)}", *more]
    before = children_cpu_s()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, children_cpu_s() - before


def run_cyclictest(seconds: float, interval_us: int, cpus: Sequence[int]) -> Side:
    """Measure with cyclictest: once with its histogram in ns, once as cheap as it can be.

    Printing a million buckets costs it more CPU time than measuring: the CPU time is of the
    second run, without a histogram.
    """
    text, _ = cyclictest(seconds, interval_us, cpus, "--nsecs", f"--histogram={HISTOGRAM}")
    _, cpu_s = cyclictest(seconds, interval_us, cpus)
    counts = np.zeros(HISTOGRAM, np.int64)
    overflows = maximum = 0
    for line in text.splitlines():
        words = line.split()
        if line.startswith("# Max Latencies:"):
            maximum = max(map(int, words[3:]))
        elif line.startswith("# Histogram Overflows:"):
            overflows = sum(map(int, words[3:]))
        elif words and words[0].isdigit():
            counts[int(words[0])] = sum(map(int, words[1:]))
    # Overflows are above every bucket: they count in the rank.
    accounted = int(counts.sum()) + overflows
    ranks = np.array([0.5, 0.9]) * accounted
    median, p90 = np.searchsorted(np.cumsum(counts), ranks).tolist()
    expected = int(seconds * 1e6 / interval_us) * len(cpus)
    return Side(median, p90, cpu_s, expected, accounted, expected - accounted, maximum)


def main() -> None:
    """Run the pairs and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--interval-us", type=int, default=1000)
    parser.add_argument("--load", default="memory")
    parser.add_argument("--recorder", action="store_true", help="whylate's is on")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("cyclictest") is None:
        sys.exit("this benchmark needs root, and cyclictest: apt install rt-tests")
    cpus = sorted(os.sched_getaffinity(0))
    recorder = RecorderPlan() if options.recorder else None
    chance = random.Random(1)
    ours: list[Side] = []
    theirs: list[Side] = []
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        loader = Client(stream)
        loader.hello()
        for index, kind in enumerate(filter(None, options.load.split(","))):
            loader.call(LoadStart(index, 1, kind, ()))
        for pair in range(options.pairs):
            sides: list[tuple[list[Side], Callable[[float, int, Sequence[int]], Side]]] = [
                (ours, partial(run_whylate, recorder)),
                (theirs, run_cyclictest),
            ]
            chance.shuffle(sides)
            for results, run in sides:
                results.append(run(options.seconds, options.interval_us, cpus))
                loader.pump(0)
            print(f"pair {pair + 1:3}: median {ours[-1].median_ns:9.0f} {theirs[-1].median_ns:9.0f}"
                  f"  p90 {ours[-1].p90_ns:9.0f} {theirs[-1].p90_ns:9.0f}"
                  f"  CPU ms {ours[-1].cpu_s * 1e3:6.1f} {theirs[-1].cpu_s * 1e3:6.1f}",
                  flush=True)  # fmt: skip
        loader.finish()
    print(f"{options.pairs} pairs of {options.seconds:g} s, {options.interval_us} µs, "
          f"CPUs {cpus}, FIFO {PRIORITY}, load {options.load or 'none'}; "
          f"whylate{' with its recorder' if options.recorder else ''} / cyclictest")  # fmt: skip
    for what, name in (("medians", "median_ns"), ("p90", "p90_ns"), ("CPU time", "cpu_s")):
        values = [[getattr(side, name) for side in sides] for sides in (ours, theirs)]
        print(f"ratio of {what:10} {paired_ratio(*values)}")
    for name, sides_of in (("whylate", ours), ("cyclictest", theirs)):
        print(f"{name:10} expected {sum(s.expected for s in sides_of)}, "
              f"accounted for {sum(s.accounted for s in sides_of)}, "
              f"vanished {sum(s.lost_silently for s in sides_of)}, "
              f"highest maximum {max(s.maximum_ns for s in sides_of) / 1e3:.0f} µs")  # fmt: skip


if __name__ == "__main__":
    main()
