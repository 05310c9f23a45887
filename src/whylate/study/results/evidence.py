"""The state of each comparison of a study: a variant with the first, on a board under a load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from whylate.compare.hits import demands_of_sides
from whylate.compare.judge import compare
from whylate.compare.model import Comparison, Question
from whylate.compare.runs import Arm, Run, read_run
from whylate.compare.tested import differences
from whylate.stats.comparison.stopping import joint_e_value, look_levels
from whylate.study.journal import whole_rounds
from whylate.study.model import FinishedRun, StudyPlan
from whylate.study.studied import studied_by

ALPHA = 0.05


@dataclass(frozen=True)
class Key:
    """One comparison of a study."""

    board: str
    load: str
    variant: str


@dataclass(frozen=True)
class Standing:
    """The state of a comparison.

    rounds: whole rounds of both sides. look: rounds at the last look; 0: none yet. comparison: its
    result; None before. over: no more runs are made for it. e_value: of the rule anytime.
    """

    key: Key
    rounds: int
    look: int
    comparison: Comparison | None
    over: bool
    e_value: float | None = None


@dataclass(frozen=True)
class Failures:
    """Why runs of a comparison failed and were made again, by the name of their side."""

    base: str
    variant: str
    reasons: Mapping[str, Sequence[str]]

    def add_to(self, comparison: Comparison) -> Comparison:
        """Return a comparison with its failed runs.

        A variant that fails more often is not better or the same: it gets no verdict if the chance
        of so many of all failures on its side, if each side were as likely, is at most 5 %.
        """
        from scipy.special import bdtrc

        cautions = []
        for side, reasons in self.reasons.items():
            if reasons:
                runs = "1 run" if len(reasons) == 1 else f"{len(reasons)} runs"
                again = "was" if len(reasons) == 1 else "were"
                cautions.append(f"{runs} of {side} failed and {again} made again: {reasons[0]}")
        comparison = msgspec.structs.replace(comparison, cautions=[*comparison.cautions, *cautions])
        count = len(self.reasons[self.variant])
        total = count + len(self.reasons[self.base])
        by_chance = float(bdtrc(count - 1, total, 0.5)) if total else 1.0
        if comparison.verdict in ("better", "same") and by_chance <= ALPHA:
            why = f"{comparison.why}, of the runs that did not fail, but {cautions[-1]}"
            return msgspec.structs.replace(comparison, verdict="no verdict", why=why)
        return comparison


def failures(key: Key, base: str, done: Sequence[FinishedRun]) -> Failures:
    """Return the failures of a comparison's runs."""
    reasons: dict[str, list[str]] = {base: [], key.variant: []}
    for run in done:
        if run.failed and (run.board, run.load) == (key.board, key.load):
            reasons.get(run.variant, []).append(run.failed)
    return Failures(base, key.variant, reasons)


class Evidence:
    """Reads each recording once, and judges every comparison by the stopping rule."""

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        self._directory = directory
        self._plan = plan
        self._base = plan.variants[0].name
        self._runs: dict[str, Run] = {}
        self._standings: dict[Key, Standing] = {}

    def keys(self, board: str) -> list[Key]:
        """Return the comparisons of a board."""
        return [
            Key(board, load.name, variant.name)
            for load in self._plan.loads
            for variant in self._plan.variants[1:]
        ]

    def standing(self, key: Key, done: Sequence[FinishedRun]) -> Standing:
        """Return the state of a comparison after these runs; raises RecordingError.

        A comparison is made only where the plan has a look. A decision is final: later runs do not
        change it.
        """
        former = self._standings.get(key)
        if former is not None and former.over:
            return former
        base, variant = self.runs(key.board, key.load, done, (self._base, key.variant)).values()
        looker = _Looker(
            key,
            self._plan,
            Arm(self._base, tuple(base.values())),
            Arm(key.variant, tuple(variant.values())),
            failures(key, self._base, done),
        )
        if former is None or looker.look != former.look:
            standing = looker.standing()
        else:
            standing = replace(former, rounds=looker.rounds)
        self._standings[key] = standing
        return standing

    def runs(
        self,
        board: str,
        load: str,
        done: Sequence[FinishedRun],
        variants: Sequence[str] = (),
    ) -> dict[str, dict[int, Run]]:
        """Return the runs of whole rounds under a load, by variant and round.

        variants: which have to be in a round; (): all of the plan.
        """
        names = variants or [variant.name for variant in self._plan.variants]
        return {
            variant: {number: self._read(recording) for number, recording in rounds.items()}
            for variant, rounds in whole_rounds(done, board, load, names).items()
        }

    def arms(self, board: str, load: str, done: Sequence[FinishedRun]) -> list[Arm]:
        """Return the variants under a load that have runs, with all their runs."""
        runs: dict[str, list[Run]] = {variant.name: [] for variant in self._plan.variants}
        for run in done:
            if (run.board, run.load) == (board, load) and not run.failed and run.variant in runs:
                runs[run.variant].append(self._read(run.recording))
        return [Arm(name, tuple(of_variant)) for name, of_variant in runs.items() if of_variant]

    def _read(self, recording: str) -> Run:
        if recording not in self._runs:
            self._runs[recording] = read_run(self._directory / recording)
        return self._runs[recording]


