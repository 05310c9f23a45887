"""The app workload on this machine: what the probe tells of the wakeups of other programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from whylate.boards.local import LocalBoard
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.decode_waits import decode_wait
from whylate.recording.waits import WaitReport, bin_edges
from whylate.wire.blocks import decode_numbers
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    App,
    AppEnded,
    AppWait,
    CpuResult,
    CpuStarted,
    Message,
    Name,
    Note,
    Recorder,
    Result,
    Samples,
    SampleThreads,
    Window,
)

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

#: As the command `recorder` has them.
ENGINES = {"bpf": 1, "tracefs": 2}
TIMER, INTERRUPT, SOFTIRQ, THREAD = 1, 2, 3, 4
#: Sleeps 2 ms at a time, under a name that no other test has.
NAME = f"sleeper{os.getpid() % 10_000_000}"
SLEEPER = f"""
import ctypes, time
ctypes.CDLL(None).prctl(15, b"{NAME}", 0, 0, 0)
while True:
    time.sleep(0.002)
"""
#: Two processes that wake each other through pipes, every 2 ms. The second is slow to answer: the
#: first does wait for it.
TALKERS = """
import os, time
there, back = os.pipe(), os.pipe()
if not os.fork():
    while os.read(there[0], 1):
        time.sleep(0.0005)
        os.write(back[1], b"x")
while True:
    time.sleep(0.002)
    os.write(there[1], b"x")
    os.read(back[0], 1)
"""
#: Its main thread waits 10 ms for a lock that another thread holds, and 4 ms for a process that
#: answers.
WAITER = """
import os, threading, time
lock, turn = threading.Lock(), threading.Barrier(2)
def hold():
    while True:
        with lock:
            turn.wait()
            time.sleep(0.010)
        turn.wait()
threading.Thread(target=hold, daemon=True).start()
there, back = os.pipe(), os.pipe()
if not os.fork():
    while os.read(there[0], 1):
        time.sleep(0.004)
        os.write(back[1], b"x")
while True:
    turn.wait()
    with lock:
        pass
    turn.wait()
    os.write(there[1], b"x")
    os.read(back[0], 1)
"""


@dataclass
class Heard:
    """All that the probe said."""

    started: dict[int, CpuStarted] = field(default_factory=dict)
    results: list[CpuResult] = field(default_factory=list)
    latency_ns: list[int] = field(default_factory=list)
    rows: Counter[int] = field(default_factory=Counter)
    #: pid, due, origin
    threads: list[tuple[int, int, int]] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    waits: list[WaitReport] = field(default_factory=list)
    ended: list[AppEnded] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    done: bool = False

    def receive(self, _: Frame, message: Message) -> None:
        """Take one message."""
        match message:
            case CpuStarted():
                self.started[message.cpu] = message
            case CpuResult():
                self.results.append(message)
            case Samples():
                self.latency_ns += unzigzag(decode_numbers(message.data)).cumsum().tolist()
                self.rows[message.cpu] += message.count
            case SampleThreads():
                numbers = decode_numbers(message.data).reshape(-1, 3)
                due = self.started[message.cpu].start_ns + unzigzag(numbers[:, 1]).cumsum()
                pids, origins = numbers[:, 0].tolist(), numbers[:, 2].tolist()
                self.threads += zip(pids, due.tolist(), origins, strict=True)
            case AppWait():
                self.waits.append(decode_wait(message))
            case Window():
                self.windows.append(message)
            case Name() if message.table == 4:
                self.names[message.id] = message.text
            case _:
                self._receive_end(message)

    def _receive_end(self, message: Message) -> None:
        match message:
            case AppEnded():
                self.ended.append(message)
            case Note():
                self.notes.append(message)
            case Result():
                self.done = True


def unzigzag(numbers: np.ndarray) -> np.ndarray:
    return (numbers >> np.uint64(1)).view(np.int64) ^ -(numbers & np.uint64(1)).view(np.int64)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> int:
    """Each of the recorder's engines."""
    if request.param == "bpf" and not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("this kernel has no BTF")
    return ENGINES[request.param]


def watch(app: App, engine: int = 0, stop_above_ns: int = 0) -> Heard:
    """Watch a program and return what was heard until the end."""
    heard = Heard()
    started = LocalBoard().start_probe(lambda _: None)
    with closing(started.stream) as stream:
        client = Client(stream)
        client.hello()
        client.keepalive(started.keepalive_s)
        client.on_message = heard.receive
        client.call(Recorder(engine, 0, 2000, 100, 0, stop_above_ns))
        client.call(app)
        until = time.monotonic() + 60
        while not heard.done and time.monotonic() < until:
            client.pump(0.1)
        client.finish()
    assert heard.done
    return heard


