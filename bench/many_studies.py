"""Many studies one after the other, each judged and forgotten, so that verdicts can be counted."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from whylate.compare.model import Comparison
from whylate.run.progress import Observer, Quiet
from whylate.stats.limits import binomial_limits
from whylate.study.attempt import Open
from whylate.study.carry_out import run_study
from whylate.study.journal import StudyJournal
from whylate.study.model import PlannedRun, StudyPlan
from whylate.study.results.evidence import Key, Standing


class Silent:
    """Shows nothing of a study."""

    def observer(self, board: str) -> Observer:
        """Return who is told of the runs of a board."""
        del board
        return Quiet()

    def run_begins(self, place: PlannedRun) -> None:
        """Ignore it."""

    def log(self, text: str) -> None:
        """Ignore it."""

    def show_standings(self, standings: Mapping[Key, Standing]) -> None:
        """Ignore it."""


def verdicts(plan: StudyPlan, open_board: Open) -> dict[str, Comparison]:
    """Make a study and return what it found of each variant beside the first."""
    with tempfile.TemporaryDirectory() as folder:
        with StudyJournal(Path(folder) / "study", plan) as journal:
            result = run_study(journal, plan, open_board, Silent(), lambda: False)
        if result.lost or result.stopped:
            sys.exit(f"a study is not whole: {result.lost}")
    return {
        key.variant: item.comparison
        for key, item in result.standings.items()
        if item.comparison is not None
    }


def rate(events: Sequence[bool]) -> str:
    """Write "57 of 60 (95.0 %; 95 % limits 86.1 % to 99.0 %, one-sided: at least 87.6 %)".

    The limits are Clopper's and Pearson's (1934).
    """
    n, k = len(events), sum(events)
    low, high = binomial_limits(k, n, 0.95)
    least, _ = binomial_limits(k, n, 0.90)
    return (
        f"{k} of {n} ({k / n:.1%}; 95 % limits {low:.1%} to {high:.1%}, one-sided: at least "
        f"{least:.1%})"
    )
