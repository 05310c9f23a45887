"""The view of a running bisection: what runs, and the value of each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.cli.bisect.runs_view import RunsView
from whylate.compare.words import amount_text
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.stats.search.model import Candidate, Hybrid
    from whylate.stats.search.standing import Standing


class BisectView(RunsView):
    """Shows a bisection of a set of differences; earlier: runs of which its journal has a line."""

    def __init__(self, sets: Sets, earlier: Sequence[MadeRun] = ()) -> None:
        super().__init__([made.took_s for made in earlier], len(sets.plan.study.boards))
        self._sets = sets
        self._plan = sets.plan
        self._now: dict[str, str] = {}
        self._leading: list[str] = []
        self._expected: int | None = None

    def run_begins(self, number: int, board: str, hybrid: Hybrid) -> None:
        """Show that a run begins."""
        chosen, count = int(hybrid.in_force.sum()), len(hybrid.in_force)
        what = {0: self._plan.first.name, count: self._plan.second.name}.get(
            chosen, f"{chosen} of {count} {self._sets.nouns.plural} of {self._plan.second.name}"
        )
        text = f"{board}: run {number} of at most {self._plan.runs}, {hybrid.purpose}, {what}"
        with self._lock:
            self._now[board] = text + self._time_left(number)
        self._draw()

    def show_standing(self, standing: Standing) -> None:
        """Show which differences lead, and how probable each is to be a part of the answer."""
        lines = [
            f"  {100 * candidate.probability:3.0f} %  {self._named(candidate)}"
            for candidate in standing.leading
        ]
        with self._lock:
            self._expected = standing.runs
            # Where there is no terminal, only what is new.
            news = lines if self._live is None and lines != self._leading else []
            self._leading = lines
        for line in news:
            self._print(plain(line, 400))
        self._draw()

    def _named(self, candidate: Candidate) -> str:
        items = self._sets.items
        known = [items[item].name for item in candidate.items if item < len(items)]
        if not known:
            return "something that is not listed"
        more = f" and {len(known) - 1:,} more" if len(known) > 1 else ""
        return f"{known[0]}{more}"

    def run_ends(self, made: MadeRun) -> None:
        """Show the value of a run, or why it has none."""
        with self._lock:
            now = self._now.pop(made.board, made.board)
        outcome = (
            f"untestable: {made.untestable}"
            if made.value is None
            else f"{self._plan.statistic} {amount_text(math.exp(made.value), made.unit)}"
        )
        self._show_ended(f"{now}: {outcome}")

    def _time_left(self, number: int) -> str:
        most = self._time_of(max(self._plan.runs - number + 1, 0))
        if not most:
            return ""
        if self._expected is None:
            return f", at most {most} to go"
        left = self._time_of(max(self._expected - number + 1, 1))
        return f", about {left} to go, at most {most}"

    def _texts(self) -> Sequence[str]:
        return [*self._leading, *self._last, *self._now.values()]