def app(pid: int = 0, comm: str = "", argv: tuple[str, ...] = (), seconds: float = 1.5) -> App:
    return App(int(seconds * 1e9), 0, pid, comm, argv)


@contextmanager
def running(program: str) -> Iterator[int]:
    """A Python program that runs meanwhile, in a process group of its own."""
    with subprocess.Popen([sys.executable, "-c", program], process_group=0) as process:
        try:
            time.sleep(0.3)
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(autouse=True, scope="module")
def _no_cpu_is_idle() -> Iterator[None]:
    """A kernel may hide the switches of its idle thread from every tracer: one here does."""
    spin = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(running(spin))
        yield


def is_whole(heard: Heard) -> None:
    """Assert that what is counted is there, and in its order."""
    assert len(heard.latency_ns) == len(heard.threads) > 0
    for result in heard.results:
        assert heard.rows[result.cpu] == result.seen
        assert result.dropped == 0
    start = min(started.start_ns for started in heard.started.values())
    assert all(started.interval_ns == 0 for started in heard.started.values())
    assert all(start <= due < start + 3 * 10**9 for _, due, _ in heard.threads)
    assert all(ns > 0 for ns in heard.latency_ns)
    assert {window.tid for window in heard.windows} <= {pid for pid, _, _ in heard.threads}
    for window in heard.windows:
        assert window.due_ns <= window.waking_ns <= window.switched_ns == window.run_ns


def test_a_command_is_started_watched_and_ended(engine: int, tmp_path: Path) -> None:
    # Called so from the start: a name is told when its thread is met first.
    program = tmp_path / NAME
    program.symlink_to(Path(sys.executable).resolve())
    heard = watch(app(argv=(str(program), "-c", SLEEPER)), engine)
    is_whole(heard)
    ((pid, _),) = Counter(pid for pid, _, _ in heard.threads).most_common(1)
    timers = [due for _, due, origin in heard.threads if origin == TIMER]
    # It slept 2 ms at a time; what it waited for while it started may be anything. Starting takes
    # a part of the run that depends on what else runs here.
    assert len(timers) >= 20
    gaps = np.diff(sorted(timers))
    assert np.median(gaps) > 2_000_000
    assert heard.names[pid] == NAME
    assert not Path(f"/proc/{pid}").exists()
    assert heard.ended == []
    # The slowest part and a sample of the others.
    assert {window.reason for window in heard.windows} == {0, 1}


def test_a_process_that_runs_is_watched_and_left_alone(engine: int) -> None:
    with running(SLEEPER) as pid:
        heard = watch(app(pid=pid), engine)
        assert Path(f"/proc/{pid}").exists()
    is_whole(heard)
    assert {thread for thread, _, _ in heard.threads} == {pid}


def test_threads_are_found_by_their_name(engine: int) -> None:
    with running(SLEEPER) as first, running(SLEEPER) as second:
        heard = watch(app(comm=NAME), engine)
    is_whole(heard)
    assert {pid for pid, _, _ in heard.threads} == {first, second}


def test_a_thread_that_a_thread_wakes_is_due_at_its_waking(engine: int) -> None:
    with running(TALKERS) as pid:
        heard = watch(app(pid=pid), engine)
    is_whole(heard)
    origins = Counter(origin for _, _, origin in heard.threads)
    # Each turn it sleeps once, and waits for the other once.
    assert origins[TIMER] > 50
    assert origins[THREAD] > 0.2 * origins[TIMER]
    of_threads = {due for _, due, origin in heard.threads if origin == THREAD}
    windows = [window for window in heard.windows if window.due_ns in of_threads]
    assert windows
    assert all(window.due_ns == window.waking_ns for window in windows)


