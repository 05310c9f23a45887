"""The thread that sends what was measured runs beside loads that keep other threads waiting."""

from __future__ import annotations

import os
import time
from contextlib import closing

import pytest

from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.boards.streams.process import ProcessStream
from whylate.probe.client import Client
from whylate.wire.messages import CpuResult, Stop, Wakeup

FIFO = (os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 1)


def scheduling(pid: int) -> tuple[int, int]:
    return os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority


@pytest.mark.parametrize(("measured", "sends"), [(50, FIFO), (1, (os.SCHED_OTHER, 0))])
def test_it_has_the_lowest_real_time_priority_while_it_delays_no_measuring_thread(
    measured: int, sends: tuple[int, int]
) -> None:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        assert isinstance(stream, ProcessStream)
        client = Client(stream)
        client.hello()
        client.call(Wakeup(1_000_000, 60_000_000_000, measured, 0, 0, (0,)))
        assert scheduling(stream.pid) == sends
        client.call(Stop())
        deadline = time.monotonic() + 10
        while not any(isinstance(message, CpuResult) for message in client.pump(0.1)):
            assert time.monotonic() < deadline
        assert scheduling(stream.pid)[0] & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER
