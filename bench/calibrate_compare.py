"""Do verdicts err as often as they say? Comparisons of simulated runs whose truth is known.

`make calibration`, or `python bench/calibrate_compare.py [--repetitions 400] [--only TEXT]`

Each repetition simulates runs of 100,000 activations (latency_model.py), and has them judged as
recordings are. The false alarms of looks, which lie near the level that they must not pass, are
counted over more repetitions. What was simulated is kept and not simulated again: ended early, it
goes on. With --write the tables are written to calibration.md.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_ind_from_stats

from calibrate_quantiles import describe
from latency_model import simulate_run
from page_tables import write_tables
from rates import rate
from result_book import ResultBook, Row
from whylate.compare.judge import compare
from whylate.compare.model import Comparison, Question
from whylate.compare.runs import Arm, Run
from whylate.stats.comparison.run_statistics import STATISTICS, exact_value, statistic_of
from whylate.stats.comparison.stopping import joint_e_value, look_levels
from whylate.stats.run.ordered import Ordered
from whylate.stats.run.values import count_values

Floats = NDArray[np.float64]

ROWS = 100_000
LOOKS = (10, 20, 30)
#: How the logarithm of the median moves from the first run of a repetition to the last.
DRIFT = 0.5


@dataclass(frozen=True)
class Part:
    """A situation.

    pairs: runs a side. second: what differs on the second side. drift: over all. more: so many
    times the repetitions. stopped: the part of all runs in which a host stops the machine.
    """

    pairs: int
    second: dict[str, float] = field(default_factory=dict)
    drift: float = 0.0
    more: int = 1
    stopped: float = 0.0


#: What such a run has instead.
STOPPED = {"tail_rate": 0.04, "tail_scale": 300.0}
#: Each has numbers of its own by its place: new ones come last.
PARTS = {
    "nothing differs": Part(10),
    "nothing differs, and all drifts": Part(10, drift=DRIFT),
    "nothing differs, 6 runs a side": Part(6),
    "tail rate x1.6": Part(10, {"tail_rate": 3.2e-3}),
    "tail scale x1.4": Part(10, {"tail_scale": 16.8}),
    "rare mode 1e-5, +400 us": Part(10, {"rare_rate": 1e-5, "rare_excess": 400.0}),
    "looks: nothing differs": Part(30, more=5),
    "looks: tail scale x1.3": Part(30, {"tail_scale": 15.6}),
    "looks: tail rate x1.3": Part(30, {"tail_rate": 2.6e-3}),
    # With it the mean of the ten latest is 1.3 times as late, and p99.99 too.
    "looks: top 10 x1.3": Part(30, {"tail_scale": 16.0}),
    "nothing differs, 1 run in 8 stopped": Part(10, stopped=1 / 8),
    "tail scale x1.4, 1 run in 8 stopped": Part(10, {"tail_scale": 16.8}, stopped=1 / 8),
    "tail scale x2, 1 run in 8 stopped": Part(10, {"tail_scale": 24.0}, stopped=1 / 8),
}
#: The least power that is asked for.
#: What the sequential rule is held to: false alarms, power, and pairs on average.
ASKED_OF_LOOKS = {
    "looks: nothing differs": "at most 0.05",
    "looks: top 10 x1.3": "at least 0.95, in 24 pairs",
}
ASKED = {"tail rate x1.6": 0.43, "tail scale x1.4": 0.65, "rare mode 1e-5, +400 us": 0.58}


def whole_ns(latency_us: Floats) -> NDArray[np.int64]:
    """Return simulated latencies as a recording has them, ascending."""
    return np.sort(np.round(latency_us * 1000).astype(np.int64))


def compared(latency_ns: NDArray[np.int64]) -> list[float]:
    """Return what is compared of a run with these latencies."""
    values = count_values(latency_ns)
    found = [statistic_of(Ordered(values, values), statistic) for statistic in STATISTICS]
    return [value.compared for value in found if value is not None]


def simulate(part: Part, rng: np.random.Generator) -> Row:
    """Simulate one repetition: both sides, run by run, in turns and in random order."""
    values: list[list[list[float]]] = [[], []]
    moments: list[list[tuple[float, float]]] = [[], []]
    order = []
    for pair in range(part.pairs):
        for place, side in enumerate(rng.permutation(2).tolist()):
            moment = (2 * pair + place) / (2 * part.pairs)
            extra = part.second if side else {}
            if part.stopped and rng.random() < part.stopped:
                extra = extra | STOPPED
            latency = simulate_run(rng, ROWS, drift=part.drift * moment, **extra)
            latency_ns = whole_ns(latency)
            values[side].append([round(value, 7) for value in compared(latency_ns)])
            moments[side].append((float(latency_ns.mean()), float(latency_ns.var())))
            order.append(side)
    return {"values": values, "moments": moments, "order": order}


def sides(row: Row, pairs: int) -> tuple[Arm, Arm]:
    """Return the first pairs of a repetition as sides of a comparison."""
    made: list[list[str]] = [[], []]
    for number, side in enumerate(row["order"]):
        made[side].append(f"{number:06d}")
    first, second = (
        Arm(
            name,
            tuple(
                Run(
                    f"{name}-{number}",
                    {statistic.name: exact_value(value)
                     for statistic, value in zip(STATISTICS, values, strict=True)},
                    ROWS,
                    boot="boot",
                    made=when,
                )
                for number, (values, when) in enumerate(
                    zip(row["values"][side][:pairs], made[side][:pairs], strict=True)
                )
            ),
        )
        for side, name in enumerate(("first", "second"))
    )  # fmt: skip
    return first, second


def judged(row: Row, pairs: int, alpha: float = 0.05) -> Comparison:
    """Judge the first pairs of a repetition."""
    first, second = sides(row, pairs)
    return compare(first, second, Question(alpha=alpha))


def differs(found: Comparison) -> bool:
    """Whether a difference was called."""
    return found.verdict in ("better", "worse")


def pooled_t(row: Row) -> bool:
    """Whether Student's t of all samples together calls a difference, as ministat would."""
    means, squares = [], []
    for side in row["moments"]:
        mean = float(np.mean([mean_of for mean_of, _ in side]))
        means.append(mean)
        squares.append(float(np.mean([var + (mean_of - mean) ** 2 for mean_of, var in side])))
    n = ROWS * len(row["moments"][0])
    test = ttest_ind_from_stats(means[0], math.sqrt(squares[0]), n,
                                means[1], math.sqrt(squares[1]), n)  # fmt: skip
    return bool(test.pvalue <= 0.05)


