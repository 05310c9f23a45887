"""How often do the intervals of forecasts hold, and what do two published machines share?

`python bench/calibrate_forecasts.py [--each 20] [--csv tests/compare/published/hpet_aim7.csv]
[--removed DIR] [--sweeps DIR]...`

Sweeps are drawn from a law, with log-normal noise in each number of threads. Both models of scaling
are fitted to up to 8 or 12 threads, and asked for twice and four times as many; a forecast is held
against a measurement with the same noise. The published rows are of two machines whose readers of
one timer either read it each or shared readings: the network of the first predicts the second.

Forecasts from recordings are counted apart from simulated ones. --removed: recordings that
bench/removed_faults.py made; what is left without a fault is predicted, and held against a run
without it. --sweeps: recordings of benchmarks with a number that was swept; each number is
predicted from all others.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from removed_faults import Outcome, outcomes
from whylate.predict.forecast import Predict
from whylate.predict.laws import expect_by_law, expect_by_network
from whylate.predict.score import find_recordings
from whylate.predict.sweep import Sweep
from whylate.predict.workloads import read_sweeps, reads_one_device
from whylate.recording.errors import RecordingError
from whylate.recording.reader import open_recording
from whylate.stats.limits import binomial_limits
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


def print_removed(place: Path) -> tuple[int, int]:
    """Print how forecasts without faults did; return how many were made and how many held."""
    tallies: dict[tuple[str, str], Tally] = {}
    for outcome in outcomes(place):
        tally = tallies.setdefault((_kind(outcome), outcome.figure), Tally())
        if outcome.holds is None:
            tally.refused += 1
            continue
        tally.made += 1
        tally.held += outcome.holds
    return _print_tallies("removed", "figure", tallies)


def _kind(outcome: Outcome) -> str:
    if outcome.case.speed is not None:
        return "made faster"
    faults, causes = len(outcome.case.faults), len(outcome.case.causes)
    return {(1, 1): "the only fault", (2, 2): "both faults"}.get((faults, causes), "one of two")


def print_sweeps(places: list[Path]) -> tuple[int, int]:
    """Print how each number of a sweep is predicted from all others, by board and model."""
    tallies: dict[tuple[str, str], Tally] = {}
    for path in (path for place in places for path in find_recordings(place)):
        try:
            recording = open_recording(path)
            sweeps = read_sweeps(recording)
        except RecordingError:
            continue
        for sweep in sweeps:
            network = reads_one_device(recording) and not sweep.change
            for model, predict in _models(sweep, network=network).items():
                tally = tallies.setdefault(
                    (f"{recording.manifest.board}: {sweep.label}", model), Tally()
                )
                _leave_out(sweep, predict, tally)
    return _print_tallies("sweep", "model", tallies)


def _models(sweep: Sweep, *, network: bool) -> dict[str, Predict]:
    spread = sweep.sampling_sd
    models: dict[str, Predict] = {
        "scaling": lambda counts, values, at: expect_by_law(counts, values, at, spread)
    }
    if network:
        models["clock"] = lambda counts, values, at: expect_by_network(counts, values, at, spread)
    return models


def _leave_out(sweep: Sweep, predict: Predict, tally: Tally) -> None:
    for place, measured in zip(sweep.counts, sweep.values, strict=True):
        kept = [pair for pair in zip(sweep.counts, sweep.values, strict=True) if pair[0] != place]
        try:
            expected = predict(tuple(n for n, _ in kept), tuple(v for _, v in kept), place)
        except ValueError:
            tally.refused += 1
            continue
        tally.made += 1
        tally.held += expected.low <= measured <= expected.high
        tally.worst = max(tally.worst, measured / expected.value, expected.value / measured)


def _print_tallies(
    name: str, column: str, tallies: dict[tuple[str, str], Tally]
) -> tuple[int, int]:
    print(f"| {name} | {column} | forecasts | held | refused |\n|---|---|---|---|---|")
    for (what, which), tally in tallies.items():
        share = f"{tally.held} ({tally.held / max(1, tally.made):.0%})"
        print(f"| {what} | {which} | {tally.made} | {share} | {tally.refused} |")
    return (
        sum(tally.made for tally in tallies.values()),
        sum(tally.held for tally in tallies.values()),
    )


def main() -> None:
    """Print all that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=20, help="sweeps of a kind; 0: none")
    parser.add_argument("--csv", type=Path, default=Path("tests/compare/published/hpet_aim7.csv"))
    parser.add_argument("--removed", type=Path, help="recordings of removed_faults.py")
    parser.add_argument("--sweeps", type=Path, action="append", default=[])
    options = parser.parse_args()
    if options.each:
        print_published(options.csv)
        print_simulated(options.each)
    counts = [print_removed(options.removed)] if options.removed else []
    counts += [print_sweeps(options.sweeps)] if options.sweeps else []
    made, held = sum(made for made, _ in counts), sum(held for _, held in counts)
    if made:
        low, high = binomial_limits(held, made, 0.95)
        print(f"{held} of {made} from recordings held, {held / made:.1%} [{low:.1%}, {high:.1%}]")


if __name__ == "__main__":
    main()
