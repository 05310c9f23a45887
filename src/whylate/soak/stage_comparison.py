"""Compare the boots of two soaks by the time of each step from one boot stage to the next.

A cycle is a run, with a boot of its own; each step is a statistic of it, and so is the whole boot.
All are tested together, as the statistics of any run are, so that the verdict and the rows hold to
one error rate. Cycles that were made in pairs are exchanged within them.

Steps are those between the stages that every boot of both sides shows, in one order: then all
boots have the same steps. About any other stage nothing is concluded; a step spans it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path

import msgspec

from whylate.compare.cautions import check_equal
from whylate.compare.judge import compare
from whylate.compare.model import Comparison, Question, StatisticRow, Verdict
from whylate.compare.runs import Arm, Run
from whylate.compare.words import names_text
from whylate.recording.errors import RecordingError
from whylate.run.errors import RequestError
from whylate.soak.boot_stages import POWER, UP
from whylate.soak.comparison import FOLDERS, is_comparison, paired_cycles, side_names
from whylate.soak.journal import read_soak
from whylate.soak.model import BootStage, Cycle, SoakPlan
from whylate.soak.own_stages import stages_of
from whylate.stats.comparison.run_statistics import Statistic, exact_value

#: The statistic of a boot as a whole.
WHOLE = "whole boot"
#: Boots of a side; more are refused: so many take a GiB and half a minute.
MOST_BOOTS = 2000
#: What either clock tells apart, in s: the host looks at the console so often.
_HOST_S = 0.01
_KERNEL_S = 1e-6
_MOST_S = 1e9


@dataclass(frozen=True)
class _Boot:
    """A boot that came up. pair: what it has in common with one of the other side; "": nothing."""

    cycle: Cycle
    stages: Mapping[str, BootStage]
    boot_s: float
    pair: str = ""


@dataclass(frozen=True)
class _Soak:
    """A side. left_out: cycles that have no boot to compare."""

    name: str
    directory: Path
    plan: SoakPlan
    boots: Sequence[_Boot]
    left_out: int


def compare_boot_stages(directories: Sequence[Path], question: Question) -> Comparison:
    """Compare two soaks, or the sides of a comparison of soaks, by boot stage.

    The question's statistics are the steps that both have. Raises RecordingError, RequestError and
    UnequalError.
    """
    sides = _read_sides(directories)
    looked_for, other_patterns = _looked_for(sides)
    boots = [boot for side in sides for boot in side.boots]
    stages = _in_one_order([name for name in looked_for if _in_all(name, boots)], boots)
    names = [f"{before} → {name}" for before, name in pairwise((POWER, *stages))]
    statistics = tuple(map(Statistic, (*names, WHOLE)))
    for stated in question.margins:
        if stated not in (*names, WHOLE):
            raise RequestError(
                f"--same {stated}: what is compared is {names_text([*names, WHOLE])}"
            )
    steps = _Steps(stages, boots)
    in_pairs = any(boot.pair for boot in boots)
    first, second = (_arm(side, steps, statistics, in_pairs=in_pairs) for side in sides)
    check_equal([*first.runs, *second.runs])
    comparison = compare(first, second, replace(question, statistics=statistics, unit="ns"))
    unclear = [name for name in looked_for if name not in stages]
    return msgspec.structs.replace(
        comparison,
        statistics=[
            *(_judged(row, comparison, question.alpha) for row in comparison.statistics),
            *_refused(unclear, sides),
        ],
        cautions=[
            *comparison.cautions,
            *steps.cautions(),
            *_cautions(sides, unclear, other_patterns),
        ],
    )


def _read_sides(directories: Sequence[Path]) -> tuple[_Soak, _Soak]:
    if len(directories) == 1 and is_comparison(directories[0]):
        directories = [directories[0] / folder for folder in FOLDERS]
    if len(directories) != 2:
        raise RequestError(
            "--boot-stages compares two soaks, or a directory of whylate board soak --compare"
        )
    above = directories[0].resolve().parent
    folders = [directory.resolve() for directory in directories]
    if is_comparison(above) and sorted(folders) == sorted(above / name for name in FOLDERS):
        ours = [FOLDERS.index(directory.name) for directory in folders]
        pairs, names = paired_cycles(above), side_names(above)
        chosen = [[_boot(pair[which], str(n)) for n, pair in enumerate(pairs)] for which in ours]
        whole = [n for n, boots in enumerate(zip(*chosen, strict=True)) if all(boots)]
        sides = [
            _side(names[which], directory, [boots[n] for n in whole], len(boots))
            for which, directory, boots in zip(ours, folders, chosen, strict=True)
        ]
    else:
        sides = []
        for directory in directories:
            cycles = [each for each in read_soak(directory)[1] if each.outcome != "interrupted"]
            sides.append(
                _side(directory.name, directory, [_boot(each, "") for each in cycles], len(cycles))
            )
    return sides[0], sides[1]


def _side(name: str, directory: Path, boots: Sequence[_Boot | None], cycles: int) -> _Soak:
    there = [boot for boot in boots if boot is not None]
    if not there:
        raise RecordingError(
            f"{directory} has no boot whose console was read: nothing is known of its stages"
        )
    if len(there) > MOST_BOOTS:
        raise RequestError(f"{directory} has {len(there)} boots: at most {MOST_BOOTS} are compared")
    plan = read_soak(directory)[0]
    return _Soak(name, directory, plan, there, cycles - len(there))


def _boot(cycle: Cycle, pair: str) -> _Boot | None:
    """Return a cycle's boot; None where it did not come up, or its console was not read."""
    if cycle.boot_stages is None or cycle.boot_s is None:
        return None
    return _Boot(cycle, {stage.name: stage for stage in cycle.boot_stages}, cycle.boot_s, pair)