def by_looks(row: Row) -> tuple[bool, int]:
    """Return whether a difference is called at any look, and after how many pairs it ended."""
    for look, level in zip(LOOKS, look_levels(LOOKS), strict=True):
        if differs(judged(row, look, level)):
            return True, look
    return False, LOOKS[-1]


def any_time(row: Row) -> tuple[bool, int]:
    """Return the same, where it is looked at after every pair by an e-process."""
    pairs = np.array(row["values"][1]) - np.array(row["values"][0])
    for n in range(2, len(pairs) + 1):
        if joint_e_value(pairs[:n]) >= 20:
            return True, n
    return False, len(pairs)


def repetition(name: str, number: int) -> Row:
    """Simulate a repetition, which has numbers of its own, whatever was simulated before it."""
    return simulate(PARTS[name], np.random.default_rng([5, list(PARTS).index(name), number]))


def make(
    book: ResultBook, repetitions: int, only: str, pool: Executor, notify: Callable[[str], None]
) -> None:
    """Simulate what is missing of the situations whose names have `only` in them."""
    for name, part in PARTS.items():
        began = time.monotonic()
        missing = range(len(book.rows(name)), repetitions * part.more)
        if only not in name or not missing:
            continue
        for row in pool.map(partial(repetition, name), missing):
            book.add(name, row)
        notify(f"{name}: {time.monotonic() - began:.0f} s")


def tables(book: ResultBook, pool: Executor) -> list[str]:
    """Return what was found, as lines of Markdown."""
    return [*_single(book, pool), "", *_looks(book, pool), "", *_coverage(book, pool)]


