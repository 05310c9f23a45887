"""What is shown while a run goes: one live line on a terminal, a line for each step elsewhere."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from whylate.quantities import format_count, format_ns, format_rate
from whylate.report.plain_console import plain_console
from whylate.run.progress import Observer, Progress, Step
from whylate.text import plain

#: New maxima that stay in sight.
SHOWN_MAXIMA = 4


class LiveView:
    """Shows steps and progress on stderr; leaves nothing behind on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or plain_console(stderr=True)
        self._measuring = False
        self._progress: Progress | None = None
        self._maxima: deque[Text] = deque(maxlen=SHOWN_MAXIMA)
        self._max_ns: int | None = None
        self._live: Live | None = None
        #: Nobody reads the output any more; the run goes on.
        self._closed = False

    @property
    def is_terminal(self) -> bool:
        """Whether there are live lines."""
        return self._console.is_terminal

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Give the terminal back."""
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()

    def log(self, text: str) -> None:
        """Show what the board does."""
        self._begin(text, measuring=False)

    def step(self, step: Step) -> None:
        """Show that a step of the run begins."""
        self._begin(step.value, measuring=step is Step.MEASURE)

    def progress(self, progress: Progress) -> None:
        """Show how far the measurement is."""
        self._progress = progress
        if progress.max_ns is not None and (self._max_ns is None or progress.max_ns > self._max_ns):
            self._max_ns = progress.max_ns
            text = f"new maximum {format_ns(progress.max_ns)} on CPU {progress.max_cpu}"
            self._maxima.append(Text(f"{progress.elapsed_s:8.1f} s  {text}", style="dim"))
        if self._measuring:
            self._update(*self._maxima, progress_line(progress))

    def _begin(self, text: str, *, measuring: bool) -> None:
        self._measuring = measuring
        if self._live is None:
            self._print(f"{text} …")
        elif measuring and self._progress is not None:
            self._update(*self._maxima, progress_line(self._progress))
        else:
            self._update(Text(f"{plain(text, 400)} …"))

    def _print(self, text: str) -> None:
        """Print a line that stays."""
        if not self._closed:
            try:
                self._console.print(Text(plain(f"whylate: {text}", 1000)))
            except OSError:
                self._closed = True

    def _update(self, *lines: RenderableType) -> None:
        """Replace the live lines of a terminal."""
        if self._live is not None and not self._closed:
            try:
                self._live.update(Group(*lines), refresh=True)
            except OSError:
                self._closed = True


def progress_line(progress: Progress) -> Text:
    """Return how far a run is, in one line."""
    line = Text()
    line.append(f"{progress.elapsed_s:8.1f} s", style="bold")
    if progress.turn is not None:
        turn = progress.turn
        line.append(f"  turn {turn.number + 1} of {turn.count}  {plain(turn.point, 80)}")
        if turn.number:
            left_s = progress.elapsed_s / turn.number * (turn.count - turn.number)
            line.append(f"  {left_s:.0f} s left", style="dim")
    else:
        line.append(f" of {progress.planned_s:.0f} s  ")
        line.append(f"{format_count(progress.seen)} activations")
    if progress.overruns:
        line.append(f", {format_count(progress.overruns)} overruns", style="yellow")
    if progress.max_ns is not None:
        line.append("  max ")
        line.append(format_ns(progress.max_ns), style="bold")
    for load in progress.loads:
        name = load.plan.kind + (f":{load.plan.count}" if load.plan.count > 1 else "")
        line.append(f"  {name} {format_rate(load.per_s, load.unit)}", style="dim")
    return line


class BoardsView(LiveView):
    """Shows the runs of several boards, a line for each; of one as LiveView does."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = list(names)
        self._lines: dict[str, Text] = {}
        self._lock = threading.Lock()

    def observer(self, name: str) -> Observer:
        """Return the observer of one board's run."""
        return self if len(self._names) == 1 else _BoardObserver(self, name)

    def show_board(self, name: str, line: Text, *, step: bool) -> None:
        """Show what a board does now; called by the threads of all of them.

        step: printed where there is no terminal.
        """
        with self._lock:
            self._lines[name] = line
            if self._live is None and step:
                self._print(f"{name}: {line.plain}")
            width = max(map(len, self._names))
            self._update(
                *(
                    Text.assemble((plain(f"{board:{width}}  "), "bold"), self._lines[board])
                    for board in self._names
                    if board in self._lines
                )
            )


class _BoardObserver:
    """The observer of one of several boards."""

    def __init__(self, view: BoardsView, name: str) -> None:
        self._view = view
        self._name = name

    def log(self, text: str) -> None:
        """Show what the board does."""
        self._view.show_board(self._name, Text(f"{plain(text, 400)} …"), step=True)

    def step(self, step: Step) -> None:
        """Show that a step of the run begins."""
        self.log(step.value)

    def progress(self, progress: Progress) -> None:
        """Show how far the measurement is."""
        self._view.show_board(self._name, progress_line(progress), step=False)
