"""Do the intervals of preventable shares and of effects of knobs hold what they say?

`make bench-calibrate_shares ARGS='--repetitions 400 --write'`

Preventable share: 10 rounds of simulated runs (latency_model.py), with a cause that makes a known
part of the tail and without it. Effects: 8 rounds of the four combinations of two knobs, of which
the first multiplies the tail's scale, alone or only together with the second. With --write the
tables are written to calibration.md.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calibrate_compare import compared, whole_ns
from latency_model import simulate_run
from page_tables import write_tables
from rates import rate
from whylate.stats.comparison.factorial import Effects, combinations_of, fit_effects
from whylate.stats.comparison.preventable import LateTime, estimate_preventable_share
from whylate.stats.comparison.run_statistics import STATISTICS

Floats = NDArray[np.float64]

ROWS = 100_000
ROUNDS = 10
#: Above it an activation is late, µs: the model's p99.8.
LATE_US = 8.0
#: Parts of the tail that the cause makes.
PARTS = (0.0, 0.22, 0.5, 0.64, 0.95)
FACTOR_ROUNDS = 8
#: Scales of the tail, µs.
BASE, WIDE = 12.0, 16.8
#: What the first of two knobs does, and with which settings of both.
EFFECTS = {
    "neither knob does anything": (),
    "the first knob makes the tail × 1.4": ((1, 0), (1, 1)),
    "the first knob does so with the second alone": ((1, 1),),
}
#: What is the truth is the mean of so many parts of so many runs.
TRUTH_PARTS, TRUTH_RUNS = 8, 250


def excess(rng: np.random.Generator, left: float) -> tuple[float, int]:
    """Return what a run's late activations took as excess, µs, and their episodes."""
    latency = simulate_run(rng, ROWS, tail_rate=2e-3 * left)
    late = latency > LATE_US
    rows = np.flatnonzero(late)
    episodes = int((np.diff(rows) > 1).sum()) + bool(rows.size)
    return float((latency[late] - latency[~late].mean()).sum()), episodes


def side(rng: np.random.Generator, left: float) -> LateTime:
    """Return one side of an experiment."""
    found = [excess(rng, left) for _ in range(ROUNDS)]
    return LateTime(
        np.array([excess for excess, _ in found]), np.array([count for _, count in found])
    )


def true_excess(left: float, number: int) -> float:
    """Return the mean excess of many runs, µs."""
    rng = np.random.default_rng([17, number])
    return float(np.mean([excess(rng, left)[0] for _ in range(TRUTH_RUNS)]))


def share(part: float, number: int) -> tuple[float, float] | None:
    """Return the interval of one experiment; None: it has none."""
    rng = np.random.default_rng([18, round(100 * part), number])
    found = estimate_preventable_share(side(rng, 1.0), side(rng, 1 - part))
    return None if found.low is None or found.high is None else (found.low, found.high)


def shares(repetitions: int, pool: Executor) -> list[str]:
    """Return how often the interval of a preventable share holds it, as lines of Markdown."""
    lines = [
        "| preventable share | its interval holds it | median width | no interval |",
        "|---|---|---|---|",
    ]
    whole = np.mean(list(pool.map(partial(true_excess, 1.0), range(TRUTH_PARTS))))
    for part in PARTS:
        left = np.mean(list(pool.map(partial(true_excess, 1 - part), range(TRUTH_PARTS))))
        truth = float(1 - left / whole)
        found = list(pool.map(partial(share, part), range(repetitions), chunksize=10))
        given = [share for share in found if share is not None]
        held = rate([low <= truth <= high for low, high in given])
        width = np.median([high - low for low, high in given])
        lines.append(f"| {truth:.3f} | {held} | {width:.3f} | {repetitions - len(given)} |")
    return lines


def values(rng: np.random.Generator, scale: float) -> Floats:
    """Return what is compared of a run, shape (statistics,)."""
    return np.array(compared(whole_ns(simulate_run(rng, ROWS, tail_scale=scale))))


def true_values(scale: float, number: int) -> Floats:
    """Return the mean of what is compared of many runs, shape (statistics,)."""
    rng = np.random.default_rng([19, round(scale), number])
    mean: Floats = np.mean([values(rng, scale) for _ in range(TRUTH_RUNS)], axis=0)
    return mean


def effect(name: str, number: int) -> Effects:
    """Return what one study of two knobs finds."""
    settings = np.array(combinations_of(2))
    tails = [WIDE if tuple(setting) in EFFECTS[name] else BASE for setting in settings.tolist()]
    rng = np.random.default_rng([20, list(EFFECTS).index(name), number])
    return fit_effects(
        np.array([values(rng, tail) for tail in np.repeat(tails, FACTOR_ROUNDS)]),
        np.repeat(settings, FACTOR_ROUNDS, axis=0),
        np.tile(np.arange(FACTOR_ROUNDS), len(settings)),
        np.array([statistic.weight for statistic in STATISTICS]),
        rng,
    )


def effects(repetitions: int, pool: Executor) -> list[str]:
    """Return how often the intervals of effects hold them, and how often they are called."""
    settings = np.array(combinations_of(2))
    base, wide = (
        np.mean(list(pool.map(partial(true_values, scale), range(TRUTH_PARTS))), axis=0)
        for scale in (BASE, WIDE)
    )
    signs = 2.0 * settings - 1
    columns = np.column_stack([signs[:, 0], signs[:, 1], signs.prod(axis=1)]) / 2
    names = " | ".join(statistic.name for statistic in STATISTICS)
    lines = [
        f"| two knobs | effect | {names} | called |",
        "|---" * (len(STATISTICS) + 3) + "|",
    ]
    for name, where in EFFECTS.items():
        levels = [wide if tuple(setting) in where else base for setting in settings.tolist()]
        truth = columns.T @ np.array(levels)
        found = list(pool.map(partial(effect, name), range(repetitions), chunksize=10))
        held = np.mean(
            [(effects.low <= truth) & (truth <= effects.high) for effects in found], axis=0
        )
        called = np.array([effects.adjusted <= 0.05 for effects in found])
        for row, of in enumerate(("of the first", "of the second", "of both together")):
            cells = " | ".join(f"{share:.3f}" for share in held[row])
            lines.append(f"| {name} | {of} | {cells} | {rate(called[:, row].tolist())} |")
        none = np.abs(truth).max(axis=1) < 1e-9
        if none.any():
            wrong = rate([bool(significant[none].any()) for significant in called])
            lines.append(f"| | any that is none |{' |' * len(STATISTICS)} {wrong} |")
    return lines


def main() -> None:
    """Simulate and print; write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write calibration.md")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        lines = [*shares(options.repetitions, pool), "", *effects(options.repetitions, pool)]
    print("\n".join(lines))
    if options.write:
        write_tables("calibrate_shares", lines)


if __name__ == "__main__":
    main()
