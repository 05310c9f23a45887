"""Does the interval of an extrapolation hold the truth, and is the gate closed where it must be?

    python bench/calibrate_extrapolation.py [--repetitions 200] [--only TEXT] [--write]

Each repetition simulates runs of 100,000 activations (latency_model.py) and asks for the latency
that is exceeded once in the longest time that the gate allows. The truth is integrated, not
simulated. What was simulated is kept and not simulated again: ended early, it goes on. After a
change of the method remove what is kept. With --write the table is written to calibration.md.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr

from calibrate_compare import ROWS
from latency_model import simulate_run
from page_tables import write_tables
from rates import rate
from result_book import ResultBook, Row
from whylate.compare.extrapolation import extrapolate
from whylate.recording.samples import CpuSamples
from whylate.stats.run.extremes import estimate_extremal_index
from whylate.stats.run.ordered import sort_series
from whylate.stats.tail.return_level import (
    RunTail,
    estimate_return_level,
    most_episodes,
    summarize_tail,
)

INTERVAL_NS = 1_000_000


@dataclass(frozen=True)
class Part:
    """A situation. settings: of all runs; last: what the last run has instead, in equal ratios."""

    runs: int = 10
    settings: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)

    def of_run(self, number: int) -> dict[str, float]:
        """Return the settings of one run."""
        moment = number / (self.runs - 1)
        own = dict(self.settings)
        for name, value in self.last.items():
            first = self.settings.get(name, MODEL[name])
            # `drift` is a logarithm itself.
            moved = first + (value - first) * moment
            own[name] = moved if name == "drift" else first * (value / first) ** moment
        return own


#: Of the model, what the truth depends on.
MODEL = {
    "median": 5.0, "body_sigma": 0.12, "run_median_sd": 0.02, "tail_rate": 2e-3,
    "tail_scale": 12.0, "tail_shape": 0.2, "run_scale_sd": 0.15, "drift": 0.0, "rare_rate": 0.0,
    "rare_excess": 400.0,
}  # fmt: skip
RARE = {"rare_excess": 400.0}
PARTS = {
    "10 runs": Part(),
    "20 runs": Part(20),
    "10 runs, exponential tail": Part(settings={"tail_shape": 1e-6}),
    "10 runs, shape 0.4": Part(settings={"tail_shape": 0.4}),
    "10 runs, no clusters": Part(settings={"cluster_length": 1.0}),
    "the median rises by half": Part(last={"drift": 0.5}),
    "the tail's rate doubles": Part(last={"tail_rate": 4e-3}),
    "the tail's scale doubles": Part(last={"tail_scale": 24.0}),
    "a second mode, 1 in a million": Part(settings={"rare_rate": 1e-6, **RARE}),
    "a second mode, 3 in a million": Part(settings={"rare_rate": 3e-6, **RARE}),
    "a second mode, 10 in a million": Part(settings={"rare_rate": 1e-5, **RARE}),
}


def rate_above(level_us: float, settings: dict[str, float]) -> float:
    """Return the part of activations above a level: integrated over the body and over runs."""
    has = MODEL | settings
    node, weight = hermegauss(48)
    weight = weight / weight.sum()
    body = has["median"] * np.exp(has["drift"] + np.hypot(has["body_sigma"], 0.02) * node)
    scale = has["tail_scale"] * np.exp(has["run_scale_sd"] * node)
    excess = np.maximum(0, level_us - body)[:, None] / scale[None, :]
    late = (1 + has["tail_shape"] * excess) ** (-1 / has["tail_shape"])
    above = has["tail_rate"] * float(weight @ late @ weight)
    if has["rare_rate"]:
        beyond = np.maximum(1e-9, level_us - body) / has["rare_excess"]
        above += has["rare_rate"] * float(weight @ ndtr(-np.log(beyond) / 0.2))
    return above


def truth_us(part: Part, every_s: float) -> float:
    """Return the latency that one activation in so long a time exceeds, over all runs."""
    low, high = 1.0, 1e6
    rows = every_s * 1e9 / INTERVAL_NS
    each = [part.of_run(number) for number in range(part.runs if part.last else 1)]
    for _ in range(50):
        middle = (low * high) ** 0.5
        above = np.mean([rate_above(middle, run) for run in each])
        low, high = (middle, high) if above * rows > 1 else (low, middle)
    return low


def simulated(part: Part, rng: np.random.Generator) -> list[RunTail]:
    """Simulate runs, and read them as recordings are read."""
    found = []
    for number in range(part.runs):
        latency = simulate_run(rng, ROWS, **part.of_run(number))
        cpu = CpuSamples(
            0, 0, INTERVAL_NS, np.arange(ROWS), np.round(latency * 1000).astype(np.int64),
            np.zeros(ROWS, bool),
        )  # fmt: skip
        ordered = sort_series(cpu)
        index = estimate_extremal_index(ordered, [cpu], "episodes")
        found.append(summarize_tail(ordered, [cpu], index.cautious if index else None))
    return found


def repetition(name: str, number: int) -> Row:
    """Simulate and extrapolate; the repetition has numbers of its own, whatever came before."""
    part = PARTS[name]
    runs = simulated(part, np.random.default_rng([8, list(PARTS).index(name), number]))
    every_s = 10 * sum(run.seconds * (run.theta or 0.01) for run in runs) * 0.999
    found = extrapolate(runs, every_s)
    level = estimate_return_level(runs, most_episodes(runs), every_s)
    return {
        "open": found.level_ns is not None,
        "closed_by": [check.name for check in found.checks if check.outcome == "failed"],
        "every_s": every_s,
        "level": [level.low_ns / 1e3, level.level_ns / 1e3, level.high_ns / 1e3],
        "truth": truth_us(part, every_s),
    }


def holds(row: Row) -> bool:
    """Whether the interval, said or not, holds the truth."""
    low, _, high = row["level"]
    return bool(low <= row["truth"] <= high)


def table(book: ResultBook) -> list[str]:
    """Return what was found, as lines of Markdown."""
    head = (
        "situation", "the gate is open", "then the interval holds", "too low", "too high",
        "without the gate it holds", "width", "closed by",
    )  # fmt: skip
    lines = [
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
    ]
    for name in PARTS:
        rows = book.rows(name)
        if not rows:
            continue
        said = [row for row in rows if row["open"]]
        closed = Counter(check for row in rows for check in row["closed_by"])
        by = ", ".join(f"{check} {count / len(rows):.2f}" for check, count in closed.most_common(4))
        cells = [name, rate([row["open"] for row in rows])]
        if said:
            low, high = (np.array([row["level"][end] for row in said]) for end in (0, 2))
            truth = np.array([row["truth"] for row in said])
            cells += [
                rate([holds(row) for row in said]),
                f"{np.mean(high < truth):.3f}",
                f"{np.mean(low > truth):.3f}",
            ]
        else:
            cells += ["–"] * 3
        cells.append(rate([holds(row) for row in rows]))
        ratio = np.median([(row["level"][2] / row["level"][0]) ** 0.5 for row in said or rows])
        lines.append(f"| {' | '.join(cells)} | × {ratio:.2f} | {by or '–'} |")
    return lines


def main() -> None:
    """Simulate and print; write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument(
        "--results", type=Path, default=Path("build/bench/calibrate_extrapolation.jsonl")
    )
    parser.add_argument("--only", default="", help="situations with this in their name")
    parser.add_argument("--write", action="store_true", help="write calibration.md")
    options = parser.parse_args()
    book = ResultBook(
        options.results, {"rows": ROWS, "parts": {name: repr(item) for name, item in PARTS.items()}}
    )
    for name in PARTS:
        began = time.monotonic()
        missing = range(len(book.rows(name)), options.repetitions)
        if options.only not in name or not missing:
            continue
        for number in missing:
            book.add(name, repetition(name, number))
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    lines = table(book)
    print("\n".join(lines))
    if options.write:
        write_tables("calibrate_extrapolation", lines)


if __name__ == "__main__":
    main()
