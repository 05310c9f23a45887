"""Runs on several boards side by side, and repetitions of one in virtual time.

Each board is held, booted, measured and left by a thread of its own. What goes wrong with one is
that board's outcome and does not touch the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from whylate.boards.board import Board, BoardError, PlannedBoard
from whylate.boards.ready import Boot, boot, held, ready
from whylate.lab.errors import LabError
from whylate.probe.client import ProbeError
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.measure import measure
from whylate.run.progress import Observer
from whylate.run.unattended import measure_unattended

#: What a run may end with that is not a defect of ours.
FAILURES = (LabError, BoardError, ProbeError, DiskError, RecordingError, RequestError)


@dataclass(frozen=True)
class Job:
    """A run that is to be made: on which board, what, and where the recording goes.

    boot: has the board up. around: entered with the board that is ready, and left when it was
    measured. Neither in virtual time, where a board boots with its plan and nobody talks to it.
    """

    name: str
    open: Callable[[], Board]
    plan: RunPlan
    directory: Path
    observer: Observer
    boot: Boot = boot
    around: Callable[[Board], AbstractContextManager[object]] = nullcontext
    #: In virtual time: see measure_unattended().
    disguise: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a job."""

    job: Job
    #: One of FAILURES, where something went wrong.
    error: Exception | None
    #: Whether there is a recording all the same: what went wrong may be leaving the board.
    recorded: bool


def carry_out(job: Job, stopped: Callable[[], bool]) -> Outcome:
    """Make one run, from taking the board to leaving it."""
    recorded = False
    try:
        board = job.open()
        if job.plan.virtual_time:
            with held(planned(board), job.observer.log) as virtual:
                measure_unattended(
                    virtual, job.plan, job.directory, job.observer, stopped, job.disguise
                )
                recorded = True
        else:
            with ready(board, job.observer.log, job.boot), job.around(board):
                measure(board, job.plan, job.directory, job.observer, stopped)
                recorded = True
    except FAILURES as failure:
        return Outcome(job, failure, recorded)
    return Outcome(job, None, recorded)


def planned(board: Board) -> PlannedBoard:
    """Return the board as one that has virtual time; raises BoardError for one that has not."""
    if not hasattr(board, "carry_out"):
        raise BoardError(
            f"{board.name} has no virtual time: only virtual boards have (whylate board list)"
        )
    return board  # type: ignore[return-value]


def carry_out_rounds(rounds: Sequence[Sequence[Job]], stopped: Callable[[], bool]) -> list[Outcome]:
    """Make the runs of several boards side by side, those of each board one after the other.

    rounds: the jobs of each board. One board's failure never stops the others; after one of its
    own a board's further jobs are left out.
    """
    outcomes: list[list[Outcome]] = [[] for _ in rounds]

    def run(jobs: Sequence[Job], mine: list[Outcome]) -> None:
        for number, job in enumerate(jobs):
            if number and stopped():
                left = f"{len(jobs) - number} of {len(jobs)} runs were not made: ended early"
                mine.append(Outcome(job, RequestError(left), recorded=False))
                return
            mine.append(_carry_out_any(job, stopped))
            if mine[-1].error is not None:
                return

    threads = [
        threading.Thread(target=run, args=(jobs, mine), name=f"measure-{jobs[0].name}")
        for jobs, mine in zip(rounds, outcomes, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcome for mine in outcomes for outcome in mine]


def _carry_out_any(job: Job, stopped: Callable[[], bool]) -> Outcome:
    try:
        return carry_out(job, stopped)
    except Exception as failure:  # a defect of ours, which must not take the others along
        error = BoardError(f"this is a defect of whylate: {type(failure).__name__}: {failure}")
        return Outcome(job, error, recorded=False)


def phases(job: Job, count: int) -> list[Job]:
    """Return `count` repetitions of a job in virtual time, each from another phase and seed.

    The phases divide the interval evenly. Each repetition has a directory below the job's.
    """
    activations = job.plan.activations
    interval_ns = activations.interval_ns if activations is not None else 0
    return [
        replace(
            job,
            directory=job.directory / f"phase-{number:0{len(str(count))}d}",
            plan=with_phase(
                msgspec.structs.replace(job.plan, seed=job.plan.seed + number),
                number * interval_ns // count,
            ),
        )
        for number in range(count)
    ]


def with_phase(plan: RunPlan, phase_ns: int) -> RunPlan:
    """Return a plan whose first activation is due so much later, if it has a schedule."""
    activations = plan.activations
    if activations is None or not activations.interval_ns:
        return plan
    phase_ns += activations.phase_ns
    return msgspec.structs.replace(
        plan, workload=msgspec.structs.replace(plan.workload, phase_ns=phase_ns)
    )
