"""Progress of a run: typed steps and figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from whylate.recording.plan import LoadPlan


@dataclass(frozen=True)
class LoadRate:
    """A load and its present rate; None until it is known."""

    plan: LoadPlan
    unit: str
    per_s: float | None


class Step(Enum):
    """The steps of a run in their order, with the text that users read."""

    READ = "reading the board"
    WARM_UP = "warming up the loads"
    MEASURE = "measuring"
    WRITE = "writing the recording"


@dataclass(frozen=True)
class Turn:
    """The turn in progress: its number from 0, the number of turns, and the name of its point."""

    number: int
    count: int
    point: str


@dataclass(frozen=True)
class Progress:
    """How far the measurement is; times in seconds, latencies in ns. turn: of a benchmark."""

    elapsed_s: float
    planned_s: float
    seen: int
    overruns: int
    #: The highest latency so far, and the CPU it was on; None before the first sample.
    max_ns: int | None
    max_cpu: int | None
    loads: tuple[LoadRate, ...]
    turn: Turn | None = None


class Observer(Protocol):
    """Shows a run to the user."""

    def log(self, text: str) -> None:
        """Show what happens to the board: "booting virt-arm64"."""

    def step(self, step: Step) -> None:
        """Show that a step of the run begins."""

    def progress(self, progress: Progress) -> None:
        """Show how far the measurement is."""


class Quiet:
    """An observer that shows nothing."""

    def log(self, text: str) -> None:
        """Ignore it."""

    def step(self, step: Step) -> None:
        """Ignore it."""

    def progress(self, progress: Progress) -> None:
        """Ignore it."""
