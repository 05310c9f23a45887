"""The view of a running bisection of an ordered history."""

from __future__ import annotations

import math

from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.ordered.versions import Versions
from whylate.cli.live import LiveView
from whylate.compare.words import amount_text
from whylate.run.progress import Observer, Quiet
from whylate.text import plain


class OrderedView(LiveView):
    """Shows a bisection on stderr: a line for each run."""

    def __init__(self, plan: OrderedPlan, versions: Versions) -> None:
        super().__init__()
        self._plan = plan
        self._versions = versions
        self._now = ""

    def observer(self, board: str) -> Observer:
        """Return an observer that shows nothing: run_begins() has named the run."""
        del board
        return Quiet()

    def run_begins(self, number: int, place: int, *, fresh: bool) -> None:
        """Remember which version is made and run."""
        versions = self._versions
        why = ", to confirm" if fresh else ""
        self._now = (
            f"{number}{why}: {versions.nouns.singular} {place} of {len(versions.names) - 1}, "
            f"{versions.title(place)[:80]}"
        )

    def step_ends(self, step: Step) -> None:
        """Show what became of it."""
        if step.value is not None:
            outcome = f"{self._plan.statistic} {amount_text(math.exp(step.value), step.unit)}"
        elif step.kind == "same":
            outcome = f"the same as {self._versions.short(self._versions.place(step.other))}"
        else:
            outcome = f"cannot be built or run: {step.reason}"
        self._print(plain(f"{self._now}: {outcome}", 400))

    def log(self, text: str) -> None:
        """Print a line that stays."""
        self._print(text)
