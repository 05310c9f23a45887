"""Compare how often two sides crash: their cycles in pairs, until it is decided.

A directory: compare.json, and a soak of each side in a/ and b/. It holds no other state, so a
comparison whose host was killed is resumed as its soaks are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.files import try_lock
from whylate.recording.bounds import Integer, Small
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.store.lines import read_plan, write_plan
from whylate.run.errors import RequestError
from whylate.soak.carry_out import PAUSE_S, Goal, SoakObserver, Spent, count_judged, soak
from whylate.soak.cycle import short_why
from whylate.soak.failure_kinds import FailureKind
from whylate.soak.journal import PLAN, SoakJournal, must_be_same, read_soak
from whylate.soak.model import Cycle, Outcome, SoakPlan
from whylate.soak.summary import Rate, SoakSummary, rate, summarize
from whylate.stats.comparison.rarer_side import ALPHA, decide

SCHEMA_VERSION = 1
COMPARISON = "compare.json"
#: The soaks of the sides.
FOLDERS = ("a", "b")
#: After these the workload was not tried, so that nothing is known of the side.
_NOT_TRIED: tuple[Outcome, ...] = ("interrupted", "no-power", "no-boot", "no-probe")

#: Of B, beside A: whether it crashes less or more often, or neither is known.
Verdict = Literal["better", "worse", "inconclusive"]
Ended = Literal["decided", "done", "ended early", "given up"]


class ComparisonPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """compare.json. seed: of the order of the sides in each pair."""

    format: Literal["whylate-soak-comparison"] = "whylate-soak-comparison"
    schema_version: Small = SCHEMA_VERSION
    sides: tuple[str, str]
    counted: list[FailureKind]
    seed: Integer = 1


@dataclass(frozen=True)
class Side:
    """One of two: its name, what each of its cycles does, and its board, opened anew for each."""

    name: str
    plan: SoakPlan
    open_board: Callable[[], Board]


class Pairs(msgspec.Struct, frozen=True):
    """Pairs of cycles so far: in how many either side alone crashed, or both did."""

    count: int
    first_alone: int
    second_alone: int
    both: int
    verdict: Verdict


class SideSummary(msgspec.Struct, frozen=True):
    """A side. crashes: of its cycles that tried the workload."""

    name: str
    crashes: Rate
    soak: SoakSummary


class ComparisonSummary(msgspec.Struct, frozen=True):
    """error_rate: the chance to call a difference between equal sides, all looks together."""

    sides: list[SideSummary]
    counted: list[FailureKind]
    pairs: Pairs
    error_rate: float = ALPHA


def compare_soaks(
    sides: tuple[Side, Side],
    plan: ComparisonPlan,
    goal: Goal,
    directory: Path,
    observers: tuple[SoakObserver, SoakObserver],
    stopped: Callable[[], bool] = lambda: False,
) -> Ended:
    """Carry out cycles of both sides in pairs until one crashes more often, or the goal is reached.

    goal: pairs, or seconds. observers: of either side. Raises what
    whylate.soak.carry_out.soak() raises, and RequestError where `directory` has another comparison.
    """
    _begin(directory, plan, [side.plan for side in sides])
    with _locked(directory):
        # What earlier starts saw is no reason to give up: somebody may have mended the board since.
        before = [_cycles(directory / folder) for folder in FOLDERS]
        earlier = [len(of_side) for of_side in before]
        spent = Spent([*before[0], *before[1]], sides[0].plan.off_s)
        while True:
            cycles = [_cycles(directory / folder) for folder in FOLDERS]
            pairs = pair_up(cycles[0], cycles[1], plan.counted)
            if pairs.verdict != "inconclusive":
                return "decided"
            if goal.reached(pairs.count, spent.seconds):
                return "done"
            if stopped():
                return "ended early"
            ours = [of_side[before:] for of_side, before in zip(cycles, earlier, strict=True)]
            if any(_is_hopeless(of_side, goal.give_up) for of_side in ours):
                return "given up"
            which = next_side([_tried(of_side, plan.counted) for of_side in cycles], plan.seed)
            if cycles[which] and cycles[which][-1].outcome in _NOT_TRIED:
                time.sleep(PAUSE_S)
            place = directory / FOLDERS[which]
            _add_cycle(sides[which], place, observers[which], stopped, used=bool(ours[which]))


def _add_cycle(
    side: Side,
    directory: Path,
    observer: SoakObserver,
    stopped: Callable[[], bool],
    *,
    used: bool,
) -> None:
    """Carry out a cycle of a side. used: whether this start has used its board before.

    Then a board that cannot be taken is counted; otherwise BoardError tells the user at once.
    """
    done = count_judged(_cycles(directory))
    try:
        soak(side.open_board(), side.plan, Goal(cycles=done + 1), directory, observer, stopped)
    except BoardError as error:
        if not used:
            raise
        if count_judged(_cycles(directory)) == done:
            _note_no_power(side, directory, str(error), observer)


def _note_no_power(side: Side, directory: Path, why: str, observer: SoakObserver) -> None:
    """Add a cycle that failed before it began: the board could not be taken or switched off."""
    with SoakJournal(directory, side.plan) as journal:
        number, _ = journal.begin()
        cycle = Cycle(
            cycle=number,
            session=journal.session,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            outcome="no-power",
            stage="power",
            why=short_why(why),
        )
        journal.append(cycle)
    observer.cycle_ended(cycle)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other processes from carrying out the same comparison; raises RecordingError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not try_lock(fd):
            raise RecordingError(
                f"{directory} is the comparison of another whylate that still runs"
            )
        yield
    finally:
        os.close(fd)


def pair_up(
    first: Sequence[Cycle], second: Sequence[Cycle], counted: Sequence[FailureKind]
) -> Pairs:
    """Return the pairs of the cycles that tried the workload, up to where a side is named."""
    alone = [0, 0]
    both = count = 0
    verdict: Verdict = "inconclusive"
    for pair in zip(_tried(first, counted), _tried(second, counted), strict=False):
        count += 1
        crashed = tuple(_has_crashed(cycle, counted) for cycle in pair)
        both += all(crashed)
        if crashed[0] != crashed[1]:
            alone[crashed.index(True)] += 1
        named = decide(alone[0], alone[1])
        if named is not None:
            verdict = "better" if named == "first" else "worse"
            break
    return Pairs(count, alone[0], alone[1], both, verdict)


def next_side(tried: Sequence[Sequence[Cycle]], seed: int) -> int:
    """Return which side's cycle is next: in each pair the order is random, and its own."""
    first, second = len(tried[0]), len(tried[1])
    if first != second:
        return 0 if first < second else 1
    return int(np.random.default_rng([seed, first]).integers(2))


