"""Commands that are children of ours: bounded in time and in what they print."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from processes import lives
from whylate.boards.streams import process
from whylate.boards.streams.process import ProcessStream, StoppedError, run_to_end

DESCRIPTORS = Path("/proc/self/fd")


def test_it_returns_status_output_and_error() -> None:
    ended = run_to_end(["sh", "-c", "cat; echo err >&2; exit 3"], b"in", 10, 100)
    assert (ended.status, ended.output, ended.error) == (3, b"in", b"err\n")


def test_a_child_that_leaves_another_behind_holds_nobody_up() -> None:
    began = time.monotonic()
    ended = run_to_end(["sh", "-c", "sleep 100 & echo $!"], b"", 30, 100)
    os.kill(int(ended.output), signal.SIGKILL)
    assert time.monotonic() - began < 20


def test_too_long_ends_it_and_all_that_it_started() -> None:
    script = "trap '' TERM; sleep 100 & echo $! $$ >&2; wait; sleep 100"
    with pytest.raises(StoppedError, match="took longer") as late:
        run_to_end(["sh", "-c", script], b"", 0.5, 100)
    for word in late.value.error.split():
        wait_until_gone(int(word))


def test_too_much_on_both_streams_together() -> None:
    for count in (50, 51):
        script = f"import os; os.write(1, bytes({count})); os.write(2, bytes(50))"
        if count == 50:
            assert run_to_end([sys.executable, "-c", script], b"", 10, 100).status == 0
        else:
            with pytest.raises(StoppedError, match="printed more"):
                run_to_end([sys.executable, "-c", script], b"", 10, 100)


def test_a_program_that_is_not_there_leaves_no_descriptor_open() -> None:
    before = len(list(DESCRIPTORS.iterdir()))
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            ProcessStream(["/no/such/program"], keep_error=True)
    assert len(list(DESCRIPTORS.iterdir())) == before


class Alarm(BaseException):
    """What an impatient user's signal raises, wherever we are."""


@pytest.fixture
def alarm() -> Iterator[Callable[[float], object]]:
    """Return what makes Alarm come after so many seconds."""

    def ring(number: int, frame: object) -> None:
        del number, frame
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    yield partial(signal.setitimer, signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_what_was_said_is_known_also_where_an_interrupt_ends_it(
    alarm: Callable[[float], object],
) -> None:
    error = bytearray()
    alarm(0.7)
    with pytest.raises(Alarm):
        run_to_end(["sh", "-c", "echo $$ >&2; exec sleep 100"], b"", 30, 100, error)
    wait_until_gone(int(error))


def test_whoever_does_not_hear_that_it_is_over_is_ended_with_the_others() -> None:
    # The first one hears it and is gone at once, the one that it started does not.
    script = "(trap '' TERM; echo $$ >&2; sh -c 'echo $PPID >&2; sleep 100'; sleep 100) & wait"
    with pytest.raises(StoppedError, match="took longer") as late:
        run_to_end(["sh", "-c", script], b"", 0.7, 100)
    pids = late.value.error.split()
    assert len(pids) == 2
    for word in pids:
        wait_until_gone(int(word))


def test_a_child_that_never_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LEAVE_S", 0.1)
    with closing(ProcessStream(["sleep", "100"], keep_error=True)) as stream:
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"no more of its input for 0\.5 s"):
            stream.write(bytes(1 << 20), 0.5)
        assert time.monotonic() - began < 5


def test_a_child_that_reads_slowly_is_given_all_of_it() -> None:
    script = "import sys, time; time.sleep(0.5); print(len(sys.stdin.buffer.read(1 << 20)))"
    with closing(ProcessStream([sys.executable, "-c", script])) as stream:
        stream.write(bytes(1 << 20))
        assert stream.read(100).startswith(b"1048576")


def wait_until_gone(pid: int, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lives(pid)
