"""The threads that send what was measured, and detach the recorder, run beside any load."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.boards.streams.process import ProcessStream
from whylate.probe.client import Client
from whylate.wire.messages import CpuResult, Detach, Note, Recorder, Stop, Wakeup

FIFO = (os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 1)


def scheduling(pid: int) -> tuple[int, int]:
    return os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority


@contextmanager
def local_probe() -> Iterator[tuple[Client, int]]:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        assert isinstance(stream, ProcessStream)
        client = Client(stream)
        client.hello()
        yield client, stream.pid


def end(client: Client) -> None:
    client.call(Stop())
    deadline = time.monotonic() + 10
    while not any(isinstance(message, CpuResult) for message in client.pump(0.1)):
        assert time.monotonic() < deadline


@pytest.mark.parametrize(("measured", "sends"), [(50, FIFO), (1, (os.SCHED_OTHER, 0))])
def test_it_has_the_lowest_real_time_priority_while_it_delays_no_measuring_thread(
    measured: int, sends: tuple[int, int]
) -> None:
    with local_probe() as (client, pid):
        client.call(Wakeup(1_000_000, 60_000_000_000, measured, 0, 0, (0,)))
        assert scheduling(pid) == sends
        end(client)
        assert scheduling(pid)[0] & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER


def threads(pid: int) -> set[int]:
    return {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}


@pytest.mark.parametrize("measured", [50, 1])
def test_the_thread_that_detaches_the_recorder_has_the_same(measured: int) -> None:
    workload = Wakeup(1_000_000, 60_000_000_000, measured, 0, 0, (0,))
    with local_probe() as (client, pid):
        client.call(Recorder(0, 0, 0, 1000, 0, 0))
        client.call(Detach(1_000_000_000, (1, 50)))
        notes = [message for message in client.call(workload) if isinstance(message, Note)]
        refused = [note.text for note in notes if note.code == "no-recorder"]
        if refused:
            pytest.skip(refused[0])
        measuring = {task for task in threads(pid) if scheduling(task) == (os.SCHED_FIFO, 50)}
        others = sorted(threads(pid) - measuring - {pid})
        lowest = (os.SCHED_FIFO, 1)
        # With priority 1 the measuring thread is the one that has it, and it alone.
        assert sorted(map(scheduling, others)) == sorted(
            [lowest] if measured == 50 else [lowest, (os.SCHED_OTHER, 0)]
        )
        end(client)
