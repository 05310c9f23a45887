"""How often does `soak --compare` name one of two equal sides, and how often the worse of two?

`make bench-calibrate_crashes ARGS='--repetitions 20000 --write'`

Pairs of passes that crash at stated rates, looked at after every pair until a side is named or the
budget is over. With --write the table is written to calibration.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.special import bdtr

from page_tables import write_tables
from rates import rate
from whylate.stats.arrays import Floats, Int64s
from whylate.stats.comparison.rarer_side import ALPHA, least_counts

#: The budget of a comparison, in pairs.
PAIRS = 1000
#: The chance to crash of either side, by pair.
Rates = Callable[[Floats], tuple[Floats, Floats]]


def same(chance: Callable[[Floats], Floats]) -> Rates:
    """Return rates that are the same on both sides."""
    return lambda when: (chance(when), chance(when))


#: By name; the argument rises from 0 to 1 over the budget.
CASES: dict[str, Rates] = {
    "both crash in 1 of 100": same(lambda when: np.full_like(when, 0.01)),
    "both crash in 1 of 10": same(lambda when: np.full_like(when, 0.1)),
    "both crash in 6 of 10": same(lambda when: np.full_like(when, 0.6)),
    "both from 0 to 1 of 5": same(lambda when: 0.2 * when),
    "both in bursts": same(lambda when: np.where((when * 20) % 1 < 0.1, 0.5, 0.002)),
    "0 v 1 of 50": lambda when: (np.zeros_like(when), np.full_like(when, 0.02)),
    "1 of 100 v 3 of 100": lambda when: (np.full_like(when, 0.01), np.full_like(when, 0.03)),
    "1 of 10 v 2 of 10": lambda when: (np.full_like(when, 0.1), np.full_like(when, 0.2)),
}


def simulate(rng: np.random.Generator, rates: Rates) -> tuple[str | None, int, bool]:
    """Return the side that is named, after how many pairs, and whether peeking at 5 % names any."""
    first, second = rates(np.linspace(0, 1, PAIRS))
    crashed = rng.random((2, PAIRS)) < np.array([first, second])
    # Nothing changes after the other pairs.
    counted = np.flatnonzero(crashed[0] != crashed[1])
    alone: Int64s = np.cumsum(crashed[:, counted], axis=1, dtype=np.int64)
    rarer, oftener = alone.min(axis=0), alone.max(axis=0)
    peeked = bool((2 * bdtr(rarer, rarer + oftener, 0.5) < ALPHA).any())
    least = np.array(least_counts(int(rarer.max(initial=0))))
    decided = np.flatnonzero(oftener >= least[rarer])
    if not decided.size:
        return None, PAIRS, peeked
    at = int(decided[0])
    return ("A" if alone[0, at] > alone[1, at] else "B"), int(counted[at]) + 1, peeked


def main() -> None:
    """Simulate every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    lines = [
        "| crashes of A and B | a side is named | A | B | pairs | exact test at 5 % after each |",
        "|---|---|---|---|---|---|",
    ]
    for name, rates in CASES.items():
        ended = [simulate(rng, rates) for _ in range(options.repetitions)]
        sides = [side for side, _, _ in ended]
        named = rate([side is not None for side in sides])
        of_each = " | ".join(f"{sides.count(which) / len(sides):.3f}" for which in "AB")
        pairs = np.mean([after for _, after, _ in ended])
        peeked = rate([peek for *_, peek in ended])
        lines.append(f"| {name} | {named} | {of_each} | {pairs:.0f} | {peeked} |")
        print(lines[-1], flush=True)
    if options.write:
        write_tables("calibrate_crashes", lines)


if __name__ == "__main__":
    main()
