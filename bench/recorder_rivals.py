"""What recorders slow down: two benchmarks of the scheduler, under each of them and under none.

`perf bench sched pipe` (two threads that wake each other) and `hackbench` (many that do), while
nothing records; while `whylate measure` does, with its flight recorder and without; while bcc's
runqlat does (libbpf-tools); while `perf sched record` does. Each has run for a while before the
clock of the benchmark starts, and is ended by SIGINT.

Time is told twice: as the benchmark says it, and as the CPU time that it took, in which what is
recorded of it is included and what else a machine does is not. Both threads of `sched pipe` are
bound to one CPU: whether the scheduler happens to put them on one or on two makes a factor of two.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ratios import paired_ratio
from result_book import ResultBook

#: Seconds on the clock, seconds of CPU time.
Time = tuple[float, float]
#: Where Debian puts what only root needs.
PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
NOTHING, WHYLATE, SAMPLES, RUNQLAT, PERF = (
    "nothing", "whylate", "whylate --no-recorder", "runqlat", "perf sched record",
)  # fmt: skip
RECORDERS = (NOTHING, WHYLATE, SAMPLES, RUNQLAT, PERF)
#: Until the last of them has loaded its programs or opened its buffers.
SETTLE_S = 4.0
PIPE_LOOPS = 200_000
HACKBENCH_LOOPS = 400


def tool(name: str) -> str | None:
    """Return where a program is, or None."""
    return shutil.which(name, path=PATH)


def missing() -> list[str]:
    """Return the Debian packages to install for what is not there."""
    packages = {"perf": "linux-perf", "hackbench": "rt-tests", "runqlat": "libbpf-tools"}
    return [package for name, package in packages.items() if tool(name) is None]


def command(recorder: str, folder: str) -> list[str] | None:
    """Return how a recorder is started; None: there is nothing to start."""
    measure = [sys.executable, "-m", "whylate", "measure", "--for", "10min", "-o", f"{folder}/r"]
    return {
        NOTHING: None,
        WHYLATE: measure,
        SAMPLES: [*measure, "--no-recorder"],
        RUNQLAT: [tool("runqlat") or "", "600", "1"],
        PERF: [tool("perf") or "", "sched", "record", "-o", f"{folder}/perf.data"],
    }[recorder]


@contextmanager
def recording(recorder: str) -> Iterator[None]:
    """Have a recorder run; raises RuntimeError where it did not last as long as the context."""
    with tempfile.TemporaryDirectory() as folder:
        words = command(recorder, folder)
        if words is None:
            time.sleep(SETTLE_S)
            yield
            return
        log = Path(folder) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
        try:
            time.sleep(SETTLE_S)
            yield
            if process.poll() is not None:
                raise RuntimeError(f"{recorder} ended by itself: {log.read_text()[-300:]}")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def pipe() -> Time:
    """Return how long `perf bench sched pipe` takes."""
    one_cpu = [tool("taskset") or "", "-c", str(max(os.sched_getaffinity(0)))]
    words = [*one_cpu, tool("perf") or "", "bench", "sched", "pipe", "-l", str(PIPE_LOOPS)]
    return _time(words, r"Total time: ([0-9.]+) \[sec\]")


def hackbench() -> Time:
    """Return how long hackbench takes."""
    return _time([tool("hackbench") or "", "-l", str(HACKBENCH_LOOPS)], r"Time: ([0-9.]+)")


def _time(words: list[str], pattern: str) -> Time:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(pattern, done.stdout + done.stderr)
    if found is None:
        raise RuntimeError(f"{words[0]} did not say how long it took: {done.stdout[-200:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(found[1]), cpu_s


BENCHMARKS = {"sched pipe": pipe, "hackbench": hackbench}


def run(book: ResultBook, rounds: int) -> None:
    """Run the rounds that are still to do: every recorder once in each, in random order."""
    for number in range(len(book.rows("rivals")), rounds):
        order = list(RECORDERS)
        random.Random(number).shuffle(order)
        row: dict[str, dict[str, Time]] = {name: {} for name in BENCHMARKS}
        for recorder in order:
            with recording(recorder):
                for name, benchmark in BENCHMARKS.items():
                    row[name][recorder] = benchmark()
        book.add("rivals", row)
        for name, times in row.items():
            told = ", ".join(
                f"{item} {s:.2f} ({cpu_s:.2f} CPU)" for item, (s, cpu_s) in times.items()
            )
            print(f"round {number + 1:3} {name}, s: {told}", flush=True)


def show(book: ResultBook) -> None:
    """Print each recorder's slow-down, and what the bar asks for."""
    rows = book.rows("rivals")
    for name in BENCHMARKS:
        for place, what in enumerate(("time", "CPU time")):
            times = {
                recorder: [row[name][recorder][place] for row in rows] for recorder in RECORDERS
            }
            ratio = {
                recorder: paired_ratio(times[recorder], times[NOTHING])
                for recorder in RECORDERS[1:]
            }
            print(f"{name}: {what} beside that with nothing recording")
            for item, found in ratio.items():
                print(f"  {item:22} {found}")
            print(f"  {'whylate / runqlat':22} {paired_ratio(times[WHYLATE], times[RUNQLAT])}")
            alone = paired_ratio(times[WHYLATE], times[SAMPLES])
            print(f"  {'the recorder alone':22} {alone}, which is whylate / {SAMPLES}")
            third = [
                nothing + max(perf - nothing, 0.0) / 3
                for nothing, perf in zip(times[NOTHING], times[PERF], strict=True)
            ]
            bar = paired_ratio(times[WHYLATE], third)
            print(f"  {'whylate / the bar':22} {bar}, a third of what {PERF} adds")
