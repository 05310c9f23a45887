"""The view of a running study: its comparisons so far, the present runs, and the time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from whylate.cli.live import LiveView
from whylate.quantities import format_seconds_up
from whylate.run.progress import Observer, Quiet
from whylate.study.model import PlannedRun, StudyPlan
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.study.results.evidence import Key, Standing


class StudyView(LiveView):
    """Shows a study on stderr: a live table on a terminal, a line for each run elsewhere."""

    def __init__(self, plan: StudyPlan) -> None:
        super().__init__()
        self._plan = plan
        self._lock = threading.Lock()
        self._now: dict[str, str] = {}
        self._standings: dict[Key, Standing] = {}
        self._began = time.monotonic()
        self._runs = 0

    def observer(self, board: str) -> Observer:
        """Return an observer that shows nothing: run_begins() has named the run."""
        del board
        return Quiet()

    def run_begins(self, place: PlannedRun) -> None:
        """Show which run begins."""
        with self._lock:
            self._runs += 1
            text = (
                f"{place.board}: round {place.round} of at most {self._plan.stop.looks[-1]}, "
                f"{place.load}, {place.variant}{self._time_left(place)}"
            )
            self._now[place.board] = text
        if self._live is None:
            self._print(text)
        else:
            self._draw()

    def log(self, text: str) -> None:
        """Print a line that stays."""
        self._print(text)

    def show_standings(self, standings: Mapping[Key, Standing]) -> None:
        """Show the state of all comparisons."""
        with self._lock:
            self._standings = dict(standings)
        self._draw()

    def _time_left(self, place: PlannedRun) -> str:
        """Return an upper estimate of the time left, from the mean time of a run so far."""
        from whylate.study.results.evidence import rounds_left

        if self._runs < 2:
            return ""
        standings = [
            standing for key, standing in self._standings.items() if key.board == place.board
        ]
        run_s = (time.monotonic() - self._began) / (self._runs - 1) * len(self._plan.boards)
        rounds = rounds_left(self._plan, standings)
        runs = rounds * len(self._plan.variants) * len(self._plan.loads)
        return f", at most {format_seconds_up(run_s * runs)} to go" if runs else ""

    def _draw(self) -> None:
        from whylate.study.results.table import standings_table

        if self._live is None:
            return
        with self._lock:
            most = self._plan.stop.looks[-1]
            table = standings_table((standing, most) for standing in self._standings.values())
            lines = [Text(plain(text, 400), style="dim") for text in self._now.values()]
        self._update(table, *lines)
