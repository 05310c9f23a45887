"""Whole runs over SSH: nothing dropped, and a board left as it was when the line is cut."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ssh_servers import NEEDED, BoardKind, Server, User, board
from waiting import came_true
from whylate.boards.board import Notify, StartedProbe
from whylate.boards.ready import ready
from whylate.boards.ssh import SshBoard
from whylate.boards.streams.process import ProcessStream
from whylate.probe.client import Client
from whylate.recording.manifest import Manifest
from whylate.recording.plan import LoadPlan, RunPlan, Setting
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.wire.messages import Read

pytest_plugins = ["ssh_fixtures"]

#: Settings of this machine that no other test changes.
SETTINGS = {"/proc/sys/vm/vfs_cache_pressure": "99", "/proc/sys/vm/dirty_expire_centisecs": "2998"}
#: The probe waits four seconds for a word, and looks once a second at least; then it leaves.
LEAVE_S = 5.0
SLACK_S = 4.0

pytestmark = [pytest.mark.machine, pytest.mark.realtime]

HOST = """
import sys
from pathlib import Path
from whylate.boards.ssh import SshBoard
from whylate.recording.plan import RunPlan, Setting
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
settings = [Setting(*word.split("=", 1)) for word in sys.argv[3:]]
wakeup = Wakeup(duration_ns=60_000_000_000, interval_ns=1_000_000)
request = RunPlan(workload=wakeup, cpus=[0], settings=settings)
measure(SshBoard(sys.argv[1]), request, Path(sys.argv[2]), Quiet())
"""


def plan(seconds: float, interval_ns: int = 1_000_000, *, spool: bool = False) -> RunPlan:
    return RunPlan(
        workload=Wakeup(duration_ns=int(seconds * 1e9), interval_ns=interval_ns, spool=spool),
        cpus=[0],
    )


def check_whole(manifest: Manifest, expected: int) -> None:
    assert manifest.state == "complete"
    assert not [problem for problem in manifest.problems if problem.fatal]
    account = manifest.cpus[0]
    assert account.expected == account.seen + account.overrun + account.dropped
    assert account.dropped == 0
    assert abs(account.expected - expected) <= 1


def test_a_run_on_a_board_of_eleven_applets(tmp_path: Path, user: User) -> None:
    with board(tmp_path / "board", user, BoardKind(applets=NEEDED)) as server:
        user.know(server)
        with ready(SshBoard(server.url()), lambda _: None) as held:
            manifest = measure(held, plan(1.0), tmp_path / "r", Quiet())
        check_whole(manifest, 1000)
        assert manifest.board == server.url()
        assert not server.running()
        assert not server.path("/run/whylate-probe-0").exists()


def test_a_run_in_64_mib_of_memory(tmp_path: Path, user: User) -> None:
    group = Path("/sys/fs/cgroup/memory/whylate-test-ssh")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(64 << 20))
    except OSError as error:
        pytest.skip(f"no memory control group (version 1) can be made: {error.strerror}")
    enter = f'echo $$ >{group}/cgroup.procs; exec "$@"'
    try:
        with board(tmp_path / "board", user, BoardKind(), "sh", "-c", enter, "sh") as server:
            user.know(server)
            with ready(SshBoard(server.url()), lambda _: None) as held:
                check_whole(measure(held, plan(1.0), tmp_path / "r", Quiet()), 1000)
                check_whole(measure(held, plan(1.0, spool=True), tmp_path / "s", Quiet()), 1000)
        assert int((group / "memory.max_usage_in_bytes").read_text()) > 4 << 20
    finally:
        deadline = time.monotonic() + 5
        while (group / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        group.rmdir()


@pytest.mark.parametrize("spool", [False, True], ids=["sent meanwhile", "spooled"])
def test_ten_thousand_a_second_and_none_is_dropped(
    server: Server, tmp_path: Path, spool: bool
) -> None:
    with ready(SshBoard(server.url()), lambda _: None) as held:
        manifest = measure(held, plan(3.0, 100_000, spool=spool), tmp_path / "r", Quiet())
    check_whole(manifest, 30_000)
    rows = open_recording(tmp_path / "r").samples[0]
    assert rows.activation.size == manifest.cpus[0].seen + manifest.cpus[0].overrun
    assert not [problem for problem in manifest.problems if problem.code == "line"]


class Watched(SshBoard):
    """A board that says which ssh holds the line."""

    client = 0

    def start_probe(self, notify: Notify) -> StartedProbe:
        started = super().start_probe(notify)
        assert isinstance(started.stream, ProcessStream)
        self.client = started.stream.pid
        return started


@pytest.fixture
def settings_before() -> Iterator[dict[str, str]]:
    before = read_settings()
    assert all(before[path] != value for path, value in SETTINGS.items())
    yield before
    for path, value in before.items():
        Path(path).write_text(value)


def read_settings() -> dict[str, str]:
    return {path: Path(path).read_text().strip() for path in SETTINGS}


def kill_client(held: Watched, server: Server) -> list[int]:
    del server
    os.kill(held.client, signal.SIGKILL)
    return []


def stop_client(held: Watched, server: Server) -> list[int]:
    del server
    os.kill(held.client, signal.SIGSTOP)
    return []


def stop_session(held: Watched, server: Server) -> list[int]:
    del held
    sessions = server.sessions()
    for pid in sessions:
        os.kill(pid, signal.SIGSTOP)
    return sessions


@pytest.mark.parametrize("cut", [kill_client, stop_client, stop_session])
def test_a_cut_line_leaves_the_board_as_it_was(
    cut: Callable[[Watched, Server], list[int]],
    server: Server,
    tmp_path: Path,
    settings_before: dict[str, str],
) -> None:
    held = Watched(server.url())
    request = RunPlan(
        workload=Wakeup(duration_ns=60_000_000_000, interval_ns=500_000),
        cpus=[0],
        loads=[LoadPlan("timer", 1), LoadPlan("cmd", 1, "sh -c 'setsid sleep 1000 & wait'")],
        settings=[Setting(path, value) for path, value in SETTINGS.items()],
    )
    manifests: list[Manifest] = []
    run = threading.Thread(
        target=lambda: manifests.append(measure(held, request, tmp_path / "r", Quiet()))
    )
    run.start()
    stopped: list[int] = []
    try:
        assert came_true(lambda: read_settings() == SETTINGS, 20)
        assert came_true((tmp_path / "r" / "journal").exists, 20)
        time.sleep(3)  # warmed up, and measuring
        assert {"whylate-timer", "sleep"} <= set(server.running().values())
        stopped = cut(held, server)
        as_found = came_true(
            lambda: read_settings() == settings_before and not server.running(),
            LEAVE_S + SLACK_S,
        )
        assert read_settings() == settings_before, "settings were not put back in time"
        assert as_found, f"processes are left: {server.running()}"
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)
        # What a real line does by ServerAliveInterval, where it is only silent.
        if run.is_alive() and cut is not kill_client:
            os.kill(held.client, signal.SIGKILL)
        run.join(60)
    assert not run.is_alive()
    assert manifests[0].state == "cut"
    assert manifests[0].cpus[0].seen > 0, "what had arrived is kept"


def test_a_host_that_is_killed_leaves_the_board_as_it_was(
    server: Server, tmp_path: Path, settings_before: dict[str, str]
) -> None:
    words = [f"{path}={value}" for path, value in SETTINGS.items()]
    host = subprocess.Popen([sys.executable, "-c", HOST, server.url(), str(tmp_path / "r"), *words])
    try:
        assert came_true(lambda: read_settings() == SETTINGS, 20)
    finally:
        host.kill()
        host.wait()
    assert came_true(
        lambda: read_settings() == settings_before and not server.running(),
        LEAVE_S + SLACK_S,
    )
    # The probe's file stays for the next one, who removes it.
    with ready(SshBoard(server.url()), lambda _: None) as held:
        held.start_probe(lambda _: None).stream.close()
    assert not server.path("/run/whylate-probe-0").exists()


def test_a_line_cut_while_much_is_to_be_sent_is_no_trap(server: Server) -> None:
    """More than the probe and the line can hold waits to be sent, and nobody reads it any more."""
    with closing(SshBoard(server.url()).start_probe(lambda _: None).stream) as stream:
        client = Client(stream)
        client.hello()
        client.keepalive(1.0)
        client._send(Read(0, 1 << 20, 0, "/usr/bin/*"))
        assert came_true(lambda: not server.running(), 1.0 + SLACK_S), "it waits for ever"
