"""A signal that comes as a process is started ends that process, wherever it is started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from processes import lives
from waiting import came_true
from whylate import starting
from whylate.bisect.commits.build_process import run_command
from whylate.bisect.sides.image import _Image
from whylate.boards.qemu.machine import Machine
from whylate.boards.streams.process import ProcessStream, run_to_end
from whylate.cli.interrupt import EndedBySignal, Interrupt, unwind_when_ended
from whylate.lab.packages import contents
from whylate.recording.device_loads import NetLoad
from whylate.run.net_ends import _end
from whylate.starting import SIGNALS, signals_wait

COMMAND = ["sleep", "100"]
PATIENCE_S = 10.0


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Have the handlers of a command, whatever earlier tests have left; restore those."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    unwind_when_ended()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    """Send a signal to this process, to a thread that surely runs Python's handlers."""
    assert callable(signal.getsignal(number)) or signal.getsignal(number) is signal.SIG_IGN
    signal.pthread_kill(threading.main_thread().ident or 0, number)


def send_all(*numbers: int) -> None:
    for number in numbers:
        send(number)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in SIGNALS]


# -- the window


class Starts:
    """Processes that were started in place of others; a signal comes as each is forked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = signal.SIGINT
        self.processes: list[subprocess.Popen[Any]] = []
        starts = self

        class Signalled(subprocess.Popen[Any]):
            def __init__(self, command: object, **options: Any) -> None:
                del command
                super().__init__(COMMAND, **options)
                starts.processes.append(self)
                send(starts.number)

        monkeypatch.setattr(subprocess, "Popen", Signalled)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(PATIENCE_S)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Starts]:
    starts = Starts(monkeypatch)
    yield starts
    starts.end()


def start_machine(directory: Path, *, outlive: bool) -> None:
    machine = Machine(directory)
    try:
        machine.start(COMMAND, outlive=outlive)
    finally:
        assert machine.pid is None
        assert Machine(directory).pid is None


def start_debugfs(directory: Path) -> None:
    (directory / "image").write_bytes(b"")
    with _Image(directory / "image", "debugfs")._answers([]):
        pass


def start_contents(directory: Path) -> None:
    with contents(directory / "package.deb"):
        pass


def start_net_end(directory: Path) -> None:
    del directory
    with _end(NetLoad("127.0.0.1")):
        pass


PLACES: dict[str, Callable[[Path], object]] = {
    "command": lambda _: run_to_end(COMMAND, b"", PATIENCE_S),
    "stream": lambda _: ProcessStream(COMMAND),
    "stream with errors": lambda _: ProcessStream(COMMAND, keep_error=True),
    "board": lambda directory: start_machine(directory, outlive=False),
    "board that stays on": lambda directory: start_machine(directory, outlive=True),
    "build": lambda directory: run_command(
        COMMAND, directory, directory / "log", os.environ, PATIENCE_S, lambda: False
    ),
    "debugfs": start_debugfs,
    "package": start_contents,
    "other end of a load": start_net_end,
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", PLACES)
def test_a_signal_as_a_process_is_forked_ends_the_process(
    place: str, number: signal.Signals, starts: Starts, tmp_path: Path
) -> None:
    starts.number = number
    before, threads = handlers(), threading.active_count()
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the shortest
    expected = KeyboardInterrupt if number == signal.SIGINT else EndedBySignal
    with pytest.raises(expected):
        PLACES[place](tmp_path)
    (process,) = starts.processes
    assert came_true(lambda: not lives(process.pid), PATIENCE_S)
    assert handlers() == before
    assert came_true(lambda: threading.active_count() == threads, PATIENCE_S)
    assert len(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208


# -- the handlers


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_waits_until_the_block_is_left(number: signal.Signals) -> None:
    expected = KeyboardInterrupt if number == signal.SIGINT else EndedBySignal
    before = handlers()
    reached: list[str] = []

    def surround() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(reached.append, "surroundings")
            with signals_wait():
                send(number)
                send(number)
                reached.append("end")
            reached.append("after")

    with pytest.raises(expected):
        surround()
    assert reached == ["end", "surroundings"]
    assert handlers() == before


def test_handlers_are_called_once_each_in_the_order_of_the_signals() -> None:
    called: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda number, _: called.append(number))
    with signals_wait():
        send_all(signal.SIGTERM, signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
        assert called == []
    assert called == [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
    send(signal.SIGHUP)
    assert called[3:] == [signal.SIGHUP]


def test_a_handler_that_raises_does_not_keep_the_next_from_its_signal() -> None:
    called: list[int] = []
    signal.signal(signal.SIGHUP, lambda number, _: called.append(number))
    with pytest.raises(EndedBySignal), signals_wait():
        send_all(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    assert called == [signal.SIGHUP]


def test_an_interrupt_that_is_only_noted_is_noted_later() -> None:
    interrupt = Interrupt()
    with signals_wait():
        send(signal.SIGTERM)
        assert not interrupt.wanted()
    assert interrupt.wanted()
    with pytest.raises(KeyboardInterrupt), signals_wait():
        send(signal.SIGTERM)


def test_a_block_that_raises_delivers_the_signal_too() -> None:
    before = handlers()

    def fail() -> None:
        send(signal.SIGINT)
        raise FileNotFoundError

    with pytest.raises(KeyboardInterrupt) as caught, signals_wait():
        fail()
    assert isinstance(caught.value.__context__, FileNotFoundError)
    assert handlers() == before
    with pytest.raises(FileNotFoundError), signals_wait():
        raise FileNotFoundError
    assert handlers() == before


def test_a_block_within_another_waits_for_the_outer_one() -> None:
    before, reached = handlers(), []

    def nest() -> None:
        with signals_wait():
            send(signal.SIGINT)
        reached.append("between")
        with signals_wait():
            reached.append("second")

    with pytest.raises(KeyboardInterrupt), signals_wait():
        nest()
    assert reached == ["between", "second"]
    assert handlers() == before


def test_a_signal_while_handlers_are_restored_leaves_none_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = handlers()
    restored: list[int] = []
    real = signal.signal

    def set_handler(number: int, handler: Any) -> object:
        result = real(number, handler)
        if handler in before and not restored:
            restored.append(number)
            send(number)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", set_handler)
        with pytest.raises(KeyboardInterrupt), signals_wait():
            pass
    assert restored == [signal.SIGINT]
    assert handlers() == before


def test_what_has_no_handler_in_python_is_left_alone() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    before = handlers()
    with signals_wait():
        assert handlers()[1:] == before[1:]
        assert handlers()[0] != before[0]
        send(signal.SIGHUP)
    assert handlers() == before


def test_a_handler_that_the_block_sets_stays() -> None:
    with signals_wait():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_another_thread_leaves_the_handlers_alone() -> None:
    before = handlers()
    seen: list[list[object]] = []

    def start() -> None:
        with signals_wait():
            seen.append(handlers())

    thread = threading.Thread(target=start)
    thread.start()
    thread.join(PATIENCE_S)
    assert seen == [before]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_child_that_is_started_meanwhile_dies_of_signals(number: signal.Signals) -> None:
    with signals_wait():
        child = subprocess.Popen(COMMAND)
    try:
        child.send_signal(number)
        assert child.wait(PATIENCE_S) == -number
    finally:
        child.kill()
        child.wait(PATIENCE_S)


# -- a whole command

HOST = """
import os, subprocess, sys
from whylate.cli import main
number = int(sys.argv.pop(1))
class Signalled(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), number)
subprocess.Popen = Signalled
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_command_that_is_just_forked_ends_with_whylate(number: signal.Signals) -> None:
    words = [str(int(number)), "board", "run", "local", "--", *COMMAND]
    done = subprocess.run(
        [sys.executable, "-c", HOST, *words], capture_output=True, timeout=60, check=False
    )
    (pid,) = (int(line) for line in done.stdout.split())
    try:
        assert done.returncode == 128 + number
        assert came_true(lambda: not lives(pid), PATIENCE_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_process_whose_wait_a_handler_has_locked_for_ever_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(starting, "REAP_S", 0.1)
    process = subprocess.Popen(["sleep", "100"], stdout=subprocess.PIPE)
    process.kill()
    # A handler that raises between this and the statement that unlocks it leaves this behind.
    lock = process._waitpid_lock  # type: ignore[attr-defined]
    with lock:
        starting.close_and_reap(process)
        assert process.returncode is None
    assert process.wait(30) == -signal.SIGKILL
