"""The view of a running bisection of commits."""

from __future__ import annotations

import math

from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.model import CommitsPlan, Step
from whylate.cli.live import LiveView
from whylate.compare.words import amount_text
from whylate.run.progress import Observer, Quiet
from whylate.text import plain

_HASH = 12


class CommitsView(LiveView):
    """Shows a bisection on stderr: a line for each run."""

    def __init__(self, plan: CommitsPlan, commits: Commits) -> None:
        super().__init__()
        self._plan = plan
        self._commits = commits
        self._now = ""

    def observer(self, board: str) -> Observer:
        """Return an observer that shows nothing: run_begins() has named the run."""
        del board
        return Quiet()

    def run_begins(self, number: int, place: int, *, fresh: bool) -> None:
        """Remember which commit is built and run."""
        commits = self._commits
        why = ", to confirm" if fresh else ""
        self._now = (
            f"{number}{why}: commit {place} of {len(commits.hashes) - 1}, "
            f"{commits.hashes[place][:_HASH]} {commits.subjects[place][:60]}"
        )

    def step_ends(self, step: Step) -> None:
        """Show what became of it."""
        if step.value is not None:
            outcome = f"{self._plan.statistic} {amount_text(math.exp(step.value), step.unit)}"
        elif step.kind == "same":
            outcome = f"the same binary as {step.other[:_HASH]}"
        else:
            outcome = f"cannot be built or run: {step.reason}"
        self._print(plain(f"{self._now}: {outcome}", 400))

    def log(self, text: str) -> None:
        """Print a line that stays."""
        self._print(text)