class _Looker:
    """Looks at one comparison, by the stopping rule of the plan."""

    def __init__(
        self, key: Key, plan: StudyPlan, base: Arm, variant: Arm, failed: Failures
    ) -> None:
        self._key = key
        self._plan = plan
        self._base = base
        self._variant = variant
        self._failures = failed
        self.rounds = len(base.runs)
        looks = plan.stop.looks
        #: The number of rounds at the last look; 0: none yet.
        self.look = (
            min(self.rounds, looks[-1])
            if plan.stop.kind == "anytime"
            else max((look for look in looks if look <= self.rounds), default=0)
        )

    def standing(self) -> Standing:
        """Return the state of the comparison at the last look."""
        if not self.look:
            return Standing(self._key, self.rounds, 0, None, over=False)
        last = self.look >= self._plan.stop.looks[-1]
        if self._plan.stop.kind == "anytime":
            return self._any_time(last=last)
        looks = tuple(self._plan.stop.looks)
        levels = look_levels(looks) if len(looks) > 1 else (ALPHA,)
        comparison = self._compare(self.look, levels[looks.index(self.look)])
        over = last or comparison.verdict in ("better", "worse", "same")
        if not over and comparison.more_runs is not None:
            # The next look is the earliest decision, even if fewer runs seem to be missing.
            until_next = min(look for look in looks if look > self.look) - self.look
            more = max(comparison.more_runs, until_next)
            comparison = msgspec.structs.replace(comparison, more_runs=more)
        return Standing(self._key, self.rounds, self.look, comparison, over)

    def _any_time(self, *, last: bool) -> Standing:
        """Return the state by an e-process, which allows a look after every round.

        The e-value alone decides whether the sides differ: a test at 5 % after each round would
        reject one true null hypothesis in four.
        """
        comparison = self._compare(self.rounds, ALPHA)
        e_value = joint_e_value(differences(self._base, self._variant))
        shown = e_value >= 1 / ALPHA
        if shown and comparison.verdict in ("inconclusive", "same") and comparison.p is not None:
            comparison = self._compare(self.rounds, comparison.p)
        elif not shown and comparison.verdict in ("better", "worse"):
            why = (
                f"{comparison.why}; the e-value is {e_value:.2g}, and {1 / ALPHA:.0f} would show it"
            )
            comparison = msgspec.structs.replace(comparison, verdict="inconclusive", why=why)
        decided = shown and comparison.verdict in ("better", "worse", "same")
        return Standing(self._key, self.rounds, self.rounds, comparison, last or decided, e_value)

    def _compare(self, rounds: int, alpha: float) -> Comparison:
        base, variant = (
            replace(arm, runs=arm.runs[:rounds]) for arm in (self._base, self._variant)
        )
        question = Question(
            margins=self._plan.margins,
            alpha=alpha,
            hits=demands_of_sides(self._plan.hits, base.name, variant.name),
            studied=studied_by(self._plan, (base.name, variant.name)),
        )
        return self._failures.add_to(compare(base, variant, question))


def rounds_left(plan: StudyPlan, standings: Sequence[Standing]) -> int:
    """Return the most rounds that may still be made."""
    last = plan.stop.looks[-1]
    return max((last - standing.rounds for standing in standings if not standing.over), default=0)
