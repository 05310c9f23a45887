"""Where the evidence of a study stands: each variant beside the first, on each board and load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from scipy.stats import binom

from whylate.compare.judge import compare
from whylate.compare.model import Comparison
from whylate.compare.question import Question
from whylate.compare.runs import Arm, Run, read_run
from whylate.compare.tested import differences
from whylate.stats.comparison.stopping import joint_e_value, look_levels
from whylate.study.journal import whole_rounds
from whylate.study.model import FinishedRun, StudyPlan

ALPHA = 0.05


@dataclass(frozen=True)
class Key:
    """One comparison of a study."""

    board: str
    load: str
    variant: str


@dataclass(frozen=True)
class Standing:
    """Where a comparison stands.

    rounds: that are whole, of both. look: after how many of them it was last looked at; 0: not
    yet. found: what was seen then; None before. over: that no more runs are made for it. e_value:
    where it is looked at any time.
    """

    key: Key
    rounds: int
    look: int
    comparison: Comparison | None
    over: bool
    e_value: float | None = None


@dataclass(frozen=True)
class Failures:
    """Why runs of a comparison failed, which were then made again.

    base, variant: names of the sides; ours, theirs: of each, why.
    """

    base: str
    variant: str
    ours: list[str]
    theirs: list[str]

    def told(self, found: Comparison) -> Comparison:
        """Return a comparison with what failed: who fails more often is not better for the rest.

        The chance that so many of all failures are of one side, were they as likely of either, is
        at most 5 % where that counts.
        """
        cautions = [
            f"{len(why)} run{'s' if len(why) > 1 else ''} of {name} failed and "
            f"{'were' if len(why) > 1 else 'was'} made again: {why[0]}"
            for name, why in ((self.base, self.ours), (self.variant, self.theirs))
            if why
        ]
        found = msgspec.structs.replace(found, cautions=[*found.cautions, *cautions])
        both = len(self.ours) + len(self.theirs)
        by_chance = float(binom.sf(len(self.theirs) - 1, both, 0.5)) if both else 1.0
        if found.verdict in ("better", "same") and by_chance <= ALPHA:
            why = f"{found.why}, of the runs that did not fail, but {cautions[-1]}"
            return msgspec.structs.replace(found, verdict="no verdict", why=why)
        return found


def failures(key: Key, base: str, done: Sequence[FinishedRun]) -> Failures:
    """Return what failed of a comparison's runs."""
    of: dict[str, list[str]] = {base: [], key.variant: []}
    for one in done:
        if one.failed and (one.board, one.load) == (key.board, key.load):
            of.get(one.variant, []).append(one.failed)
    return Failures(base, key.variant, of[base], of[key.variant])


