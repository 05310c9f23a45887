"""What is seen while a study goes: the evidence so far, what runs now, and how long it takes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from whylate.cli.live import LiveView
from whylate.report.plain_console import plain_console
from whylate.run.progress import Observer, Progress, Step
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.study.model import PlannedRun, StudyPlan
    from whylate.study.results.evidence import Key, Standing


class StudyView(LiveView):
    """Shows a study on stderr: a live table on a terminal, a line for each run elsewhere."""

    def __init__(self, plan: StudyPlan) -> None:
        super().__init__(plain_console(stderr=True))
        self._plan = plan
        self._lock = threading.Lock()
        self._now: dict[str, str] = {}
        self._standings: dict[Key, Standing] = {}
        self._began = time.monotonic()
        self._runs = 0

    def observer(self, board: str) -> Observer:
        """Return who is told of the runs of a board."""
        return _OfBoard(self, board)

    def run_begins(self, place: PlannedRun) -> None:
        """Say which run begins."""
        with self._lock:
            self._runs += 1
            most = self._plan.stop.looks[-1]
            text = (
                f"{place.board}: round {place.round} of at most {most}, {place.load}, "
                f"{place.variant}{self._left(place)}"
            )
        if self._live is None:
            self._say(f"whylate: {text}")
        else:
            self.tell(place.board, text)

    def log(self, text: str) -> None:
        """Say something that stays in sight."""
        self._say(f"whylate: {text}")

    def show_standings(self, standings: Mapping[Key, Standing]) -> None:
        """Say how all comparisons stand."""
        with self._lock:
            self._standings = dict(standings)
        self._draw()

    def tell(self, board: str, text: str) -> None:
        """Show what a board does now."""
        with self._lock:
            self._now[board] = text
        self._draw()

    def _left(self, place: PlannedRun) -> str:
        """Say how much time is left at the most, from what a run took so far."""
        from whylate.quantities import format_seconds_up
        from whylate.study.results.evidence import rounds_left

        if self._runs < 2:
            return ""
        mine = [one for key, one in self._standings.items() if key.board == place.board]
        each_s = (time.monotonic() - self._began) / (self._runs - 1) * len(self._plan.boards)
        runs = rounds_left(self._plan, mine) * len(self._plan.variants) * len(self._plan.loads)
        return f", at most {format_seconds_up(each_s * runs)} to go" if runs else ""

    def _draw(self) -> None:
        from whylate.study.results.table import standings_table

        if self._live is None:
            return
        with self._lock:
            most = self._plan.stop.looks[-1]
            table = standings_table((one, most) for one in self._standings.values())
            lines = [Text(plain(text, 400), style="dim") for text in self._now.values()]
        with contextlib.suppress(OSError):
            self._live.update(Group(table, *lines), refresh=True)


class _OfBoard:
    """Tells the view of the runs of one board."""

    def __init__(self, view: StudyView, board: str) -> None:
        self._view = view
        self._board = board

    def log(self, text: str) -> None:
        """Ignore it: which run it is says more."""

    def step(self, step: Step) -> None:
        """Ignore it."""

    def progress(self, progress: Progress) -> None:
        """Ignore it."""
