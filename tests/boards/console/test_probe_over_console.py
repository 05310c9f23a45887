"""The probe over a console: frames and the kernel's text on one line, and a prompt afterwards."""

from __future__ import annotations

import os
import platform
import random
import re
import signal
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from bad_line import Noise
from console_line import Line, opened

from waiting import came_true
from whylate.boards.board import Notify, StartedProbe
from whylate.boards.console.drain import KEEPALIVE_S, FramedConsoleStream
from whylate.boards.console.shell import ConsoleShell
from whylate.boards.errors import BoardError
from whylate.boards.local import LocalBoard
from whylate.probe.binaries import probe_binary
from whylate.probe.client import Client
from whylate.probe.errors import ProbeGoneError
from whylate.recording.console.crashes import find_crashes
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet, Step

PANIC = b"[   99.000001] Kernel panic - not syncing: Fatal exception\r\n"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.boards.console.prompt.NOTHING_SILENCE_S", 0.05)


def test_the_probe_speaks_over_the_console_and_the_shell_comes_back(
    line: Line, probe: list[str]
) -> None:
    with opened(line) as shell:
        state = line.terminal()
        for _ in range(2):
            with closing(shell.stream(probe)) as stream:
                client = Client(stream)
                assert client.hello().uid >= 0
                client.keepalive(KEEPALIVE_S)
                with pytest.raises(BoardError, match="probe uses"):
                    shell.run(["true"])
                began = time.monotonic()
            assert time.monotonic() - began < KEEPALIVE_S / 2, "it is told to end"
            assert line.terminal() == state
            assert shell.run(["echo", "back"]).output == b"back\n"
    log = line.console.log.read_bytes()
    assert b"\0" not in log
    assert log.count(b"its frames are left out") == 2
    assert re.search(rb"\[whylate: [1-9]\d+ bytes of frames were left out\]", log)


def test_a_probe_that_ends_by_itself_ends_the_stream(one_line: Line, probe: list[str]) -> None:
    with opened(one_line) as shell:
        with closing(shell.stream([*probe, "--version"])) as stream:
            assert stream.read(100) == b""
            with pytest.raises(OSError, match="has ended"):
                stream.write(b"x")
        with closing(shell.stream(["/no/such/probe"])) as stream, pytest.raises(ProbeGoneError):
            Client(stream).hello(5)
        assert shell.run(["echo", "on"]).output == b"on\n"
    log = one_line.console.log.read_bytes()
    assert b"whylate-probe" in log, "what it printed is text"
    assert b"not found" in log, "and the shell's reason"