def _calls(row: Row) -> bool:
    """Whether a difference is called after all pairs."""
    return differs(judged(row, len(row["values"][0])))


def _single(book: ResultBook, pool: Executor) -> list[str]:
    lines = [
        "| situation | repetitions | runs a side | it differs | asked for | t of all samples |",
        "|---|---|---|---|---|---|",
    ]
    for name, part in PARTS.items():
        rows = book.rows(name)
        if name.startswith("looks") or not rows:
            continue
        asked = "at most 0.06" if not part.second else "–"
        if name in ASKED:
            asked = f"at least {ASKED[name]}"
        called = rate(list(pool.map(_calls, rows, chunksize=10)))
        lines.append(
            f"| {name} | {len(rows)} | {part.pairs} | {called} | {asked} | "
            f"{rate([pooled_t(row) for row in rows])} |"
        )
    return lines


def _looks(book: ResultBook, pool: Executor) -> list[str]:
    lines = [
        "| situation | repetitions | looks at 10, 20, 30 | pairs | asked for | any time | pairs |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in PARTS:
        rows = book.rows(name)
        if not name.startswith("looks") or not rows:
            continue
        cells = []
        for rule in (by_looks, any_time):
            found = list(pool.map(rule, rows, chunksize=10))
            cells += [
                rate([verdict for verdict, _ in found]),
                f"{np.mean([n for _, n in found]):.1f}",
            ]
        cells.insert(2, ASKED_OF_LOOKS.get(name, "–"))
        cells = [name.removeprefix("looks: "), str(len(rows)), *cells]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _coverage(book: ResultBook, pool: Executor) -> list[str]:
    """Say how often the printed intervals hold the ratio over all runs of both sides."""
    lines = [
        f"| situation | {' | '.join(statistic.name for statistic in STATISTICS)} |",
        "|---" * (len(STATISTICS) + 1) + "|",
    ]
    for name, part in PARTS.items():
        rows = book.rows(name)
        if name.startswith("looks") or part.drift or not rows:
            continue
        first, second = (
            np.array([values for row in rows for values in row["values"][side]]) for side in (0, 1)
        )
        truth = _typical(first, second) if part.second else np.zeros(len(STATISTICS))
        held = np.array(list(pool.map(partial(_held, truth), rows, chunksize=10)))
        lines.append(f"| {name} | {' | '.join(f'{part:.3f}' for part in held.mean(axis=0))} |")
    return lines


def _typical(first: Floats, second: Floats) -> Floats:
    """Return what the intervals are of: the median of the differences between two runs.

    Of thousands of runs of both sides: what that errs by is a hundredth of an interval.
    """
    chosen = slice(0, 4000)
    return np.array([
        np.median(second[chosen, column][:, None] - first[chosen, column][None, :])
        for column in range(first.shape[1])
    ])  # fmt: skip


def _held(truth: Floats, row: Row) -> list[bool]:
    found = judged(row, len(row["values"][0]))
    return [
        statistic.low is not None
        and statistic.high is not None
        and statistic.low <= math.exp(true) <= statistic.high
        for statistic, true in zip(found.statistics, truth.tolist(), strict=True)
    ]


def main() -> None:
    """Simulate, judge and print; write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--results", type=Path, default=Path("build/bench/calibrate_compare.jsonl"))
    parser.add_argument("--only", default="", help="situations with this in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write calibration.md")
    options = parser.parse_args()
    stamp: dict[str, Any] = {"rows": ROWS, "parts": {k: repr(v) for k, v in PARTS.items()}}
    book = ResultBook(options.results, stamp)
    with ProcessPoolExecutor(options.jobs) as pool:
        make(
            book,
            options.repetitions,
            options.only,
            pool,
            lambda text: print(text, flush=True),
        )
        lines = [f"The model: {describe(simulate_run, {})}.", "", *tables(book, pool)]
    print("\n".join(lines))
    if options.write:
        write_tables("calibrate_compare", lines)


if __name__ == "__main__":
    main()
