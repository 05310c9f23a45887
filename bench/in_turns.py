"""Simulations in several processes, a repetition of every case in turns, for a stated time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context

from result_book import ResultBook, Row

#: Threads that a library of linear algebra starts: the processes are enough.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A repetition of a part. simulate: what another process can be sent."""

    part: str
    number: int
    simulate: Callable[[], Row]


def run_in_turns(book: ResultBook, jobs: Iterable[Job], processes: int, seconds: float) -> None:
    """Run the jobs whose rows are not there, in their order, and keep each row when it is there.

    After the time no further job starts, and those that run end: to drop them would leave out long
    searches rather than short ones.
    """
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    ends = time.monotonic() + seconds
    # Processes of their own, so that their libraries start with one thread.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running: dict[Future[Row], Job] = {}
        for job in jobs:
            if job.number in book.numbers(job.part):
                continue
            if time.monotonic() > ends:
                break
            running[pool.submit(job.simulate)] = job
            if len(running) > processes:
                _keep(book, running)
        while running:
            _keep(book, running)


def _keep(book: ResultBook, running: dict[Future[Row], Job]) -> None:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        job = running.pop(future)
        book.add(job.part, {"number": job.number, **future.result()})
