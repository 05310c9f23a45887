"""Does the search among differences name what makes the gap, and only that, and in how many runs?

`make bench-calibrate_search ARGS='--repetitions 500 --processes 2 --write'`

Every repetition draws culprits among D differences, and simulates a bench that runs the hybrids
that the search asks for, from the first run of an end to the answer. The noise of a run is
Student's t with 3 degrees of freedom, its standard deviation 1; the gap between the ends is 4 or 2
of it. One hybrid in twenty does not run, always the same. ddmin and halving have the same
differences, noise and untestable hybrids; each asks every question three times and goes by the
median's side of the middle of 10 runs of each end. What was simulated is kept, so that an
interrupted calibration goes on. With --write the table is written to calibration.md.
"""

from __future__ import annotations

import argparse
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from in_turns import Job, run_in_turns
from page_tables import write_tables
from rates import rate
from result_book import ResultBook, Row
from whylate.stats.search.machine import advance
from whylate.stats.search.model import (
    Answer,
    Culprits,
    ExplainsPart,
    NoGap,
    NotAmong,
    Problem,
    Purpose,
    Run,
)

Bools = NDArray[np.bool_]

#: One hybrid in so many does not run.
UNTESTABLE = 0.05
#: What was simulated with another method does not count.
MODEL = 3
BUDGET = 400
#: Questions are asked so often by the other two.
REPEATS = 3
#: Runs of each end that they have.
ENDS = 10

#: How much of the gap is closed, by the culprits on the fast side and the base.
Closed = Callable[[Bools, bool], float]


@dataclass(frozen=True)
class Case:
    """A situation. culprits: how many items. closed: how much of the gap they close.

    gap: in run-level standard deviations. hierarchy: packages of files of lines. parted: two other
    items never run apart. boards: with offsets. drift: over 100 runs. modes: a run in four takes
    2 standard deviations more than the others. answer: the right one.
    """

    culprits: int
    closed: Closed
    gap: float = 4.0
    items: int = 256
    hierarchy: bool = False
    parted: bool = False
    boards: int = 1
    drift: float = 0.0
    modes: bool = False
    answer: type[Answer] = Culprits


def all_of(fast: Bools, _base: bool) -> float:
    """All must be fast."""
    return float(fast.all())


def any_of(fast: Bools, _base: bool) -> float:
    """One fast is enough: slow needs all slow."""
    return float(fast.any())


def added(parts: Sequence[float], fast: Bools, _base: bool) -> float:
    """Each closes a part."""
    return float(np.dot(parts, fast))


def mostly_each(fast: Bools, _base: bool) -> float:
    """Each alone closes 60 %, both all: no form of the prior."""
    return 0.6 * float(fast.any()) + 0.4 * float(fast.all())


def one_with_either(fast: Bools, _base: bool) -> float:
    """Close all with the first and one of the others."""
    return float(fast[0] and fast[1:].any())


def in_the_rest(_fast: Bools, base: bool) -> float:
    """None of the items matters."""
    return float(base)


def in_part(fast: Bools, base: bool) -> float:
    """One item closes 62 %, the base the rest."""
    return 0.62 * float(fast[0]) + 0.38 * base


def nothing(_fast: Bools, _base: bool) -> float:
    """There is no gap."""
    return 0.0


