"""Hold `whylate bound --analytic` against the worst that an adversarial search of phases finds.

    python bench/bound_faults.py DIRECTORY [--jobs N]

Each set of faults is measured on the virtual board pc in virtual time, 4 s with an interval of
250 µs and 4 s with one of 2 ms, and bounded by both, by each, and by the windows of both without
the running maxima. Then its worst is searched
for: all its faults act every 10.003 ms without jitter, so that they come in each phase between two
activations, 1 µs apart; of two faults the distance is searched as well. What is in DIRECTORY
already is not measured again. Prints a table: docs/benchmarks.md has its figures. It takes about
15 s a run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from whylate.compare.analytic import AnalyticBound, analytic_bound
from whylate.recording.reader import open_recording
from whylate.stats.run.ordered import merge_ordered, sort_series

#: A fault: its name, its size in µs, and its other parameters.
FAULTS: dict[str, tuple[str, int, str]] = {
    "bulk": ("bulk-lock", 300, ""),
    "irqs": ("irqs-off", 120, "period_us=9000"),
    "task": ("rt-task", 250, "period_us=11000"),
    "preempt": ("preempt-off", 150, ""),
    "irq": ("slow-irq", 80, ""),
    "softirq": ("softirq-storm", 200, ""),
    "rcu": ("rcu-free", 200, ""),
    "ipi": ("self-ipi", 150, ""),
    "poll": ("long-poll", 200, ""),
    "printk": ("printk", 200, "period_us=40000"),
}
PAIRS = (
    ("bulk", "irq"),
    ("irqs", "softirq"),
    ("task", "preempt"),
    ("preempt", "irq"),
    ("irqs", "task"),
    ("softirq", "preempt"),
)
SETS: tuple[tuple[str, ...], ...] = (*((name,) for name in FAULTS), *PAIRS)
SEED = 3
INTERVALS = ("250us", "2ms")
#: While the worst is searched for: the period of all faults, which is 3 µs more than 40 intervals.
SEARCH_PERIOD_US = 10_003
#: First distances of two faults, in sizes of the second, if negative, else of the first.
DISTANCES = (-0.4, 0.02, 0.5)


@dataclass(frozen=True)
class Run:
    """A run to be made: its name, and what measure is called with."""

    name: str
    arguments: tuple[str, ...]
    faults: tuple[str, ...]


def recorded(names: tuple[str, ...]) -> list[Run]:
    """Return the runs that the bounds are from."""
    faults = tuple(_words(name, FAULTS[name][2], f"seed={SEED}") for name in names)
    return [
        Run(f"{'+'.join(names)}-{interval}", ("--for", "4s", "--interval", interval), faults)
        for interval in INTERVALS
    ]


def searched(names: tuple[str, ...], distance_us: int) -> Run:
    """Return a run of the search, in which the second fault begins so much after the first."""
    phases_us = (max(0, -distance_us), max(0, distance_us))
    faults = tuple(
        _words(
            name, f"period_us={SEARCH_PERIOD_US}", "jitter_us=0", f"phase_us={phase_us}", "seed=1"
        )
        for name, phase_us in zip(names, phases_us, strict=False)
    )
    name = f"{'+'.join(names)}-search{distance_us:+d}"
    return Run(name, ("--for", "2s", "--interval", "250us"), faults)


def _words(name: str, *parameters: str) -> str:
    fault, size_us, _ = FAULTS[name]
    return " ".join(word for word in (fault, f"size_us={size_us}", *parameters) if word)


def measure(place: Path, run: Run) -> None:
    """Make a recording that is not there yet."""
    directory = place / run.name
    if not (directory / "manifest.json").exists():
        # One that was broken off.
        shutil.rmtree(directory, ignore_errors=True)
        command = [
            *(sys.executable, "-m", "whylate", "measure", "pc", "--virtual-time", "--smp", "1"),
            *("--threshold", "30us", "--seed", str(SEED), "-o", str(directory), *run.arguments),
        ]
        for fault in run.faults:
            command += ["--fault", fault]
        # A board is one run's at a time, of those that keep theirs in one place.
        with tempfile.TemporaryDirectory(prefix="whylate-") as own:
            environment = os.environ | {"WHYLATE_RUN": own}
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def first_searched(names: tuple[str, ...]) -> list[tuple[int, Run]]:
    """Return the first runs of the search, by the distance of two faults in µs."""
    if len(names) == 1:
        return [(0, searched(names, 0))]
    sizes_us = FAULTS[names[1]][1], FAULTS[names[0]][1]
    distances_us = [round(part * sizes_us[part > 0]) for part in DISTANCES]
    return [(distance_us, searched(names, distance_us)) for distance_us in distances_us]


def search(runs: Measured, names: tuple[str, ...]) -> list[int]:
    """Return the largest latencies: of the first distances, then halfway beside the best, ns."""
    first = first_searched(names)
    largest_ns = [runs.largest_ns(run) for _, run in first]
    best = largest_ns.index(max(largest_ns))
    beside = [first[i][0] for i in (best - 1, best + 1) if 0 <= i < len(first)]
    fine = [searched(names, (distance_us + first[best][0]) // 2) for distance_us in beside]
    runs.begin(fine)
    return largest_ns + [runs.largest_ns(run) for run in fine]


class Measured:
    """Runs that are being made, several at a time."""

    def __init__(self, place: Path, jobs: int) -> None:
        self._place = place
        self._jobs = ThreadPoolExecutor(jobs)
        self._made: dict[str, Future[None]] = {}

    def begin(self, runs: Sequence[Run]) -> None:
        """Make runs, after those that were begun before."""
        for run in runs:
            self._made[run.name] = self._jobs.submit(measure, self._place, run)

    def largest_ns(self, run: Run) -> int:
        """Wait for a run, and return its largest latency."""
        self._made[run.name].result()
        series = open_recording(self._place / run.name).series
        ordered = merge_ordered([sort_series(cpu) for cpu in series])
        return ordered.at_least(ordered.n - 1)


@dataclass(frozen=True)
class Outcome:
    """A set of faults: its bounds by both intervals and by each, and the worst of all runs."""

    names: tuple[str, ...]
    both: AnalyticBound
    short: AnalyticBound
    long: AnalyticBound
    worst_ns: int
    runs: int


def outcomes(place: Path, jobs: int) -> Iterator[Outcome]:
    """Yield each set of faults."""
    runs = Measured(place, jobs)
    for names in SETS:
        runs.begin([*recorded(names), *(run for _, run in first_searched(names))])
    for names in SETS:
        largest_ns = [runs.largest_ns(run) for run in recorded(names)] + search(runs, names)
        paths = [place / run.name for run in recorded(names)]
        bounds = analytic_bound(paths), analytic_bound(paths[:1]), analytic_bound(paths[1:])
        yield Outcome(names, *bounds, max(largest_ns), len(largest_ns))


def _ratio(bound_ns: int | None, worst_ns: int) -> str:
    return "none" if bound_ns is None else f"{bound_ns / worst_ns:.2f}"


def main() -> None:
    """Measure what lacks, and print a row for each set of faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.place.mkdir(parents=True, exist_ok=True)
    print("| faults | runs | worst, µs | bound, µs | ratio | at 250 µs alone | at 2 ms alone "
          "| windows alone | longest pieces |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for outcome in outcomes(options.place, options.jobs):
        both = outcome.both
        bound = "none" if both.bound_ns is None else f"{both.bound_ns / 1e3:.0f}"
        pieces = ", ".join(
            f"{piece.name} {piece.longest_ns / 1e3:.0f} × {piece.times}"
            for piece in both.pieces[:3]
        )
        bounds = both, outcome.short, outcome.long
        ratios = [_ratio(each.bound_ns, outcome.worst_ns) for each in bounds]
        ratios.append(_ratio(both.windows_bound_ns, outcome.worst_ns))
        print(
            f"| {', '.join(outcome.names)} | {outcome.runs} | {outcome.worst_ns / 1e3:.0f} | "
            f"{bound} | {' | '.join(ratios)} | {pieces} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
