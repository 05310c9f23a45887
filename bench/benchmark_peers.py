"""Do the benchmarks measure what their peers do? Side by side, interleaved.

`python bench/benchmark_peers.py [--pairs 12] [--only TEXT] [--large]`

memory   copy and set beside `perf bench mem memcpy|memset` and mbw, at 64 MiB and, with --large, at
         1 GiB
zero     the ratio of copies from an untouched and from a written source
switch   a hop of two processes on one CPU beside half an operation of `perf bench sched pipe`, with
         tasks that are batch tasks as ours are, and as it is by itself
clock    a call beside a plain loop in C
model    an emulated device whose service is known: the service that is fitted to as many threads as
         there are CPUs, and the throughput of more that is predicted from it

Each pair has both tools in random order, on one CPU. Needs root, linux-perf, mbw and a C compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ratios import paired_ratio
from whylate.stats.closed_network import fit

#: Both tools run here.
CPU = 0
PLAIN_LOOP = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int count, char **words)
{
	struct timespec start, end, read;
	long calls = count > 1 ? atol(words[1]) : 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < calls; i++)
		clock_gettime(CLOCK_MONOTONIC, &read);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.4f ns\\n", ((end.tv_sec - start.tv_sec) * 1e9 + end.tv_nsec - start.tv_nsec)
		/ (double)calls);
	return 0;
}
"""
CALLS = 3_000_000
#: The emulated device, us: its service, and what its users do meanwhile.
SERVICE_US, THINK_US = 250, 500


