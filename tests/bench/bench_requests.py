"""Short runs on the boards of the simulated bench."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.progress import Progress, Step


def request(seconds: float) -> RunPlan:
    """One CPU, a millisecond's interval."""
    return RunPlan(
        workload=Wakeup(
            duration_ns=int(seconds * 1e9), interval_ns=1_000_000, allow_idle_states=True
        ),
        cpus=[0],
    )


class Watcher:
    """Sees a run, and does something once samples have come."""

    def __init__(self, once_it_runs: Callable[[], None] | None = None) -> None:
        self.phases: list[str] = []
        self._then = once_it_runs
        self._thread: threading.Thread | None = None

    def log(self, text: str) -> None:
        self.phases.append(text)

    def step(self, step: Step) -> None:
        self.phases.append(step.value)

    def progress(self, progress: Progress) -> None:
        if progress.seen > 200 and self._then is not None:
            then, self._then = self._then, None
            # Not in the run's own thread: a cut supply does not ask the victim.
            self._thread = threading.Thread(target=then)
            self._thread.start()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