class Evidence:
    """Reads each recording once, and says how every comparison stands."""

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        self._directory = directory
        self._plan = plan
        self._runs: dict[str, Run] = {}
        self._standings: dict[Key, Standing] = {}
        self._failures = Failures("", "", [], [])

    def keys(self, board: str) -> list[Key]:
        """Return the comparisons of a board."""
        return [
            Key(board, load.name, variant.name)
            for load in self._plan.loads
            for variant in self._plan.variants[1:]
        ]

    def standing(self, key: Key, done: Sequence[FinishedRun]) -> Standing:
        """Say how a comparison stands after these runs; raises RecordingError.

        It is looked at only where the plan has a look, and what that found is final where it was
        decided: runs that were made since do not change it.
        """
        stands = self._standings.get(key)
        if stands is not None and stands.over:
            return stands
        self._failures = failures(key, self._plan.variants[0].name, done)
        sides = self._sides(key, done)
        rounds = len(sides[0])
        look = self._look(rounds)
        if stands is None or look != stands.look:
            stands = self._looked(key, sides, rounds, look)
        else:
            stands = Standing(
                key, rounds, stands.look, stands.comparison, stands.over, stands.e_value
            )
        self._standings[key] = stands
        return stands

    def runs(self, board: str, load: str, done: Sequence[FinishedRun]) -> dict[str, dict[int, Run]]:
        """Return the runs under a load, by variant and round, of rounds that are whole."""
        variants = [one.name for one in self._plan.variants]
        return {
            variant: {number: self._read(recording) for number, recording in rounds.items()}
            for variant, rounds in whole_rounds(done, board, load, variants).items()
        }

    def arms(self, board: str, load: str, done: Sequence[FinishedRun]) -> list[Arm]:
        """Return all variants under a load with their runs, those that have any."""
        found: dict[str, list[Run]] = {one.name: [] for one in self._plan.variants}
        for one in done:
            if (one.board, one.load) == (board, load) and not one.failed:
                found.get(one.variant, []).append(self._read(one.recording))
        return [Arm(name, tuple(runs)) for name, runs in found.items() if runs]

    def _sides(self, key: Key, done: Sequence[FinishedRun]) -> tuple[list[Run], list[Run]]:
        """Return the runs of rounds that both sides have, side by side."""
        variants = [self._plan.variants[0].name, key.variant]
        found = whole_rounds(done, key.board, key.load, variants)
        first, second = (
            [self._read(recording) for recording in found[variant].values()] for variant in variants
        )
        return first, second

    def _read(self, recording: str) -> Run:
        if recording not in self._runs:
            self._runs[recording] = read_run(self._directory / recording)
        return self._runs[recording]

    def _look(self, rounds: int) -> int:
        """Return the number of rounds at the last look that there was."""
        if self._plan.stop.kind == "anytime":
            return min(rounds, self._plan.stop.looks[-1])
        return max((one for one in self._plan.stop.looks if one <= rounds), default=0)

    def _looked(
        self, key: Key, sides: tuple[list[Run], list[Run]], rounds: int, look: int
    ) -> Standing:
        if not look:
            return Standing(key, rounds, 0, None, over=False)
        last = look >= self._plan.stop.looks[-1]
        if self._plan.stop.kind == "anytime":
            return self._any_time(key, sides, rounds, last=last)
        looks = tuple(self._plan.stop.looks)
        levels = look_levels(looks) if len(looks) > 1 else (ALPHA,)
        found = self._compare(key, sides, look, levels[looks.index(look)])
        over = last or found.verdict in ("better", "worse", "same")
        if not over and found.more_runs is not None:
            # Nothing is decided before the next look, however little seems to be missing.
            until_next = min(one for one in looks if one > look) - look
            more = max(found.more_runs, until_next)
            found = msgspec.structs.replace(found, more_runs=more)
        return Standing(key, rounds, look, found, over)

    def _any_time(
        self, key: Key, sides: tuple[list[Run], list[Run]], rounds: int, *, last: bool
    ) -> Standing:
        """Look at an e-process: it may be looked at as often as one likes.

        It alone says whether they differ: a test at 5 % after each round would call one true null
        hypothesis in four.
        """
        found = self._compare(key, sides, rounds, ALPHA)
        logs = differences(Arm("", tuple(sides[0])), Arm("", tuple(sides[1])))
        e_value = joint_e_value(logs)
        shown = e_value >= 1 / ALPHA
        if shown and found.verdict in ("inconclusive", "same") and found.p is not None:
            found = self._compare(key, sides, rounds, found.p)
        elif not shown and found.verdict in ("better", "worse"):
            why = f"{found.why}; the e-value is {e_value:.2g}, and {1 / ALPHA:.0f} would show it"
            found = msgspec.structs.replace(found, verdict="inconclusive", why=why)
        decided = shown and found.verdict in ("better", "worse", "same")
        return Standing(key, rounds, rounds, found, last or decided, e_value)

    def _compare(
        self, key: Key, sides: tuple[list[Run], list[Run]], rounds: int, alpha: float
    ) -> Comparison:
        first, second = (tuple(side[:rounds]) for side in sides)
        question = Question(margins=self._plan.margins, alpha=alpha)
        base = self._plan.variants[0].name
        found = compare(Arm(base, first), Arm(key.variant, second), question)
        return self._failures.told(found)


def rounds_left(plan: StudyPlan, standings: Sequence[Standing]) -> int:
    """Return how many rounds there may still be, at the most."""
    open_ones = [one for one in standings if not one.over]
    return max((plan.stop.looks[-1] - one.rounds for one in open_ones), default=0)