def run(*words: str) -> str:
    """Run a tool on the one CPU and return what it wrote, errors too."""
    done = subprocess.run(
        ["taskset", "-c", str(CPU), *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def number(expression: str, text: str) -> float:
    """Return the number that an expression finds."""
    found = re.search(expression, text)
    if found is None:
        sys.exit(f"no {expression!r} in:\n{text}")
    return float(found[1])


def whylate(*words: str) -> list[dict[str, Any]]:
    """Measure and return the points."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "whylate", "bench", *words, "--json", "-o", f"{folder}/r"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    points: list[dict[str, Any]] = json.loads(done.stdout)["points"]
    return points


def ours_of_memory(what: str, size: str, source: str = "random") -> float:
    """Return GB/s of one run of ours."""
    of = [] if what == "set" else ["--source", source]
    (point,) = whylate("memory", "--ops", what, "--sizes", size, *of, "--cpus",
                       str(CPU), "--rounds", "1", "--repetitions", "3", "--block",
                       "300ms")  # fmt: skip
    found: float = point["gb_per_s"]["value"]
    return found


def perf_memory(what: str, size: str, loops: int) -> float:
    """Return GB/s of `perf bench mem`, whose GB are of 1024^3 bytes.

    The k-th of its loops sets every byte to k, and zeros are twice as fast on some CPUs as anything
    else: of a few loops one would show.
    """
    name = {"copy": "memcpy", "set": "memset"}[what]
    text = run("perf", "bench", "mem", name, "-s", size, "-l", str(loops), "-f", "default")
    return number(r"([\d.]+) GB/sec", text) * 1.024**3


def mbw_copy(mib: int, loops: int) -> float:
    """Return GB/s of mbw's memcpy, whose MiB are of 1024^2 bytes."""
    text = run("mbw", "-q", "-n", str(loops), "-t0", str(mib))
    return number(r"AVG\tMethod: MEMCPY.*?Copy: ([\d.]+) MiB/s", text) * 1.024**2 / 1e3


def beside(name: str, pairs: int, ours: Callable[[], float], theirs: Callable[[], float]) -> None:
    """Print the ratio of ours to theirs over pairs in random order."""
    chance = random.Random(1)
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(pairs):
        for side, measure in chance.sample([("ours", ours), ("theirs", theirs)], 2):
            found[side].append(measure())
    print(f"{name:44} {paired_ratio(found['ours'], found['theirs'])}", flush=True)


def memory(pairs: int, *, large: bool) -> None:
    """Compare copies and sets."""
    for size, mib, loops in [("64M", 64, 50), *([("1G", 1024, 20)] if large else [])]:
        for what in ("copy", "set"):
            beside(f"{what} {size}, ours / perf bench mem", pairs,
                   lambda what=what, size=size: ours_of_memory(what, size),  # type: ignore[misc]
                   lambda what=what, mib=mib, loops=loops:  # type: ignore[misc]
                       perf_memory(what, f"{mib}MB", loops))  # fmt: skip
        beside(f"copy {size}, ours / mbw", pairs,
               lambda size=size: ours_of_memory("copy", size),  # type: ignore[misc]
               lambda mib=mib, loops=loops: mbw_copy(mib, loops))  # type: ignore[misc]  # fmt: skip


def zero_page(pairs: int) -> None:
    """Compare copies whose source was never written with others."""
    for size in ("1M", "4M", "8M", "16M", "64M"):
        beside(f"copy {size}, untouched / written source", pairs,
               lambda size=size: ours_of_memory("copy", size, "untouched"),  # type: ignore[misc]
               lambda size=size: ours_of_memory("copy", size))  # type: ignore[misc]  # fmt: skip


def pipe(*words: str) -> float:
    """Return ns of half an operation: of one of its two hops."""
    return number(r"([\d.]+) usecs/op", run(*words)) * 1e3 / 2


def switch(pairs: int) -> None:
    """Compare a hop with half an operation."""

    def ours() -> float:
        (point,) = whylate("switch", "--tasks", "2", "--cpus", str(CPU), "--rounds",
                           "1", "--repetitions", "5", "--block", "100ms")  # fmt: skip
        found: float = point["ns_per_hop"]["value"]
        return found

    def theirs() -> float:
        return pipe("perf", "bench", "sched", "pipe", "-l", "60000")

    def theirs_as_batch() -> float:
        return pipe("chrt", "-b", "0", "perf", "bench", "sched", "pipe", "-l", "60000")

    beside("a hop, ours / perf bench sched pipe, batch", pairs, ours, theirs_as_batch)
    beside("a hop, ours / perf bench sched pipe", pairs, ours, theirs)


def clock(pairs: int, folder: Path) -> None:
    """Compare a call with a plain loop."""
    source, program = folder / "loop.c", folder / "loop"
    source.write_text(PLAIN_LOOP)
    subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)

    def ours() -> float:
        (point,) = whylate("clock", "--clocks", "monotonic", "--cpus", str(CPU),
                           "--rounds", "1", "--repetitions", "3", "--block", "60ms")  # fmt: skip
        found: float = point["ns_per_call"]["value"]
        return found

    beside("a call of CLOCK_MONOTONIC, ours / plain loop", pairs, ours,
           lambda: number(r"([\d.]+) ns", run(str(program), str(CALLS))))  # fmt: skip


def model() -> None:
    """Fit the emulated device at as many threads as there are CPUs, and predict more."""
    cpus = os.cpu_count() or 1
    threads = sorted({1, cpus, 2 * cpus, 4 * cpus})
    points = whylate("clock", "--via", "device", "--service", f"{SERVICE_US}us",
                     "--think", f"{THINK_US}us", "--threads", ",".join(map(str, threads)),
                     "--rounds", "40", "--repetitions", "2", "--block", "1s")  # fmt: skip
    found = {point["parameters"]["threads"]: point["calls_per_us"]["value"] for point in points}
    counts = [n for n in threads if n <= cpus]
    network = fit(counts, [found[n] for n in counts])
    print(f"service {network.service:.1f} us fitted to {counts} threads, {SERVICE_US} known: "
          f"x {network.service / SERVICE_US:.3f}")  # fmt: skip
    for n in threads:
        if n not in counts:
            print(f"{n} threads: measured / predicted x {found[n] / network.throughput(n):.3f}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--only", default="", help="parts with this in their name")
    parser.add_argument("--large", action="store_true", help="1 GiB too")
    options = parser.parse_args()
    lacking = [
        tool for tool in ("perf", "mbw", "taskset", "chrt", "cc") if shutil.which(tool) is None
    ]
    if os.geteuid() != 0 or lacking:
        sys.exit(f"this benchmark needs root, and {', '.join(lacking) or 'nothing else'}")
    with tempfile.TemporaryDirectory() as folder:
        parts: dict[str, Callable[[], None]] = {
            "memory": lambda: memory(options.pairs, large=options.large),
            "zero": lambda: zero_page(options.pairs),
            "switch": lambda: switch(options.pairs),
            "clock": lambda: clock(options.pairs, Path(folder)),
            "model": model,
        }
        for name, part in parts.items():
            if options.only in name:
                part()


if __name__ == "__main__":
    main()