def test_the_end_that_a_bad_line_swallowed_is_noticed_on_closing(
    one_line: Line, probe: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.drain.KEEPALIVE_S", 1.0)
    monkeypatch.setattr("whylate.boards.console.drain.LEAVE_S", 1.0)
    with opened(one_line) as shell:
        stream = shell.stream(probe)
        one_line.channel.down = lambda data: data.replace(b"|end|", b"|e?d|")
        with closing(stream):
            client = Client(stream)
            client.hello()
        one_line.channel.down = lambda data: data
        assert shell.run(["echo", "on"]).output == b"on\n"


def test_a_host_that_vanishes_leaves_a_prompt_behind_the_keepalive(
    one_line: Line, probe: list[str]
) -> None:
    shell = opened(one_line)
    stream = shell.stream(probe)
    client = Client(stream)
    client.hello()
    client.keepalive(1.0)
    client.pump(0.1)
    shell._stream.close()  # no goodbye
    with opened(one_line) as again:
        assert again.run(["echo", "mine"]).output == b"mine\n"


def test_a_panic_in_the_middle_of_a_run_is_in_the_log_at_once(
    one_line: Line, probe: list[str]
) -> None:
    with opened(one_line) as shell, closing(shell.stream(probe)) as stream:
        client = Client(stream)
        client.hello()
        printed = [PANIC]
        one_line.channel.down = lambda data: data + (printed.pop() if printed else b"")
        assert came_true(lambda: PANIC in one_line.console.log.read_bytes(), 5)
        one_line.channel.down = lambda data: data
    (crash,) = find_crashes(one_line.console.log.read_bytes())
    assert crash.kind == "panic"


def test_a_board_that_dies_under_the_probe_is_no_error_until_it_is_used_again(
    one_line: Line, probe: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.drain.KEEPALIVE_S", 0.5)
    monkeypatch.setattr("whylate.boards.console.drain.LEAVE_S", 0.5)
    monkeypatch.setattr("whylate.boards.console.worker.SILENCE_S", 0.1)
    shell = opened(one_line)
    stream = shell.stream(probe)
    Client(stream).hello()
    os.killpg(one_line.process.pid, signal.SIGSTOP)
    one_line.channel.down = lambda _: b""
    stream.close()
    with pytest.raises(BoardError, match="did not come back after the probe"):
        shell.run(["true"])
    shell.close()


class KernelThatTalks:
    """Prints numbered lines wherever in the stream they fall, behind the noise."""

    def __init__(self, seed: int, noise: Noise) -> None:
        self._random = random.Random(seed)
        self._noise = noise
        self.printed: list[bytes] = []

    def __call__(self, data: bytes) -> bytes:
        data = self._noise(data)
        if len(data) < 2 or not self._noise.rate or self._random.random() > 0.3:
            return data
        text = b"[   %2d.%06d] noise: line %d\r\n" % (
            len(self.printed), self._random.randrange(10**6), len(self.printed))  # fmt: skip
        self.printed.append(text)
        at = self._random.randrange(len(data))
        return data[:at] + text + data[at:]


class BoardOnALine(LocalBoard):
    """This machine, its probe behind a console that damages bytes while it measures."""

    name = "console"

    def __init__(self, line: Line, shell: ConsoleShell, rate: float) -> None:
        self._shell, self._rate = shell, rate
        self.up, self.down = Noise(1, 0.0), Noise(2, 0.0)
        self.kernel = KernelThatTalks(3, self.down)
        line.channel.up, line.channel.down = self.up, self.kernel

    def start_probe(self, notify: Notify) -> StartedProbe:
        del notify
        binary = probe_binary(platform.machine())
        stream = self._shell.stream([str(binary.path)])
        return StartedProbe(QuietAtTheEnd(self, stream), binary, KEEPALIVE_S)

    def noisy(self, noisy: bool) -> None:
        self.up.rate = self.down.rate = self._rate if noisy else 0.0


class QuietAtTheEnd:
    """The stream to a probe, whose line is clean again when it is closed."""

    def __init__(self, board: BoardOnALine, stream: FramedConsoleStream) -> None:
        self._board, self._stream = board, stream
        self.fileno, self.read, self.write = stream.fileno, stream.read, stream.write

    def close(self) -> None:
        self._board.noisy(False)
        self._stream.close()


class NoisyWhileMeasuring(Quiet):
    """Begins the noise with the measuring: the board's facts would take half a minute over it."""

    def __init__(self, board: BoardOnALine) -> None:
        self._board = board

    def step(self, step: Step) -> None:
        if step is Step.MEASURE:
            self._board.noisy(True)


@pytest.mark.realtime
def test_a_run_over_a_line_that_damages_one_byte_in_a_hundred_loses_nothing(
    one_line: Line, tmp_path: Path
) -> None:
    with opened(one_line) as shell:
        board = BoardOnALine(one_line, shell, 0.01)
        interval_ns = 1_000_000
        request = RunPlan(
            workload=Wakeup(duration_ns=3_000_000_000, interval_ns=interval_ns), cpus=[0]
        )
        manifest = measure(board, request, tmp_path / "r", NoisyWhileMeasuring(board))
        assert shell.run(["echo", "back"]).output == b"back\n"
    assert board.up.changed > 10
    assert board.down.changed > 100
    account = manifest.cpus[0]
    assert account.expected >= 2900
    assert account.expected == account.seen + account.overrun + account.dropped
    assert account.dropped <= account.expected / 1000
    assert manifest.probe.frames_damaged > 10
    samples = open_recording(tmp_path / "r").samples[0]
    assert samples.due_ns.size == account.seen + account.overrun
    # A sample that was damaged would not stand on the grid of the deadlines.
    assert np.all((samples.due_ns - samples.due_ns[0]) % interval_ns == 0)
    assert np.all(np.diff(samples.due_ns) > 0)
    assert np.all(np.abs(samples.latency_ns) < 10_000_000_000)
    log = one_line.console.log.read_bytes()
    assert len(board.kernel.printed) > 5
    missing = [text for text in board.kernel.printed if text not in log]
    assert missing == []
    assert b"\0" not in log
