"""Runs on several boards in parallel, and repetitions of a run in virtual time.

A thread for each board holds, boots, measures and leaves it. An error on one board is the outcome
of that board and does not affect the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from whylate.boards.board import Board, Networked, PlannedBoard
from whylate.boards.errors import BoardError
from whylate.boards.ready import Boot, boot, held, ready
from whylate.lab.errors import LabError
from whylate.probe.errors import ProbeError
from whylate.recording.device_loads import NIC
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.measure import measure
from whylate.run.preparation.board import prepared
from whylate.run.preparation.model import NOTHING, Preparation
from whylate.run.progress import Observer
from whylate.run.threads import wait_for_threads
from whylate.run.unattended import measure_unattended

#: What a run may raise that is no defect of whylate.
FAILURES = (LabError, BoardError, ProbeError, DiskError, RecordingError, RequestError)


@dataclass(frozen=True)
class Job:
    """A run to make: its board, its plan, and where the recording goes.

    boot: boots the board. around: a context that is entered when the board is ready, and left after
    the run. Neither is used in virtual time, where a board boots with its plan.
    """

    name: str
    open: Callable[[], Board]
    plan: RunPlan
    directory: Path
    observer: Observer
    boot: Boot = boot
    around: Callable[[Board], AbstractContextManager[object]] = nullcontext
    #: In virtual time, as of measure_unattended().
    disguise: str = ""
    #: What the board gets for the run.
    preparation: Preparation = NOTHING


@dataclass(frozen=True)
class Outcome:
    """The result of a job. error: one of FAILURES, or None.

    recorded: whether there is a recording; an error may have come after it, on leaving the board.
    """

    job: Job
    error: Exception | None
    recorded: bool


def carry_out(job: Job, stopped: Callable[[], bool]) -> Outcome:
    """Make one run, from taking the board to leaving it."""
    recorded = False
    try:
        board = job.open()
        if isinstance(board, Networked) and any(load.kind == NIC for load in job.plan.loads):
            board.use_network()
        if job.plan.virtual_time:
            with held(planned(board), job.observer.log) as virtual:
                measure_unattended(
                    virtual, job.plan, job.directory, job.observer, stopped, job.disguise,
                    job.preparation,
                )  # fmt: skip
                recorded = True
        else:
            with (
                ready(board, job.observer.log, job.boot),
                job.around(board),
                prepared(board, job.preparation),
            ):
                measure(board, job.plan, job.directory, job.observer, stopped)
                recorded = True
    except FAILURES as failure:
        return Outcome(job, failure, recorded)
    return Outcome(job, None, recorded)


def planned(board: Board) -> PlannedBoard:
    """Return the board if it has virtual time; raises BoardError if not."""
    if not hasattr(board, "carry_out"):
        raise BoardError(
            f"{board.name} has no virtual time, which only virtual boards have (whylate board list)"
        )
    return board  # type: ignore[return-value]


def carry_out_rounds(rounds: Sequence[Sequence[Job]], stopped: Callable[[], bool]) -> list[Outcome]:
    """Make the runs of several boards in parallel, those of each board in sequence.

    rounds: the jobs of each board. A failure ends the jobs of its own board alone.
    """
    outcomes: list[list[Outcome]] = [[] for _ in rounds]

    def run(jobs: Sequence[Job], results: list[Outcome]) -> None:
        for number, job in enumerate(jobs):
            if number and stopped():
                text = f"{len(jobs) - number} of {len(jobs)} runs were not made: ended early"
                results.append(Outcome(job, RequestError(text), recorded=False))
                return
            results.append(_carry_out_any(job, stopped))
            if results[-1].error is not None:
                return

    threads = [
        threading.Thread(target=run, args=(jobs, results), name=f"measure-{jobs[0].name}")
        for jobs, results in zip(rounds, outcomes, strict=True)
    ]
    for thread in threads:
        thread.start()
    wait_for_threads(threads)
    return [outcome for results in outcomes for outcome in results]


def _carry_out_any(job: Job, stopped: Callable[[], bool]) -> Outcome:
    try:
        return carry_out(job, stopped)
    except Exception as failure:  # a defect of whylate must not end the runs of other boards
        error = BoardError(f"this is a defect of whylate: {type(failure).__name__}: {failure}")
        return Outcome(job, error, recorded=False)


def phases(job: Job, count: int) -> list[Job]:
    """Return `count` repetitions of a job in virtual time, each with another phase and seed.

    The phases divide the interval evenly. Each repetition has a directory below that of the job.
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
    """Return a plan whose first activation is due later by phase_ns, if it has a schedule."""
    activations = plan.activations
    if activations is None or not activations.interval_ns:
        return plan
    phase_ns += activations.phase_ns
    return msgspec.structs.replace(
        plan, workload=msgspec.structs.replace(plan.workload, phase_ns=phase_ns)
    )
