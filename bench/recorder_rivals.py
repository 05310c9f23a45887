"""What recorders slow down: two benchmarks of the scheduler, under each of them and under none.

`perf bench sched pipe` (two threads that wake each other) and `hackbench` (many that do), while
nothing records; while `whylate measure` does, with its flight recorder and without; while bcc's
runqlat does (libbpf-tools); while `perf sched record` does. Each has run for a while before the
clock of the benchmark starts, and is ended by SIGINT.
"""

from __future__ import annotations

import random
import re
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


def pipe_s() -> float:
    """Return how long `perf bench sched pipe` takes, in seconds."""
    words = [tool("perf") or "", "bench", "sched", "pipe", "-l", str(PIPE_LOOPS)]
    return _seconds(words, r"Total time: ([0-9.]+) \[sec\]")


def hackbench_s() -> float:
    """Return how long hackbench takes, in seconds."""
    return _seconds([tool("hackbench") or "", "-l", str(HACKBENCH_LOOPS)], r"Time: ([0-9.]+)")


def _seconds(words: list[str], pattern: str) -> float:
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = re.search(pattern, done.stdout + done.stderr)
    if found is None:
        raise RuntimeError(f"{words[0]} did not say how long it took: {done.stdout[-200:]}")
    return float(found[1])


BENCHMARKS = {"sched pipe": pipe_s, "hackbench": hackbench_s}


def run(book: ResultBook, rounds: int) -> None:
    """Run the rounds that are still to do: every recorder once in each, in random order."""
    for number in range(len(book.rows("rivals")), rounds):
        order = list(RECORDERS)
        random.Random(number).shuffle(order)
        row: dict[str, dict[str, float]] = {name: {} for name in BENCHMARKS}
        for recorder in order:
            with recording(recorder):
                for name, benchmark in BENCHMARKS.items():
                    row[name][recorder] = benchmark()
        book.add("rivals", row)
        told = ", ".join(f"{recorder} {row['sched pipe'][recorder]:.2f}" for recorder in RECORDERS)
        print(f"round {number + 1:3}: sched pipe, s: {told}", flush=True)


def show(book: ResultBook) -> None:
    """Print each recorder's slow-down, and what the bar asks for."""
    rows = book.rows("rivals")
    for name in BENCHMARKS:
        times = {one: [row[name][one] for row in rows] for one in RECORDERS}
        print(f"{name}: time beside that with nothing recording")
        for one in RECORDERS[1:]:
            print(f"  {one:22} {paired_ratio(times[one], times[NOTHING])}")
        print(f"  whylate / runqlat      {paired_ratio(times[WHYLATE], times[RUNQLAT])}")
        slower = {
            one: paired_ratio(times[one], times[NOTHING]).value - 1 for one in (WHYLATE, PERF)
        }
        third = slower[WHYLATE] / slower[PERF] if slower[PERF] > 0 else float("nan")
        print(f"  whylate's slow-down is {third:.2f} of that of perf sched record")
