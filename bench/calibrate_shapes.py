"""How often are runs of one shape split by their shapes, and how often runs of two?

`make bench-calibrate_shapes ARGS='--repetitions 400 --write'`

Runs of latency_model.py: of one shape they differ in their medians alone, by 30 % from one to the
next. Falsely split is a set of them that has more than one group. With --write the tables are
written to calibration.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from latency_model import simulate_run
from page_tables import write_tables
from rates import rate
from whylate.recording.reader import open_recording
from whylate.stats.comparison.shapes import group_shapes
from whylate.stats.run.in_time import rows_in_time

Latencies = NDArray[np.int64]

#: Runs, rows of each, and the step of the clock, ns.
ONE_SHAPE = (
    (2, 1_000, 1), (2, 10_000, 1), (2, 100_000, 1), (4, 10_000, 1), (8, 10_000, 1),
    (2, 10_000, 1_000), (4, 10_000, 300),
)  # fmt: skip
#: By name: what differs in the second of two runs.
TWO_SHAPES: dict[str, dict[str, float]] = {
    "the body is 1.3 times as wide": {"body_sigma": 0.156},
    "the tail's rate is × 1.6": {"tail_rate": 3.2e-3},
    "the tail's rate is × 4": {"tail_rate": 8e-3},
    "the tail's scale is × 2": {"tail_scale": 24.0},
    "1 in 500 takes 30 µs more": {"rare_rate": 2e-3, "rare_excess": 30.0},
}
ROWS = (10_000, 100_000)
#: Pieces that a real run is cut into.
PIECES = 64
#: Nothing differs from run to run but the median.
SAME: dict[str, float] = {"run_median_sd": 0.0, "run_rate_sd": 0.0, "run_scale_sd": 0.0}


def run(
    rng: np.random.Generator, rows: int, times: float, step: int, what: Mapping[str, float]
) -> Latencies:
    """Return a run in order of time, ns, all of it so many times as long."""
    latency = times * 1000 * simulate_run(rng, rows, **what)
    return np.maximum(step, np.round(latency / step).astype(np.int64) * step)


def splits_one(case: tuple[int, int, int], spread: Mapping[str, float], number: int) -> bool:
    """Return whether a set of runs is split."""
    count, rows, step = case
    rng = np.random.default_rng([41, count, rows, step, len(spread), number])
    runs = [run(rng, rows, 1.3**place, step, spread) for place in range(count)]
    return len(group_shapes(runs, rng).groups) > 1


def splits_two(name: str, rows: int, number: int) -> bool:
    """Return whether two runs of different shapes are distinguished."""
    rng = np.random.default_rng([42, list(TWO_SHAPES).index(name), rows, number])
    runs = [run(rng, rows, 1.0, 1, what) for what in (SAME, {**SAME, **TWO_SHAPES[name]})]
    return len(group_shapes(runs, rng).groups) > 1


def splits_halves(values: Latencies, number: int) -> bool:
    """Return whether halves of a real run are distinguished; its pieces are dealt out at random."""
    rng = np.random.default_rng([43, number])
    pieces = np.array_split(values, PIECES)
    order = rng.permutation(PIECES)
    halves = [
        np.concatenate([pieces[place] for place in sorted(part)])
        for part in np.array_split(order, 2)
    ]
    return len(group_shapes(halves, rng).groups) > 1


def real(recordings: Sequence[Path], repetitions: int, pool: Executor) -> list[str]:
    """Return how often halves of real runs are distinguished, as lines of Markdown."""
    lines = ["| halves of | rows | falsely split |", "|---|---|---|"]
    for directory in recordings:
        values = rows_in_time(open_recording(directory).series)
        split = list(pool.map(partial(splits_halves, values), range(repetitions), chunksize=5))
        lines.append(f"| {directory.name} | {values.size:,} | {rate(split)} |")
    return lines


def tables(repetitions: int, pool: Executor) -> list[str]:
    """Return the rates as lines of Markdown."""
    lines = [
        "| runs of one shape | rows of each | clock's step | falsely split |",
        "|---|---|---|---|",
    ]
    for case in ONE_SHAPE:
        split = list(pool.map(partial(splits_one, case, SAME), range(repetitions), chunksize=5))
        count, rows, step = case
        lines.append(f"| {count} | {rows:,} | {step:,} ns | {rate(split)} |")
    spread = list(
        pool.map(partial(splits_one, (4, 100_000, 1), {}), range(repetitions // 4), chunksize=5)
    )
    lines += ["", "| two shapes | " + " | ".join(f"{rows:,} rows" for rows in ROWS) + " |"]
    lines.append("|---|---|---|")
    for name in TWO_SHAPES:
        cells = [
            rate(list(pool.map(partial(splits_two, name, rows), range(repetitions // 4))))
            for rows in ROWS
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append(f"| 4 runs that differ as boots do (the model's own spread) | | {rate(spread)} |")
    return lines


def main() -> None:
    """Simulate and print; write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--recordings", type=Path, nargs="*", default=[], help="halve these instead"
    )
    parser.add_argument("--write", action="store_true", help="write calibration.md")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.recordings:
            print("\n".join(real(options.recordings, options.repetitions, pool)))
            return
        lines = tables(options.repetitions, pool)
    print("\n".join(lines))
    if options.write:
        write_tables("calibrate_shapes", lines)


if __name__ == "__main__":
    main()
