"""The view of a running bisection: what runs, and the value of each run."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from rich.text import Text

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.cli.live import LiveView
from whylate.compare.words import amount_text
from whylate.quantities import format_seconds_up
from whylate.run.progress import Observer, Quiet
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.stats.search.model import Candidate, Hybrid
    from whylate.stats.search.standing import Standing

#: The last runs that stay in sight on a terminal.
_SHOWN = 6


class BisectView(LiveView):
    """Shows a bisection on stderr: live lines on a terminal, a line for each made elsewhere."""

    def __init__(self, sets: Sets) -> None:
        super().__init__()
        self._sets = sets
        self._plan = sets.plan
        self._lock = threading.Lock()
        self._now: dict[str, str] = {}
        self._last: list[str] = []
        self._began = time.monotonic()
        self._ended = 0
        self._leading: list[str] = []
        self._expected: int | None = None

    def observer(self, board: str) -> Observer:
        """Return an observer that shows nothing: run_begins() has named the run."""
        del board
        return Quiet()

    def run_begins(self, number: int, board: str, hybrid: Hybrid) -> None:
        """Show that a made begins."""
        chosen, count = int(hybrid.in_force.sum()), len(hybrid.in_force)
        what = {0: self._plan.first.name, count: self._plan.second.name}.get(
            chosen, f"{chosen} of {count} {self._sets.nouns.plural} of {self._plan.second.name}"
        )
        text = f"{board}: run {number} of at most {self._plan.runs}, {hybrid.purpose}, {what}"
        with self._lock:
            self._now[board] = text + self._time_left(number)
        if self._live is not None:
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
        if self._live is not None:
            self._draw()

    def _named(self, candidate: Candidate) -> str:
        items = self._sets.items
        known = [items[item].name for item in candidate.items if item < len(items)]
        if not known:
            return "something that is not listed"
        more = f" and {len(known) - 1:,} more" if len(known) > 1 else ""
        return f"{known[0]}{more}"

    def run_ends(self, made: MadeRun) -> None:
        """Show the value of a made, or why it has none."""
        with self._lock:
            self._ended += 1
            now = self._now.pop(made.board, made.board)
            outcome = (
                f"untestable: {made.untestable}"
                if made.value is None
                else f"{self._plan.statistic} {amount_text(math.exp(made.value), made.unit)}"
            )
            self._last = [*self._last[1 - _SHOWN :], f"{now}: {outcome}"]
            text = self._last[-1]
        if self._live is None:
            self._print(plain(text, 400))
        else:
            self._draw()

    def log(self, text: str) -> None:
        """Print a line that stays."""
        self._print(text)

    def _time_left(self, number: int) -> str:
        if not self._ended:
            return ""
        run_s = (time.monotonic() - self._began) / self._ended
        most = format_seconds_up(run_s * max(self._plan.runs - number + 1, 0))
        if self._expected is None:
            return f", at most {most} to go"
        left = format_seconds_up(run_s * max(self._expected - number + 1, 1))
        return f", about {left} to go, at most {most}"

    def _draw(self) -> None:
        with self._lock:
            texts = [*self._leading, *self._last, *self._now.values()]
        if self._live is not None:
            self._update(*(Text(plain(text, 400), style="dim") for text in texts))