def _looked_for(sides: tuple[_Soak, _Soak]) -> tuple[list[str], list[str]]:
    """Return the stages that both soaks look for by the same patterns, and by others."""
    ours, theirs = (stages_of(side.plan) for side in sides)
    same = [name for name in ours if list(ours[name]) == list(theirs.get(name, ()))]
    return same, [name for name in {**ours, **theirs} if name not in same]


def _in_all(name: str, boots: Sequence[_Boot]) -> bool:
    return all(name in boot.stages for boot in boots)


def _in_one_order(names: Sequence[str], boots: Sequence[_Boot]) -> list[str]:
    """Return those stages that all boots show in the same order, with UP where a board is up.

    Where boots differ, the stage that is out of order most often is left out, and so on.
    """
    orders = Counter(tuple(_order(names, boot)) for boot in boots)
    while True:
        kept = next(iter(orders))
        inverted: Counter[str] = Counter()
        for order, count in orders.items():
            at = {name: number for number, name in enumerate(order)}
            for pair in combinations(kept, 2):
                if at[pair[0]] > at[pair[1]]:
                    inverted.update(dict.fromkeys(pair, count))
        del inverted[UP]
        if not inverted:
            return list(kept)
        odd = max(inverted, key=lambda name: inverted[name])
        shorter: Counter[tuple[str, ...]] = Counter()
        for order, count in orders.items():
            shorter[tuple(name for name in order if name != odd)] += count
        orders = shorter


def _order(names: Sequence[str], boot: _Boot) -> list[str]:
    """Return the stages of a boot in the order of its console, and where the board was up."""
    there = [stage for name, stage in boot.stages.items() if name in names]
    # A time may be too late by within_s.
    before = [stage.name for stage in there if stage.at_s - stage.within_s <= boot.boot_s]
    return [*before, UP, *(stage.name for stage in there if stage.name not in before)]


class _Steps:
    """The steps between stages that all boots show."""

    def __init__(self, stages: Sequence[str], boots: Sequence[_Boot]) -> None:
        self._stages = stages
        #: Steps that the kernel's clock tells in every boot.
        self._by_kernel = {
            step
            for step in pairwise(stages)
            if all(_kernel_s(boot, step) is not None for boot in boots)
        }
        #: In how many boots a step was shorter than its clock tells.
        self._short: dict[str, int] = {}

    def times(self, boot: _Boot) -> dict[str, float]:
        """Return the time of each step, in s, and of the whole boot."""
        took = {}
        for step in pairwise((POWER, *self._stages)):
            by_kernel = step in self._by_kernel
            seconds = _kernel_s(boot, step) if by_kernel else _host_s(boot, step)
            least = _KERNEL_S if by_kernel else _HOST_S
            name = " → ".join(step)
            if seconds is None or seconds < least:
                self._short[name] = self._short.get(name, 0) + 1
                seconds = least
            took[name] = min(seconds, _MOST_S)
        return {**took, WHOLE: min(max(boot.boot_s, _HOST_S), _MOST_S)}

    def cautions(self) -> list[str]:
        """Say which steps were shorter than can be told; they count as that long."""
        return [
            f"{name} was shorter in {count} boot{'s' if count > 1 else ''} than its clock can "
            "tell, and counts as that"
            for name, count in self._short.items()
        ]


