"""How often do the intervals of forecasts hold, and what do two published machines share?

`python bench/calibrate_forecasts.py [--each 20] [--csv tests/compare/published/hpet_aim7.csv]`

Sweeps are drawn from a law, with log-normal noise in each number of threads. Both models of scaling
are fitted to up to 8 or 12 threads, and asked for twice and four times as many; a forecast is held
against a measurement with the same noise. The published rows are of two machines whose readers of
one timer either read it each or shared readings: the network of the first predicts the second.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whylate.predict.forecast import Predict
from whylate.predict.laws import expect_by_law, expect_by_network
from whylate.stats.scaling.coherence import SharedRow, coherent_throughput, leave_one_out
from whylate.stats.scaling.universal import universal_throughput

Truth = Callable[[int], float]

TRUTHS: dict[str, Truth] = {
    "closed network": lambda n: coherent_throughput(n, 6.0, 1.0, 0.0),
    "closed network with coherence": lambda n: coherent_throughput(n, 12.0, 1.0, 0.01),
    "universal law": lambda n: universal_throughput(n, 1.0, 0.05, 0.001),
    "contention alone (Amdahl)": lambda n: universal_throughput(n, 1.0, 0.1, 0.0),
}
MODELS: dict[str, Predict] = {
    "scaling": lambda counts, values, at: expect_by_law(counts, values, at, 0.0),
    "clock": lambda counts, values, at: expect_by_network(counts, values, at, 0.0),
}
SWEEPS = ((1, 2, 3, 4, 6, 8), (1, 2, 4, 6, 8, 12))
NOISES = (0.01, 0.03)


@dataclass
class Tally:
    """Forecasts of one model under one truth."""

    made: int = 0
    held: int = 0
    refused: int = 0
    worst: float = 1.0


def forecasts(each: int) -> Iterator[tuple[str, str, bool | None, float]]:
    """Yield truth, model, whether the interval held (None: refused), and measured to predicted."""
    rng = np.random.default_rng(2027)
    for name, truth in TRUTHS.items():
        for counts in SWEEPS:
            for noise in NOISES:
                for _ in range(each):
                    values = tuple(
                        truth(n) * math.exp(noise * rng.standard_normal()) for n in counts
                    )
                    at = max(counts) * int(rng.choice((2, 4)))
                    measured = truth(at) * math.exp(noise * rng.standard_normal())
                    for model, predict in MODELS.items():
                        try:
                            expected = predict(counts, values, at)
                        except ValueError:
                            yield name, model, None, 1.0
                            continue
                        held = expected.low <= measured <= expected.high
                        yield name, model, held, measured / expected.value


def print_simulated(each: int) -> None:
    """Print how often intervals held, by truth and model."""
    tallies: dict[tuple[str, str], Tally] = {}
    for truth, model, held, ratio in forecasts(each):
        tally = tallies.setdefault((truth, model), Tally())
        if held is None:
            tally.refused += 1
            continue
        tally.made += 1
        tally.held += held
        tally.worst = max(tally.worst, ratio, 1 / ratio)
    print("| sweep drawn from | model | forecasts | held | refused | off by at most |")
    print("|---|---|---|---|---|---|")
    for (truth, model), tally in tallies.items():
        share = f"{tally.held} ({tally.held / max(1, tally.made):.0%})"
        counts = f"{tally.made} | {share} | {tally.refused}"
        print(f"| {truth} | {model} | {counts} | × {tally.worst:.2f} |")
    made = sum(tally.made for tally in tallies.values())
    print(f"{sum(tally.held for tally in tallies.values())} of {made} intervals held")


def print_published(path: Path) -> None:
    """Print the coherence terms of published rows, and what each predicts of the other."""
    rows = list(csv.DictReader(path.read_text().splitlines()))
    machines = []
    for cpus in dict.fromkeys(row["cpus"] for row in rows):
        by = {row["clocksource"]: float(row["jobs_per_min"]) for row in rows if row["cpus"] == cpus}
        machines.append(
            SharedRow(int(cpus), by["hpet direct"] / by["tsc"], by["hpet shared"] / by["tsc"])
        )
    for machine, off in zip(machines, leave_one_out(machines), strict=True):
        print(
            f"{machine.cpus} CPUs: published {machine.shared:.4f}; predicted without a coherence "
            f"term {machine.predicted(0.0):.4f}; its own term {machine.coherence():.4f} a CPU; "
            f"with the term of the other machine off by {off:+.4f}"
        )
    shared = [term / 10_000 for term in range(200) if _satisfies(machines, term / 10_000)]
    ends = f"{min(shared):.4f} to {max(shared):.4f}" if shared else "none"
    factor = machines[1].coherence() / machines[0].coherence()
    print(
        "One coherence term a CPU for both machines cannot be had from other data: theirs differ "
        f"by a factor of {factor:.0f}. Chosen by looking at both, {ends} would keep within .005 "
        "and .02."
    )


def _satisfies(machines: list[SharedRow], term: float) -> bool:
    bars = {72: 0.005, 240: 0.02}
    return all(
        abs(machine.predicted(term) - machine.shared) <= bars.get(machine.cpus, 0.02)
        for machine in machines
    )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=20, help="sweeps of a kind")
    parser.add_argument("--csv", type=Path, default=Path("tests/compare/published/hpet_aim7.csv"))
    options = parser.parse_args()
    print_published(options.csv)
    print_simulated(options.each)


if __name__ == "__main__":
    main()
