"""Do the intervals of preventable shares and of effects of knobs hold what they say?

`python bench/calibrate_shares.py [--repetitions 400]`

Preventable share: 10 rounds of simulated runs (latency_model.py), with a cause that makes a known
part of the tail and without it. Effects: 8 rounds of the four combinations of two knobs, of which
the first multiplies the tail's scale, alone or only together with the second.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from calibrate_compare import compared, whole_ns
from latency_model import simulate_run
from many_studies import rate
from whylate.stats.factorial import combinations_of, factorial
from whylate.stats.prevented import Late, prevented
from whylate.stats.run_statistics import STATISTICS

Floats = NDArray[np.float64]

ROWS = 100_000
ROUNDS = 10
#: Above it an activation is late, µs: the model's p99.8.
LATE_US = 8.0
#: Parts of the tail that the cause makes.
PARTS = (0.0, 0.22, 0.5, 0.64, 0.95)
FACTOR_ROUNDS = 8


def excess(rng: np.random.Generator, left: float) -> tuple[float, int]:
    """Return what a run's late activations took beyond the ordinary, µs, and their episodes."""
    latency = simulate_run(rng, ROWS, tail_rate=2e-3 * left)
    late = latency > LATE_US
    rows = np.flatnonzero(late)
    episodes = int((np.diff(rows) > 1).sum()) + bool(rows.size)
    return float((latency[late] - latency[~late].mean()).sum()), episodes


def side(rng: np.random.Generator, left: float) -> Late:
    """Return one side of an experiment."""
    found = [excess(rng, left) for _ in range(ROUNDS)]
    return Late(np.array([one for one, _ in found]), np.array([count for _, count in found]))


def shares(repetitions: int) -> None:
    """Print how often the interval of a preventable share holds it."""
    rng = np.random.default_rng(17)
    whole = np.mean([excess(rng, 1.0)[0] for _ in range(2000)])
    for part in PARTS:
        left = np.mean([excess(rng, 1 - part)[0] for _ in range(2000)])
        truth = 1 - left / whole
        held, width = [], []
        for number in range(repetitions):
            rng = np.random.default_rng([18, round(100 * part), number])
            found = prevented(side(rng, 1.0), side(rng, 1 - part))
            if found.low is not None and found.high is not None:
                held.append(bool(found.low <= truth <= found.high))
                width.append(found.high - found.low)
        print(
            f"preventable share {truth:.3f}: held by {rate(held)}, median width "
            f"{np.median(width):.3f}; none in {repetitions - len(held)}",
            flush=True,
        )


def values(rng: np.random.Generator, **changed: float) -> Floats:
    """Return what is compared of a run, shape (statistics,)."""
    return np.array(compared(whole_ns(simulate_run(rng, ROWS, **changed))))


#: What the first of two knobs does, and with which settings of both.
EFFECTS = {
    "neither knob does anything": (),
    "the first knob makes the tail × 1.4": ((1, 0), (1, 1)),
    "the first knob does so with the second alone": ((1, 1),),
}


def effects(repetitions: int) -> None:
    """Print how often the intervals of effects hold them, and how often they are called."""
    settings = np.array(combinations_of(2))
    weights = np.array([one.weight for one in STATISTICS])
    rng = np.random.default_rng(19)
    base, wide = (
        np.mean([values(rng, tail_scale=scale) for _ in range(3000)], axis=0)
        for scale in (12.0, 16.8)
    )
    signs = 2.0 * settings - 1
    columns = np.column_stack([signs[:, 0], signs[:, 1], signs.prod(axis=1)]) / 2
    for name, where in EFFECTS.items():
        tails = [16.8 if tuple(one) in where else 12.0 for one in settings.tolist()]
        truth = columns.T @ np.array([wide if one > 12 else base for one in tails])
        held, called = [], []
        for number in range(repetitions):
            rng = np.random.default_rng([20, len(name), number])
            found = factorial(
                np.array([values(rng, tail_scale=one) for one in np.repeat(tails, FACTOR_ROUNDS)]),
                np.repeat(settings, FACTOR_ROUNDS, axis=0),
                np.tile(np.arange(FACTOR_ROUNDS), len(settings)),
                weights,
                rng,
            )
            held.append((found.low <= truth) & (truth <= found.high))
            called.append(found.adjusted <= 0.05)
        none = np.abs(truth).max(axis=1) < 1e-9
        print(f"{name}: intervals hold (first, second, both together)")
        for column, one in enumerate(STATISTICS):
            print(f"  {one.name:7} {np.mean(held, axis=0)[:, column].round(3).tolist()}")
        print(f"  called {np.mean(called, axis=0).round(3).tolist()}", flush=True)
        if none.any():
            print(f"  any called that is none: {rate([bool(one[none].any()) for one in called])}")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    options = parser.parse_args()
    shares(options.repetitions)
    effects(options.repetitions)


if __name__ == "__main__":
    main()