def _kernel_s(boot: _Boot, step: tuple[str, str]) -> float | None:
    """Return a step by the kernel's clock; None where it tells none, or goes back."""
    before, after = (boot.stages[name].kernel_s if name != UP else None for name in step)
    return after - before if before is not None and after is not None and after >= before else None


def _host_s(boot: _Boot, step: tuple[str, str]) -> float:
    at_s = {POWER: 0.0, UP: boot.boot_s}
    before_s, after_s = (at_s[name] if name in at_s else boot.stages[name].at_s for name in step)
    return after_s - before_s


def _arm(side: _Soak, steps: _Steps, statistics: tuple[Statistic, ...], *, in_pairs: bool) -> Arm:
    beside = {"board": side.plan.board}
    if not in_pairs:
        # Of the sides of a comparison it is what is compared.
        beside["added to the command line"] = " ".join(side.plan.kernel_args) or "nothing"
    runs = []
    for boot in side.boots:
        name = f"{side.directory} cycle {boot.cycle.cycle}"
        runs.append(
            Run(
                name,
                {
                    step: exact_value(math.log(took * 1e9))
                    for step, took in steps.times(boot).items()
                },
                1,
                boot=name,
                made=boot.cycle.started,
                beside=beside,
                pair=boot.pair,
                statistics=statistics,
                by_points=True,
                identity=hashlib.sha256(msgspec.json.encode(boot.cycle)).hexdigest(),
            )
        )
    return Arm(side.name, tuple(runs))


def _judged(row: StatisticRow, comparison: Comparison, alpha: float) -> StatisticRow:
    """Return a row with its own verdict; its p is adjusted for all rows."""
    verdict: Verdict = "same" if row.within else "inconclusive"
    is_apart = row.low is not None and row.high is not None and not row.low <= 1 <= row.high
    if comparison.verdict == "no verdict" or row.p is None:
        verdict = "no verdict"
    elif row.p <= alpha and is_apart and not row.within:
        verdict = "worse" if (row.ratio or 0.0) > 1 else "better"
    return msgspec.structs.replace(row, verdict=verdict)


def _refused(names: Sequence[str], sides: tuple[_Soak, _Soak]) -> list[StatisticRow]:
    """Return a row for each stage that some boots show, and that is none of all boots' stages."""
    rows = []
    for name in names:
        counts = [sum(name in boot.stages for boot in side.boots) for side in sides]
        if not any(counts):
            continue
        shown = " and ".join(
            f"{count} of {len(side.boots)} boots of {letter}"
            for letter, count, side in zip("AB", counts, sides, strict=True)
        )
        why = f"{name} was seen in {shown}"
        if counts == [len(side.boots) for side in sides]:
            why += ", but not always in the same order"
        rows.append(
            StatisticRow(
                name, refused=f"{why}: nothing is concluded about it", verdict="no verdict"
            )
        )
    return rows


def _cautions(
    sides: tuple[_Soak, _Soak], unclear: Sequence[str], other_patterns: Sequence[str]
) -> list[str]:
    texts = []
    never = [
        name
        for name in unclear
        if not any(name in boot.stages for side in sides for boot in side.boots)
    ]
    if never:
        texts.append(f"never seen, so that nothing is concluded about it: {', '.join(never)}")
    if other_patterns:
        texts.append(
            "not compared, since only one side looks for it or each by other words: "
            f"{', '.join(other_patterns)}"
        )
    for letter, side in zip("AB", sides, strict=True):
        if side.left_out:
            texts.append(
                f"{side.left_out} of {side.left_out + len(side.boots)} cycles of {letter} are left "
                "out: they, or those in pairs with them, did not come up or have no console; what "
                "is found holds for boots that come up"
            )
        again = [b for b in side.boots if any(stage.times > 1 for stage in b.stages.values())]
        if again:
            texts.append(
                f"in {len(again)} of {len(side.boots)} boots of {letter} a stage was seen again, "
                "as after a reset: its step begins with the first time"
            )
    return texts
