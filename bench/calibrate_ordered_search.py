"""Is the commit that a search names the right one as often as it says, and after how many runs?

`make calibration`, or `make bench-calibrate_ordered_search ARGS='--repetitions 500 --write'`

Histories of 1,000 versions with a step at a random place, and values of runs with a standard
deviation of 1. The search goes on to a probability of .99; what it said when it passed .80 and .95
is kept. The same histories are searched by the rule of `git bisect run` and by git_bayesect, which
get pass or fail by the middle between both ends. git_bayesect is taken from --bayesect, a folder
that `pip install --no-deps --target FOLDER git_bayesect==1.2` has made; without it its columns are
empty. What was simulated is kept.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from in_turns import Job, run_in_turns
from page_tables import write_tables
from rates import rate
from result_book import ResultBook, Row
from simulated_histories import Case, Simulated, simulate_history
from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.confirmation import Confirmation, Pair, next_confirmation
from whylate.stats.ordered_search.events import Costs, Event, Measured, Settings, Unbuildable
from whylate.stats.ordered_search.search import next_step

LEVELS = (0.8, 0.95, 0.99)
#: A run counts; a build counts so little that it only decides between equal ones.
BY_RUNS = Costs(1, 0, 0.05)
#: What a small board takes, seconds.
BY_TIME = Costs(60, 30, 120)
END_RUNS = 10
#: Sizes of steps that are confirmed.
CONFIRMED = (0.0, 1.0, 2.0)
#: What was simulated with another method does not count.
MODEL = 2


@dataclass(frozen=True)
class Part:
    """A situation."""

    case: Case
    end_runs: int = END_RUNS
    costs: Costs = BY_RUNS
    max_runs: int = 400


PARTS = {
    "d = 2": Part(Case(2)),
    "d = 2, 3 runs of each end": Part(Case(2), end_runs=3),
    "d = 2, drift of 1": Part(Case(2, drift=1 / 45)),
    "d = 2, 20 % unbuildable": Part(Case(2, unbuildable=0.2)),
    "d = 2, merges": Part(Case(2, merges=True)),
    "d = 2, merges, drift, unbuildable": Part(Case(2, drift=1 / 45, unbuildable=0.2, merges=True)),
    "d = 2, heavy-tailed runs": Part(Case(2, heavy=True)),
    "d = 4": Part(Case(4)),
    "two steps of 2": Part(Case(2, steps=2), max_runs=200),
    "no step": Part(Case(0, steps=0), max_runs=100),
    "gradual, 4 in all": Part(Case(4, steps=0, gradual=True), max_runs=100),
    "d = 2, by time": Part(Case(2), costs=BY_TIME),
    "d = 1": Part(Case(1)),
    "d = 1, drift of 1": Part(Case(1, drift=1 / 110)),
    "d = 1, 20 % unbuildable": Part(Case(1, unbuildable=0.2)),
    "d = 1, merges": Part(Case(1, merges=True)),
    "d = 2, wandering by 1 in 45 runs": Part(Case(2, wander=1 / 45)),
    "d = 2, a jump of 1": Part(Case(2, jump=1, jump_before=65)),
    "d = 1, wandering by 1 in 110 runs": Part(Case(1, wander=1 / 110)),
    "d = 1, a jump of 1": Part(Case(1, jump=1, jump_before=150)),
}


def search(part: Part, seed: tuple[int, int]) -> Row:
    """Return what the search said at each level: runs, probability, kind, whether that is true."""
    world = simulate_history(part.case, np.random.default_rng(seed))
    settings = Settings(
        confidence=LEVELS[-1],
        end_runs=part.end_runs,
        max_runs=part.max_runs,
        costs=part.costs,
        seed=seed[1],
    )
    events: list[Event] = []
    runs, seconds, ends, booted = 0, 0.0, 0, -1
    built: set[int] = set()
    row: Row = {}
    while True:
        step = next_step(world.history, events, settings)
        said = step if isinstance(step, Answer) else step.best
        if said is None:
            ends = runs + 1
        for level in LEVELS:
            if (
                str(level) not in row
                and said is not None
                and (said.decided(level) or isinstance(step, Answer))
            ):
                row[str(level)] = [
                    runs,
                    said.probability,
                    said.decided(level) or runs < part.max_runs,
                    said.kind.value,
                    world.true_statement(said),
                    seconds,
                    len(said.versions),
                ]
        if isinstance(step, Answer):
            return row | {"ends": ends}
        seconds += part.costs.build_s * (step.version not in built)
        built.add(step.version)
        if not world.builds[step.version]:
            events.append(Unbuildable(step.version))
            continue
        seconds += part.costs.boot_s * (step.version != booted) + part.costs.run_s
        booted = step.version
        events.append(Measured(step.version, world.measure(step.version, runs)))
        runs += 1


def threshold(world: Simulated) -> tuple[float, int]:
    """Return the middle between both ends, and how many runs that took."""
    last = world.history.size - 1
    values = [world.measure(end, 2 * i + (end > 0)) for i in range(END_RUNS) for end in (0, last)]
    return float(np.mean(values)), 2 * END_RUNS


def git_bisect(part: Part, seed: tuple[int, int]) -> Row:
    """Return the runs after those of the ends, and whether what is left is right.

    Each version that it tries is the one that cuts what is left most evenly (`git rev-list
    --bisect`), and one verdict is final. A version that does not build is skipped.
    """
    world = simulate_history(part.case, np.random.default_rng(seed))
    middle, ends = threshold(world)
    history, costs = world.history, part.costs
    left = np.ones(history.size)
    left[0] = 0
    skipped: set[int] = set()
    runs, seconds = 0, ends * costs.run_s + 2 * costs.build_s + ends * costs.boot_s
    while left.sum() > 1:
        held = history.held_mass(left)
        even = np.where((left > 0) & (held < left.sum()), np.minimum(held, left.sum() - held), -1)
        even[list(skipped)] = -1
        version = int(np.argmax(even))
        if even[version] <= 0:
            break
        seconds += costs.build_s
        if not world.builds[version]:
            skipped.add(version)
            continue
        bad = world.measure(version, ends + runs) > middle
        seconds += costs.run_s + costs.boot_s
        runs += 1
        left *= history.changes([version])[0] == bad
    right = world.true_versions(np.flatnonzero(left).tolist())
    return {"runs": runs, "right": right, "seconds": seconds, "stated": None}


@cache
def _bayesect(folder: str) -> Any:
    sys.path.append(folder)
    # Its logarithms of 0 are meant.
    np.seterr(divide="ignore", invalid="ignore")
    return importlib.import_module("git_bayesect")


def bayesect(folder: str, part: Part, seed: tuple[int, int]) -> Row:
    """Return the same of git_bayesect's own Bisector, up to a probability of .95.

    Its order is from the newest version to the oldest. The verdicts of the ends' runs are recorded.
    Where it selects a version again that was skipped, the nearest that was not takes its place.
    """
    world = simulate_history(part.case, np.random.default_rng(seed))
    last = world.history.size - 1
    values = [
        (end, world.measure(end, 2 * i + (end > 0))) for i in range(END_RUNS) for end in (0, last)
    ]
    middle = float(np.mean([value for _, value in values]))
    bisector = _bayesect(folder).Bisector(np.ones(last + 1))
    bisector.prior_weights[last] = 0
    for end, value in values:
        bisector.record(last - end, value > middle)
    costs = part.costs
    runs, booted, built, able = 0, -1, {0, last}, np.arange(last + 1)
    seconds = len(values) * (costs.run_s + costs.boot_s) + 2 * costs.build_s
    while bisector.distribution.max() < LEVELS[1] and runs < part.max_runs:
        selected = last - bisector.select()
        version = int(able[np.argmin(np.abs(able - selected))])
        seconds += costs.build_s * (version not in built)
        built.add(version)
        if not world.builds[version]:
            bisector.record(last - version, None)
            able = able[able != version]
            continue
        bisector.record(last - version, world.measure(version, len(values) + runs) > middle)
        seconds += costs.run_s + costs.boot_s * (version != booted)
        booted = version
        runs += 1
    best = last - int(bisector.distribution.argmax())
    right = world.true_versions([best])
    stated = float(bisector.distribution.max())
    return {"runs": runs, "right": right, "seconds": seconds, "stated": stated}


def confirm(d: float, seed: int) -> Row:
    """Return whether a step of d is confirmed, and after how many pairs."""
    rng = np.random.default_rng([77, int(10 * d), seed])
    pair = Pair(0, 1, 1.0, seed=seed)
    runs: list[Measured] = []
    while True:
        step = next_confirmation(pair, runs)
        if isinstance(step, Confirmation):
            return {"confirmed": step.confirmed, "pairs": step.pairs}
        runs.append(Measured(step, d * step + rng.normal()))


def jobs(repetitions: int, only: str, folder: str) -> Iterator[Job]:
    """Yield a repetition of every situation and method in turns."""
    searchers: dict[str, Callable[[Part, tuple[int, int]], Row]] = {
        "search": search,
        "git bisect": git_bisect,
    }
    if (Path(folder) / "git_bayesect.py").exists():
        searchers["git_bayesect"] = partial(bayesect, folder)
    for number in range(repetitions):
        for place, (name, part) in enumerate(PARTS.items()):
            for searcher, function in searchers.items():
                key = f"{searcher}: {name}"
                if (searcher == "search" or part.case.steps) and re.search(only, key):
                    yield Job(key, number, partial(function, part, (100 + place, number)))
        for d in CONFIRMED:
            if re.search(only, key := f"confirm: {d:g}"):
                yield Job(key, number, partial(confirm, d, number))


def tables(book: ResultBook) -> list[str]:
    """Return what was simulated, as lines of Markdown."""
    lines = [
        _header(
            "situation", "repetitions", "runs of the ends", "then up to .80", ".95", ".99",
            "in all up to .95", "right at .80 (stated)", "at .95 (stated)", "at .99 (stated)",
        ),
    ]  # fmt: skip
    for name, part in PARTS.items():
        rows = book.rows(f"search: {name}")
        if rows and part.case.steps == 1:
            lines.append(_search_line(name, rows))
    lines += ["", *_rival_lines(book), "", *_other_lines(book), "", *_confirm_lines(book)]
    return lines


def _header(*names: str) -> str:
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def _search_line(name: str, rows: list[Row]) -> str:
    ends = np.array([row["ends"] for row in rows])
    runs = {level: np.array([row[str(level)][0] for row in rows]) for level in LEVELS}
    cells = [f"{np.median(runs[level] - ends):.0f}" for level in LEVELS]
    right = []
    for level in LEVELS:
        stated = float(np.mean([row[str(level)][1] for row in rows]))
        right.append(f"{rate([row[str(level)][4] for row in rows])} ({stated:.3f})")
    return (
        f"| {name} | {len(rows)} | {np.median(ends):.0f} | {' | '.join(cells)} |"
        f" {np.median(runs[0.95]):.0f} | {' | '.join(right)} |"
    )


def _rival_lines(book: ResultBook) -> list[str]:
    lines = [
        _header(
            "situation", "whylate: runs", "right", "`git bisect run`: runs", "right",
            "git_bayesect: runs", "right (stated)", "hours: whylate", "git bisect", "git_bayesect",
        ),
    ]  # fmt: skip
    for name, part in PARTS.items():
        rows = book.rows(f"search: {name}")
        if not rows or not part.case.steps or part.end_runs != END_RUNS:
            continue
        after = np.median([row["0.95"][0] - row["ends"] for row in rows])
        cells = [f"{after:.0f}", rate([row["0.95"][4] for row in rows])]
        times = [np.median([row["0.95"][5] for row in rows])]
        for rival in ("git bisect", "git_bayesect"):
            of_rival = book.rows(f"{rival}: {name}")
            if not of_rival:
                cells += ["–", "–"]
                continue
            times.append(np.median([row["seconds"] for row in of_rival]))
            cells += [
                f"{np.median([row['runs'] for row in of_rival]):.0f}",
                rate([row["right"] for row in of_rival]),
            ]
            if of_rival[0]["stated"] is not None:
                cells[-1] += f" ({np.mean([row['stated'] for row in of_rival]):.3f})"
        by_time = part.costs == BY_TIME
        cells += [f"{time / 3600:.1f}" if by_time else "–" for time in times]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _other_lines(book: ResultBook) -> list[str]:
    kinds = [kind.value for kind in Kind]
    lines = [
        _header("what there is", "repetitions", *kinds, "undecided", "true", "runs in all"),
    ]
    for name, part in PARTS.items():
        rows = [row["0.95"] for row in book.rows(f"search: {name}")]
        if not rows or part.case.steps == 1:
            continue
        decided = [row for row in rows if row[2]]
        cells = [f"{sum(row[3] == kind for row in decided) / len(rows):.3f}" for kind in kinds]
        true = rate([row[4] for row in decided]) if decided else "–"
        lines.append(
            f"| {name} | {len(rows)} | {' | '.join(cells)} | {1 - len(decided) / len(rows):.3f} |"
            f" {true} | {np.median([row[0] for row in rows]):.0f} |"
        )
    return lines


def _confirm_lines(book: ResultBook) -> list[str]:
    lines = [_header("culprit - parent", "repetitions", "confirmed", "pairs")]
    for d in CONFIRMED:
        rows = book.rows(f"confirm: {d:g}")
        if not rows:
            continue
        pairs = np.median([row["pairs"] for row in rows])
        confirmed = rate([row["confirmed"] for row in rows])
        lines.append(f"| {d:g} | {len(rows)} | {confirmed} | {pairs:.0f} |")
    return lines


def main() -> None:
    """Simulate what is not there yet, and print; write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--for", dest="seconds", type=float, default=1e9, metavar="SECONDS",
                        help="start no search after this time")  # fmt: skip
    parser.add_argument("--only", default="", help="parts whose name this expression matches")
    parser.add_argument(
        "--bayesect", default="build/bench/git_bayesect", help="a folder that has git_bayesect"
    )
    parser.add_argument(
        "--journal", type=Path, default=Path("build/bench/calibrate_ordered_search.jsonl")
    )
    parser.add_argument("--write", action="store_true", help="write calibration.md")
    options = parser.parse_args()
    book = ResultBook(options.journal, {"model": MODEL, "size": 1000})
    parts = jobs(options.repetitions, options.only, options.bayesect)
    run_in_turns(book, parts, options.processes, options.seconds)
    lines = tables(book)
    print("\n".join(lines))
    if options.write:
        write_tables("calibrate_ordered_search", lines)


if __name__ == "__main__":
    main()