def read_comparison(directory: Path) -> ComparisonSummary:
    """Return the comparison in a directory so far; raises RecordingError."""
    plan = _read_plan(directory)
    soaks = [read_soak(directory / folder) for folder in FOLDERS]
    cycles = [of_side for _, of_side in soaks]
    return ComparisonSummary(
        sides=[
            SideSummary(name, _crash_rate(of_side, plan.counted), summarize(soak_plan, of_side))
            for name, (soak_plan, of_side) in zip(plan.sides, soaks, strict=True)
        ],
        counted=plan.counted,
        pairs=pair_up(cycles[0], cycles[1], plan.counted),
    )


def paired_cycles(directory: Path) -> list[tuple[Cycle, Cycle]]:
    """Return the pairs of a comparison: cycles that tried the workload; raises RecordingError."""
    counted = _read_plan(directory).counted
    sides = [_tried(_cycles(directory / folder), counted) for folder in FOLDERS]
    return list(zip(*sides, strict=False))


def side_names(directory: Path) -> tuple[str, str]:
    """Return the names of a comparison's sides; raises RecordingError."""
    return _read_plan(directory).sides


def is_comparison(directory: Path) -> bool:
    """Return whether a directory has a comparison."""
    return (directory / COMPARISON).exists()


def _begin(directory: Path, plan: ComparisonPlan, soaks: Sequence[SoakPlan]) -> None:
    """Make the directory, or check that it has this comparison."""
    if is_comparison(directory):
        held = _read_plan(directory)
        if held != plan:
            raise RequestError(
                f"{directory} is another comparison (of {held.sides[0]} and {held.sides[1]}, "
                f"counting {', '.join(held.counted)}): give the same command again to resume it, "
                "or choose another name with -o"
            )
    elif directory.exists() and any(directory.iterdir()):
        raise RecordingError(
            f"{directory} exists and is no comparison: choose another name with -o"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # First, so that what a killed process left is known for a comparison, and completed.
        write_plan(directory / COMPARISON, plan)
        for folder in FOLDERS:
            (directory / folder).mkdir(exist_ok=True)
    except OSError as error:
        raise DiskError(f"{directory} cannot be written: {error.strerror}") from None
    for folder, soak_plan in zip(FOLDERS, soaks, strict=True):
        if (directory / folder / PLAN).exists():
            must_be_same(directory / folder, read_soak(directory / folder)[0], soak_plan)
        else:
            write_plan(directory / folder / PLAN, soak_plan)


def _read_plan(directory: Path) -> ComparisonPlan:
    what = f"{directory} is not a comparison of soaks"
    return read_plan(directory / COMPARISON, ComparisonPlan, what, SCHEMA_VERSION)


def _cycles(directory: Path) -> list[Cycle]:
    return read_soak(directory)[1]


def _is_hopeless(cycles: Sequence[Cycle], give_up: int) -> bool:
    """Whether the last cycles of a side, so many, all failed before the workload."""
    last = [cycle for cycle in cycles if cycle.outcome != "interrupted"][-give_up:]
    return len(last) == give_up and all(cycle.outcome in _NOT_TRIED for cycle in last)


def _tried(cycles: Sequence[Cycle], counted: Sequence[FailureKind]) -> list[Cycle]:
    return [
        cycle for cycle in cycles if cycle.outcome not in _NOT_TRIED or _has_crashed(cycle, counted)
    ]


def _has_crashed(cycle: Cycle, counted: Sequence[FailureKind]) -> bool:
    kinds = {cycle.outcome, *(cause.kind for cause in cycle.causes)}
    return cycle.outcome != "interrupted" and not kinds.isdisjoint(counted)


def _crash_rate(cycles: Sequence[Cycle], counted: Sequence[FailureKind]) -> Rate:
    tried = _tried(cycles, counted)
    crashed = sum(_has_crashed(cycle, counted) for cycle in tried)
    return rate(crashed, len(tried), sum(cycle.total_s for cycle in tried) / 3600)