HALVES, THIRDS, UNEQUAL = (0.5, 0.5), (1 / 3, 1 / 3, 1 / 3), (0.4, 0.35, 0.25)
#: Each has numbers of its own by its place: new ones come last.
CASES = {
    "a single culprit": Case(1, all_of),
    "two that need each other": Case(2, all_of),
    "two, each enough": Case(2, any_of),
    "two that add up": Case(2, partial(added, HALVES)),
    "three that need each other": Case(3, all_of),
    "three that add up": Case(3, partial(added, THIRDS)),
    "three that add up, 40 + 35 + 25 %": Case(3, partial(added, UNEQUAL)),
    "none of the differences": Case(0, in_the_rest, answer=NotAmong),
    "62 % one item, the rest none": Case(1, in_part, answer=ExplainsPart),
    "no gap": Case(0, nothing, answer=NoGap),
    "a single culprit, two others never run apart": Case(1, all_of, parted=True),
    "two that add up, 3 boards, drift of 1 in 100 runs": Case(
        2, partial(added, HALVES), boards=3, drift=1.0
    ),
    "a single culprit, gap 2": Case(1, all_of, gap=2.0),
    "two that need each other, gap 2": Case(2, all_of, gap=2.0),
    "two that add up, gap 2": Case(2, partial(added, HALVES), gap=2.0),
    "three that need each other, gap 2": Case(3, all_of, gap=2.0),
    "three that add up, gap 2": Case(3, partial(added, THIRDS), gap=2.0),
    "none of the differences, gap 2": Case(0, in_the_rest, gap=2.0, answer=NotAmong),
    "a single culprit in a hierarchy of 2,000": Case(1, all_of, items=2000, hierarchy=True),
    "two that need each other in a hierarchy of 2,000": Case(2, all_of, items=2000, hierarchy=True),
    "two that add up in a hierarchy of 2,000": Case(
        2, partial(added, HALVES), items=2000, hierarchy=True
    ),
    "two that add up, 70 + 30 %": Case(2, partial(added, (0.7, 0.3))),
    "two, each 60 %, both all": Case(2, mostly_each),
    "one with either of two": Case(3, one_with_either),
    "a single culprit, noise of two modes": Case(1, all_of, modes=True),
    "two that need each other, noise of two modes": Case(2, all_of, modes=True),
}
#: The bar: the right answer at least so often, in so many runs at the median.
ASKED = {
    "a single culprit": "0.99, 96",
    "two that need each other": "0.95, 96",
    "two, each enough": "0.95, 96",
    "two that add up": "0.95, 96",
    "three that need each other": "0.90, 96",
    "three that add up": "0.90, 96",
    "none of the differences": "0.95",
    "no gap": "0.95",
    "a single culprit, gap 2": "0.99, 256",
    "two that need each other, gap 2": "0.95, 256",
    "two that add up, gap 2": "0.95, 256",
    "three that need each other, gap 2": "0.90, 256",
    "three that add up, gap 2": "0.90, 256",
    "none of the differences, gap 2": "0.95",
    "a single culprit in a hierarchy of 2,000": "0.99, 160",
    "two that need each other in a hierarchy of 2,000": "0.95, 160",
    "two that add up in a hierarchy of 2,000": "0.95, 160",
}


class Bench:
    """Simulates the runs of one repetition, and counts them."""

    def __init__(self, name: str, number: int) -> None:
        case = CASES[name]
        self._case = case
        self._rng = np.random.default_rng([61, list(CASES).index(name), number])
        self._salt = int(self._rng.integers(2**32)).to_bytes(4, "little")
        chosen = self._rng.permutation(case.items)
        self.culprits = chosen[: case.culprits].tolist()
        self._parted = chosen[-2:]
        self._offset = self._rng.standard_normal(case.boards)
        self.runs = 0

    def run(self, in_force: Bools, base: bool, board: int = 0) -> float | None:
        """Return the outcome of a run, None where the hybrid does not run."""
        case = self._case
        self.runs += 1
        noise = self._rng.standard_t(3) / np.sqrt(3)
        if case.modes:
            # Its standard deviation is 1 too: 0.5 within a mode, and 2 * sqrt(3 / 16) between them.
            noise = 0.5 * noise + 2 * (self._rng.random() < 0.25)
        is_end = in_force.all() == in_force.any() == base
        if not is_end and self._is_untestable(in_force, base):
            return None
        level = case.closed(in_force[self.culprits], base)
        drift = case.drift * self.runs / 100
        return float(case.gap * level + self._offset[board] + drift + noise)

    def _is_untestable(self, in_force: Bools, base: bool) -> bool:
        first, second = in_force[self._parted]
        if self._case.parted and first != second:
            return True
        row = np.packbits(np.r_[in_force, base]).tobytes()
        return zlib.crc32(row + self._salt) % 10_000 < UNTESTABLE * 10_000


