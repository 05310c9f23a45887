"""The view of a running bisection of an ordered history."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whylate.bisect.ordered.model import Kind, OrderedPlan, Step
from whylate.bisect.ordered.versions import Versions
from whylate.cli.bisect.runs_view import RunsView
from whylate.compare.words import amount_text
from whylate.stats.ordered_search.outlook import Outlook
from whylate.text import plain

#: Of a run that is none of the search.
_WHY: dict[Kind, str] = {
    "confirmation": ", to confirm",
    "kept": ", beside {last} without the culprit",
    "reverted": ", {last} without the culprit",
    "not reverted": ", {last} without the culprit",
}


class OrderedView(RunsView):
    """Shows a bisection of an ordered history; earlier: steps of which its journal has a line."""

    def __init__(self, plan: OrderedPlan, versions: Versions, earlier: Sequence[Step] = ()) -> None:
        runs_s = [step.took_s + step.brought_s for step in earlier if step.value is not None]
        super().__init__(runs_s, len(versions.boards))
        self._plan = plan
        self._versions = versions
        self._now = ""
        self._leading = ""
        self._runs_left: int | None = None

    def searching(self, outlook: Outlook) -> None:
        """Show which versions lead, and how long the search will take."""
        leads = [
            f"{self._versions.short(place)} {probability:.2f}"
            for place, probability in outlook.leading
        ]
        # The estimate grows towards the end, where a run tells little.
        self._runs_left = min(outlook.runs, self._runs_left or outlook.runs)
        left = f"about {self._runs_left} runs"
        if took := self._time_of(self._runs_left):
            left += f", {took}"
        self._leading = f"most probable: {', '.join(leads)}; {left} to go before it is confirmed"
        if self._live is None:
            self._print(plain(self._leading, 400))

    def run_begins(self, number: int, place: int, kind: Kind) -> None:
        """Show which version is made and run."""
        if kind != "run":
            self._leading = ""
        self._now = self._name(number, place, kind)
        self._draw()

    def step_ends(self, step: Step) -> None:
        """Show what became of it."""
        name = self._name(step.number, self._versions.place(step.version), step.kind)
        name = f"{step.board}: {name}" if step.board else name
        if step.value is not None:
            outcome = f"{self._plan.statistic} {amount_text(math.exp(step.value), step.unit)}"
        elif step.kind == "same":
            outcome = f"the same as {self._versions.short(self._versions.place(step.other))}"
        else:
            outcome = f"cannot be built or run: {step.reason}"
        self._show_ended(f"{name}: {outcome}")

    def _name(self, number: int, place: int, kind: Kind) -> str:
        versions = self._versions
        why = _WHY.get(kind, "").format(last=versions.nouns.last)
        return (
            f"{number}{why}: {versions.nouns.singular} {place} of "
            f"{len(versions.names) - 1}, {versions.title(place)[:80]}"
        )

    def _texts(self) -> Sequence[str]:
        return [*self._last, self._leading, f"{self._now} …"]