def median_ns(wait: WaitReport) -> int:
    """The upper edge of the bin with the median wait."""
    bins = [part.bin for part in wait.bins for _ in range(part.count)]
    return bin_edges(bins[len(bins) // 2])[1]


def test_waits_for_a_lock_and_for_a_slow_peer_have_a_distribution_by_who_ended_them(
    engine: int,
) -> None:
    with running(WAITER) as pid:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        (holder,) = {int(t.name) for t in Path(f"/proc/{pid}/task").iterdir()} - {pid}
        heard = watch(app(pid=pid, seconds=2.5), engine)
    is_whole(heard)
    (peer,) = map(int, children)
    assert sum(wait.count for wait in heard.waits) <= len(heard.latency_ns)
    of_peer = [wait for wait in heard.waits if (wait.pid, wait.waker) == (pid, peer)]
    answer = max(of_peer, key=lambda wait: wait.count)
    if answer.count < 5:
        pytest.skip(f"this machine let the program wait {answer.count} times in 2.5 s")
    assert median_ns(answer) > 4_000_000
    of_lock = [wait for wait in heard.waits if (wait.pid, wait.waker) == (pid, holder)]
    assert max(wait.longest_ns for wait in of_lock) > 10_000_000
    if engine != ENGINES["bpf"]:
        # Who waits is known, and not in what.
        assert {wait.system_call for wait in heard.waits} == {None}
        return
    assert {wait.system_call for wait in of_peer} == {0}  # read
    # The lock, and what the barrier waits with, are two futexes: the lock is held for 10 ms.
    assert {wait.system_call for wait in of_lock if wait.futex} == {202}
    by_futex = {wait.futex: median_ns(wait) for wait in of_lock if wait.count >= 5}
    assert max(by_futex.values()) > 10_000_000


def test_both_engines_record_the_same_wakeups_alike() -> None:
    if not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("this kernel has no BTF")
    with running(TALKERS) as pid, ThreadPoolExecutor() as pool:
        # On a busy machine one may begin seconds after the other.
        runs = [pool.submit(watch, app(pid=pid, seconds=5), engine) for engine in (1, 2)]
        bpf, tracefs = (run.result() for run in runs)
    # One begins later than the other.
    first = max(min(due for _, due, _ in heard.threads) for heard in (bpf, tracefs))
    last = min(max(due for _, due, _ in heard.threads) for heard in (bpf, tracefs))
    for origin in (TIMER, THREAD):
        same = []
        ours = np.sort([due for _, due, of in bpf.threads if of == origin and first < due < last])
        for _, due, of in tracefs.threads:
            if of == origin and first < due < last:
                near = ours[max(0, np.searchsorted(ours, due) - 1) :][:2]
                # Timers expire when they do; a waking is seen by one engine after the other.
                same.append((abs(near - due) < (100, 20_000)[origin == THREAD]).any())
        assert len(same) > 20
        assert np.mean(same) > 0.9


def test_a_command_that_is_over_ends_the_run(engine: int) -> None:
    began = time.monotonic()
    heard = watch(app(argv=(sys.executable, "-c", "raise SystemExit(7)"), seconds=30), engine)
    assert time.monotonic() - began < 20
    assert heard.ended == [AppEnded(7, 0)]
    assert heard.results[0].end_ns - heard.results[0].start_ns < 20 * 10**9


def test_the_first_activation_above_the_limit_ends_the_run(engine: int) -> None:
    with running(SLEEPER) as pid:
        heard = watch(app(pid=pid, seconds=30), engine, stop_above_ns=1_000)
    (window,) = [window for window in heard.windows if window.reason == 2]
    assert window.run_ns - window.due_ns > 1_000
    # Some kernels do not show all switches from idle: whether any was missed here is up to them.
    assert [note.code for note in heard.notes if note.code != "hides-idle"] == ["stopped"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (app(argv=("/nonexistent/program",)), "cannot be run: No such file"),
        (app(pid=2**22 + 1), "there is no process 4194305"),
        (app(comm="a name of more than 15"), "15 bytes at most"),
        (app(), "one program to watch"),
        (app(pid=1, comm="init"), "one program to watch"),
    ],
)
def test_an_invalid_program_to_watch_is_refused_in_one_line(wrong: App, text: str) -> None:
    with pytest.raises(ProbeRefusedError, match=text):
        watch(wrong)


def test_a_thread_is_no_process() -> None:
    program = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()"
    with running(program) as pid:
        (thread,) = [int(t.name) for t in Path(f"/proc/{pid}/task").iterdir() if t.name != str(pid)]
        with pytest.raises(ProbeRefusedError, match=f"{thread} is a thread of the process {pid}"):
            watch(app(pid=thread))


@pytest.mark.parametrize("how", ["killed", "left"])
def test_the_command_dies_with_its_probe(how: str) -> None:
    started = LocalBoard().start_probe(lambda _: None)
    heard = Heard()
    with closing(started.stream) as stream:
        client = Client(stream)
        client.hello()
        client.on_message = heard.receive
        client.call(Recorder(0, 0, 2000, 100, 0, 0))
        client.call(app(argv=(sys.executable, "-c", SLEEPER), seconds=60))
        until = time.monotonic() + 30
        while not heard.threads and time.monotonic() < until:
            client.pump(0.1)
        pid = heard.threads[0][0]
        probe = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if how == "killed":
            os.kill(probe, signal.SIGKILL)
        else:
            stream.close()
        while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()
