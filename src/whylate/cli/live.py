"""What is seen while a run goes: one live line on a terminal, a line per step elsewhere."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from whylate.quantities import format_count, format_ns, format_rate
from whylate.run.progress import Observer, Progress, Step
from whylate.text import plain

#: High-water marks that stay in sight.
MARKS = 4


class LiveView:
    """Shows steps and progress on stderr; leaves nothing behind on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._text = ""
        self._measuring = False
        self._progress: Progress | None = None
        self._marks: deque[Text] = deque(maxlen=MARKS)
        self._highest: int | None = None
        self._live: Live | None = None
        self._gone = False

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def _begin(self, text: str, *, measuring: bool) -> None:
        self._text, self._measuring = text, measuring
        if self._live is not None:
            self._show()
        elif not self._gone:
            self._say(f"whylate: {text} …")

    def progress(self, progress: Progress) -> None:
        """Say how far the measuring is."""
        self._progress = progress
        if progress.max_ns is not None and (
            self._highest is None or progress.max_ns > self._highest
        ):
            self._highest = progress.max_ns
            self._marks.append(
                Text(
                    f"{progress.elapsed_s:8.1f} s  new maximum {format_ns(progress.max_ns)} "
                    f"on CPU {progress.max_cpu}",
                    style="dim",
                )
            )
        if self._live is not None:
            self._show()

    def _say(self, text: str) -> None:
        try:
            self._console.print(Text(plain(text, 1000)))
        except OSError:
            self._gone = True  # nobody looks any more; the run goes on

    def _show(self) -> None:
        if self._live is None or self._gone:
            return
        lines: list[RenderableType] = [Text(f"{plain(self._text, 400)} …")]
        if self._progress is not None and self._measuring:
            lines = [*self._marks, _line(self._progress)]
        try:
            self._live.update(Group(*lines), refresh=True)
        except OSError:
            self._gone = True


def _line(progress: Progress) -> Text:
    line = Text()
    line.append(f"{progress.elapsed_s:8.1f} s", style="bold")
    if progress.turn is not None:
        turn = progress.turn
        left_s = (
            progress.elapsed_s / turn.number * (turn.count - turn.number) if turn.number else None
        )
        line.append(f"  turn {turn.number + 1} of {turn.count}  {plain(turn.point, 80)}")
        line.append("" if left_s is None else f"  {left_s:.0f} s left", style="dim")
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

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        super().__init__(console)
        self._names = list(names)
        self._lines: dict[str, Text] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> Observer:
        """Return the observer of one board's run."""
        return self if len(self._names) == 1 else _OneOfMany(self, name)

    def tell(self, name: str, line: Text, *, phase: bool) -> None:
        """Show what a board does now; called by the threads of all of them."""
        with self._lock:
            self._lines[name] = line
            if self._live is None:
                if phase and not self._gone:
                    self._say(f"whylate: {name}: {line.plain}")
                return
            width = max(map(len, self._names))
            shown = [
                Text.assemble((plain(f"{one:{width}}  "), "bold"), self._lines[one])
                for one in self._names
                if one in self._lines
            ]
            try:
                self._live.update(Group(*shown), refresh=True)
            except OSError:
                self._gone = True


class _OneOfMany:
    """The observer of one of several boards."""

    def __init__(self, view: BoardsView, name: str) -> None:
        self._view = view
        self._name = name

    def log(self, text: str) -> None:
        """Show what the board does."""
        self._view.tell(self._name, Text(f"{plain(text, 400)} …"), phase=True)

    def step(self, step: Step) -> None:
        """Show that a step of the run begins."""
        self.log(step.value)

    def progress(self, progress: Progress) -> None:
        """Say how far the measuring is."""
        self._view.tell(self._name, _line(progress), phase=False)
