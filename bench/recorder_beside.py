"""What each program of the BPF recorder takes, beside those of another version, in turns.

`python bench/recorder_beside.py DRIVER OTHER [--pairs 40] [--seconds 1]
[--results build/bench/recorder_beside.jsonl]`

DRIVER and OTHER are probe/tests/recorder_driver.c of two checkouts: `ninja -C build/x86_64
recorder_driver` in each. Runs of both on this machine in pairs, in random order; each records a
thread that sleeps 1 ms at a time on every CPU. The mean time of a program is the kernel's own
figure, with about 60 ns of measurement. Interrupted, it goes on where it was. Needs root.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

from ratios import paired_ratio
from result_book import ResultBook

#: Of fewer runs in one of a pair nothing is said.
LEAST_RUNS = 20


def run(driver: Path, seconds: float) -> dict[str, list[int]]:
    """Record for a while; return how often each program ran, and the time of all, ns."""
    command: list[str | Path] = [driver, "bpf", str(seconds), "cost", "quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{driver}: {done.stderr[-300:]}")
    found: dict[str, list[int]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("program wl_"):
            _, name, runs, took_ns, _ = line.split()
            before = found.get(name, [0, 0])
            found[name] = [before[0] + int(runs), before[1] + int(took_ns)]
    return found


def mean_ns(found: dict[str, list[int]], name: str) -> float | None:
    """Return the mean of a program, or of all ("all"); None where it ran too seldom."""
    rows = list(found.values()) if name == "all" else [found[name]] if name in found else []
    runs, took_ns = (sum(row[place] for row in rows) for place in (0, 1))
    return took_ns / runs if runs >= LEAST_RUNS else None


def main() -> None:
    """Run the pairs that are still to do, and print the ratio of each program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("driver", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--results", type=Path, default=Path("build/bench/recorder_beside.jsonl"))
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root")
    drivers = {"this": options.driver.resolve(), "other": options.other.resolve()}
    stamp = {name: str(path) for name, path in drivers.items()} | {"seconds": options.seconds}
    book = ResultBook(options.results, stamp)
    for number in range(len(book.rows("pairs")), options.pairs):
        names = random.Random(number).sample(sorted(drivers), 2)
        book.add("pairs", {name: run(drivers[name], options.seconds) for name in names})
    rows = book.rows("pairs")
    for program in ["all", *sorted(set().union(*(row["this"] for row in rows)))]:
        pairs = [(mean_ns(row["this"], program), mean_ns(row["other"], program)) for row in rows]
        both = [(this, other) for this, other in pairs if this is not None and other is not None]
        if len(both) >= 10:
            this, other = zip(*both, strict=True)
            print(
                f"{program:18} {np.median(this):7.1f} ns, there {np.median(other):7.1f} ns; ratio "
                f"{paired_ratio(this, other)}"
            )


if __name__ == "__main__":
    main()
