"""A board of paper for soaks: it prints what it is told to, and is never measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from whylate.boards.board import Finished, Notify, StartedProbe
from whylate.boards.errors import BoardError
from whylate.probe.binaries import ProbeBinary
from whylate.probe.client import Stream
from whylate.recording.manifest import AppEnd, CpuAccount, Manifest, ProbeReport, Problem
from whylate.recording.plan import RunPlan
from whylate.recording.reader import Recording
from whylate.recording.samples import CpuSamples
from whylate.recording.workloads.wakeup import Wakeup

MS = 1_000_000
BOOT = b"[    0.000000] Linux version 6.1.0\n"
PANIC = b"[    3.000000] Kernel panic - not syncing: VFS: Unable to mount root fs\n"


class PaperPower:
    """A supply; `says` is what it says of itself, which need not be so."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.state = False
        self.says: Callable[[bool], bool | None] = lambda state: state
        #: Printed when the power comes, and while it goes.
        self.first_words, self.last_words = BOOT, b""
        self.history: list[bool] = []

    def say(self, text: bytes) -> None:
        with self._log.open("ab") as file:
            file.write(text)

    def on(self) -> None:
        self.history.append(True)
        if not self.state:
            self.say(self.first_words)
        self.state = True

    def off(self) -> None:
        self.history.append(False)
        if self.state:
            self.say(self.last_words)
        self.state = False

    def is_on(self) -> bool | None:
        return self.says(self.state)


class PaperConsole:
    def __init__(self, log: Path) -> None:
        self.log = log

    def connect(self) -> Stream:
        raise BoardError("nobody listens")


class SilentStream:
    """The line to a probe that says nothing."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        return self._reader

    def read(self, size: int) -> bytes:
        return os.read(self._reader, size)

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


class PaperBoard:
    """Implements whylate.boards.board.Board.

    waits: what boot() waits for in vain, where it does not come up. silent: it answers no command.
    """

    name = "board7"

    def __init__(self, directory: Path) -> None:
        self.power = PaperPower(directory / "log")
        self.console = PaperConsole(directory / "log")
        self.waits: Callable[[], None] | None = None
        self.stays_on = False
        self.silent = False
        self._switched_on = False

    def hold(self, notify: Notify) -> None: ...

    def boot(self, notify: Notify) -> None:
        del notify
        if not self.power.state:
            self._switched_on = True
            self.power.on()
        if self.waits is not None:
            self.waits()
            raise BoardError("it died")

    def stay_on(self) -> None:
        self.stays_on = True

    def close(self) -> None:
        if self._switched_on and not self.stays_on:
            self.power.off()

    def start_probe(self, notify: Notify) -> StartedProbe:
        del notify
        return StartedProbe(SilentStream(), ProbeBinary(Path(), "x86_64", ""))

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None: ...

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        del data, timeout_s
        if not self.power.state or self.silent:
            raise BoardError("it does not answer")
        self.power.say("-".join(argv[-2:]).encode() + b"\n")
        return Finished(0, b"")

    def stream(self, argv: Sequence[str]) -> Stream:
        raise NotImplementedError


def recording(
    directory: Path,
    *,
    dropped: int = 0,
    policy: str = "fifo",
    app_end: AppEnd | None = None,
    problems: Sequence[Problem] = (),
) -> Recording:
    """A run of 100 ms on one CPU."""
    cpu_series = CpuSamples(
        0, 0, MS, np.arange(100), np.full(100, 9_000), np.zeros(100, dtype=bool)
    )
    account = CpuAccount(
        cpu=0,
        start_ns=0,
        end_ns=100 * MS,
        expected=100 + dropped,
        seen=100,
        overrun=0,
        dropped=dropped,
        policy=policy,
        priority=95,
        memory_locked=True,
    )
    plan = RunPlan(workload=Wakeup(duration_ns=100 * MS, interval_ns=MS), cpus=[0])
    probe = ProbeReport(
        version="0.1.0",
        arch="x86_64",
        sha256="0" * 64,
        cpu_time_ns=10,
        clock_resolution_ns=1,
        clock_read_ns=25,
        peak_memory_bytes=1_000_000,
        frames=1,
        frames_damaged=0,
        frames_resent=0,
        frames_lost=0,
    )
    manifest = Manifest(
        format="whylate-recording",
        schema_version=6,
        state="complete",
        created="2025-01-02T03:04:05Z",
        whylate="0.1.0",
        board="board7",
        clock="CLOCK_MONOTONIC",
        plan=plan,
        cpus=[account],
        loads=[],
        facts=[],
        changes=[],
        probe=probe,
        problems=list(problems),
        app_end=app_end,
    )
    made = Recording(directory, manifest)
    made.__dict__["series"] = [cpu_series]  # as if they had been read
    return made