def hierarchy(items: int) -> NDArray[np.int64]:
    """Return the labels of 100 packages and 500 files of as many lines each."""
    number = np.arange(items)
    return np.column_stack([number * 100 // items, number * 500 // items])


def search(name: str, number: int) -> Row:
    """Return what the search makes of one repetition."""
    case, bench = CASES[name], Bench(name, number)
    problem = Problem(
        case.items,
        seed=number,
        groups=hierarchy(case.items) if case.hierarchy else None,
        budget=BUDGET,
        boards=case.boards,
    )
    history: list[Run] = []
    ends = 0
    while isinstance(answer := advance(problem, history), tuple):
        for hybrid in answer:
            outcome = bench.run(hybrid.in_force, hybrid.fast_base, hybrid.board)
            history.append(Run(hybrid, hybrid.in_force, outcome, hybrid.board))
            ends += hybrid.purpose is Purpose.END
    named = ([effect.item for effect in answer.effects]
             if isinstance(answer, Culprits | ExplainsPart) else [])  # fmt: skip
    right = isinstance(answer, case.answer) and set(named) == set(bench.culprits)
    # To say that the gap is in none of the differences, or that there is none, names nothing.
    return {
        "right": right,
        "false": bool(set(named) - set(bench.culprits)),
        "runs": bench.runs,
        "answer": type(answer).__name__,
    }


class Oracle:
    """Answers whether a hybrid is fast: the median of its runs beside the middle of the ends."""

    def __init__(self, bench: Bench, items: int) -> None:
        self._bench, self._items = bench, items
        values = [
            np.median([bench.run(np.full(items, fast), fast) for _ in range(ENDS)])
            for fast in (False, True)
        ]
        self._middle, self._rises = float(np.mean(values)), values[1] > values[0]

    def __call__(self, chosen: Sequence[int]) -> bool:
        """Whether the slow end with these items of the fast side is fast."""
        in_force = np.zeros(self._items, bool)
        in_force[list(chosen)] = True
        found = [self._bench.run(in_force, False) for _ in range(REPEATS)]
        values = [value for value in found if value is not None]
        return bool(values) and bool((np.median(values) > self._middle) == self._rises)


def ddmin(oracle: Oracle, items: int) -> list[int]:
    """Return a smallest set that is fast (Zeller and Hildebrandt 2002, IEEE TSE 28)."""
    left, parts = list(range(items)), 2
    while len(left) > 1 and parts <= len(left):
        subsets = [part.tolist() for part in np.array_split(left, parts)]
        smaller = next((subset for subset in subsets if oracle(subset)), None)
        if smaller is not None:
            left, parts = smaller, 2
            continue
        complements = ([item for item in left if item not in set(subset)] for subset in subsets)
        smaller = next((rest for rest in complements if parts > 2 and oracle(rest)), None)
        if smaller is not None:
            left, parts = smaller, max(parts - 1, 2)
        elif parts == len(left):
            break
        else:
            parts = min(2 * parts, len(left))
    return left


def halve(oracle: Oracle, items: int) -> list[int]:
    """Return the item that is left by keeping the half that is fast; none where neither is."""
    left = list(range(items))
    while len(left) > 1:
        half, other = left[: len(left) // 2], left[len(left) // 2 :]
        if oracle(half):
            left = half
        elif oracle(other):
            left = other
        else:
            return []
    return left


def rival(method: Callable[[Oracle, int], list[int]], name: str, number: int) -> Row:
    """Return what a method makes of the same repetition. Naming none is right where none is."""
    case, bench = CASES[name], Bench(name, number)
    named = method(Oracle(bench, case.items), case.items)
    return {
        "right": set(named) == set(bench.culprits) and case.answer is not ExplainsPart,
        "false": bool(set(named) - set(bench.culprits)),
        "runs": bench.runs,
    }


METHODS: dict[str, Callable[[str, int], Row]] = {
    "search": search,
    "ddmin": partial(rival, ddmin),
    "halving": partial(rival, halve),
}


def jobs(repetitions: int, only: str) -> Iterator[Job]:
    """Yield a repetition of every case and method in turns."""
    for number in range(repetitions):
        for name in CASES:
            for method, simulate in METHODS.items():
                if re.search(only, f"{method}: {name}"):
                    yield Job(f"{method}: {name}", number, partial(simulate, name, number))


def table(book: ResultBook) -> list[str]:
    """Return what was simulated, as lines of Markdown."""
    heads = ["situation", "repetitions", "right", "asked for", "names what is none",
             "runs (9 of 10)", "ddmin: right", "false", "runs", "halving: right", "false",
             "runs"]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in CASES:
        rows = book.rows(f"search: {name}")
        if not rows:
            continue
        runs = [row["runs"] for row in rows]
        cells = [
            name,
            str(len(rows)),
            rate([row["right"] for row in rows]),
            f"at least {ASKED[name]}" if name in ASKED else "–",
            rate([row["false"] for row in rows]),
            f"{np.median(runs):.0f} ({np.quantile(runs, 0.9):.0f})",
        ]
        for method in ("ddmin", "halving"):
            others = book.rows(f"{method}: {name}")
            cells += [
                f"{np.mean([row['right'] for row in others]):.3f}",
                f"{np.mean([row['false'] for row in others]):.3f}",
                f"{np.median([row['runs'] for row in others]):.0f}",
            ] if others else ["–"] * 3  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    every = [row["false"] for name in CASES for row in book.rows(f"search: {name}")]
    if every:
        lines.append(f"| all | {len(every)} | | at most 0.01 | {rate(every)} |{' |' * 7}")
    return lines


def main() -> None:
    """Simulate and print; write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--journal", type=Path, default=Path("build/bench/calibrate_search.jsonl"))
    parser.add_argument("--only", default="", help="parts whose name this expression matches")
    parser.add_argument("--for", dest="seconds", type=float, default=1e9, metavar="SECONDS",
                        help="start no search after this time")  # fmt: skip
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write calibration.md")
    options = parser.parse_args()
    stamp = {"model": MODEL, "cases": list(CASES), "untestable": UNTESTABLE, "budget": BUDGET}
    book = ResultBook(options.journal, stamp)
    run_in_turns(book, jobs(options.repetitions, options.only), options.processes, options.seconds)
    lines = table(book)
    print("\n".join(lines))
    if options.write:
        write_tables("calibrate_search", lines)


if __name__ == "__main__":
    main()
