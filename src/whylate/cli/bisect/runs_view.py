"""What the views of bisections have in common: the last runs, and how long runs take."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from rich.text import Text

from whylate.cli.live import LiveView
from whylate.quantities import format_seconds_up
from whylate.run.progress import Observer, Quiet
from whylate.text import plain

#: The last runs that stay in sight on a terminal.
_SHOWN = 6


class RunsView(LiveView):
    """Shows a bisection on stderr: live lines on a terminal, a line for each run elsewhere.

    Any thread may call its methods. A view says with _texts() what stands on a terminal.
    earlier_s: how long each run took that an earlier process made, on so many boards side by side.
    """

    def __init__(self, earlier_s: Sequence[float], boards: int) -> None:
        super().__init__()
        self._earlier_s = sum(earlier_s) / boards
        self._earlier = len(earlier_s)
        self._lock = threading.Lock()
        self._last: list[str] = []
        self._began = time.monotonic()
        self._last_s = self._began
        self._ended = 0

    def observer(self, board: str) -> Observer:
        """Return an observer that shows nothing: run_begins() has named the run."""
        del board
        return Quiet()

    def log(self, text: str) -> None:
        """Print a line that stays."""
        self._print(text)

    def _texts(self) -> Sequence[str]:
        """Return the lines on a terminal; called with the lock held."""
        raise NotImplementedError

    def _show_ended(self, text: str) -> None:
        """Show a run that has ended."""
        line = plain(text, 400)
        with self._lock:
            self._ended += 1
            self._last_s = time.monotonic()
            self._last = [*self._last[1 - _SHOWN :], line]
        if self._live is None:
            self._print(line)
        self._draw()

    def _time_of(self, runs: int) -> str:
        """Return how long so many runs will take, by those so far; "" before the first."""
        count = self._earlier + self._ended
        if not count:
            return ""
        # The run in progress is not over: its time so far is of no run that has ended.
        here_s = self._last_s - self._began
        return format_seconds_up((self._earlier_s + here_s) / count * runs)

    def _draw(self) -> None:
        if self._live is None:
            return
        with self._lock:
            texts = [text for text in self._texts() if text]
        self._update(*(Text(plain(text, 400), style="dim") for text in texts))
