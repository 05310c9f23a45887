"""Boards that only another host reaches: a jump host, or labgrid's proxy."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench_boards import shell_board
from bench_coordinator import Coordinator, Exporting
from bench_desk import Desk
from bench_files import serial_port, target, targets_text
from bench_line import SerialLine

from network_hosts import Host, network, why_no_network
from ssh_servers import Server, User, openssh
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording

pytestmark = [
    pytest.mark.skipif(bool(why_no_network()), reason=why_no_network()),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed"),
]

SWITCHED = "ExternalPowerDriver: {cmd_on: 'true', cmd_off: 'true', cmd_cycle: 'true'}"


@dataclass(frozen=True)
class Lab:
    """A desk, a bench that it reaches, and a board that only the bench reaches."""

    directory: Path
    desk: Desk
    bench: Host
    #: The bench's addresses: at the desk's cable, and of the desk as the bench reaches it.
    address: str
    desk_address: str
    #: The board's, at the bench's other cable.
    board: str
    bench_server: Server

    def target(self, *drivers: str) -> tuple[str, str]:
        """Write an environment file with the board as its target board7; return its option."""
        service = f"NetworkService: {{address: {self.board}, username: root}}"
        path = self.directory / "bench.yaml"
        path.write_text(targets_text({"board7": target(resources=[service], drivers=[*drivers])}))
        return "--env", str(path)

    def far_away(self, *board: str, **variables: str) -> str:
        """Return the last line of a command on a board that is named by these words."""
        status, text = self.desk.run("board", "run", *board, "--", "echo", "far", **variables)
        assert status == 0, text
        return text.splitlines()[-1]

    def measured(self, *board: str, **variables: str) -> Manifest:
        """Return the manifest of a run on a board that is named by these words."""
        directory = self.directory / f"run-{len(list(self.directory.glob('run-*')))}"
        words = ("measure", *board, "--for", "1s", "-o", str(directory))
        status, text = self.desk.run(*words, **variables)
        assert status in (0, 3), text
        return open_recording(directory).manifest

    def configure(self, *lines: str) -> None:
        """Write the user's ~/.ssh/config: it has these lines, and where the bench is."""
        self.desk.user.configure(*lines, "Host bench", f"HostName {self.address}", "User root")


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("lab")
    user = User(directory / "user")
    with network() as net, contextlib.ExitStack() as stack:
        desk, bench, board = (net.host(name) for name in ("desk", "bench", "board"))
        near, far = net.cable(desk, bench), net.cable(bench, board)
        servers = [
            stack.enter_context(openssh(directory / name, user, host=host, address=address))
            for name, host, address in (("bench", bench, near.far), ("board", board, far.far))
        ]
        user.know(servers[0], near.far)
        user.know(servers[1], far.far)
        yield Lab(directory, Desk(desk, user, directory / "run"), bench, near.far, near.near,
                  far.far, servers[0])  # fmt: skip


@pytest.fixture
def lab(standing: Lab) -> Lab:
    standing.configure()
    return standing


@pytest.mark.parametrize("way", ["its address", "a bench"])
def test_a_board_behind_a_jump_host_is_used_by(lab: Lab, way: str) -> None:
    lab.configure(f"Host {lab.board}", "ProxyJump bench")
    words = (f"ssh://root@{lab.board}",) if way == "its address" else ("board7", *lab.target())
    assert lab.far_away(*words) == "far"


def check_whole(manifest: Manifest) -> None:
    """Check that every activation of a run is accounted for."""
    assert manifest.state == "complete", manifest.problems
    assert manifest.cpus
    assert all(cpu.seen > 900 for cpu in manifest.cpus)
    assert not any(cpu.dropped for cpu in manifest.cpus)
    assert manifest.probe.frames_lost == 0


def test_a_whole_run_over_a_jump_host(lab: Lab) -> None:
    lab.configure(f"Host {lab.board}", "ProxyJump bench")
    check_whole(lab.measured(f"ssh://root@{lab.board}"))


def test_a_relay_that_sticks_shows_behind_a_jump_host_too(lab: Lab) -> None:
    lab.configure(f"Host {lab.board}", "ProxyJump bench")
    status, text = lab.desk.run("board", "off", "board7", *lab.target(SWITCHED))
    assert status == 3
    assert text.count("whylate: board7") == 1, text
    assert "although its supply was switched off: its SSH server still answers" in text


def test_labgrids_proxy_leads_to_the_board_of_an_environment_file(lab: Lab) -> None:
    assert lab.far_away("board7", *lab.target(), LG_PROXY="bench") == "far"


@pytest.fixture(scope="module")
def exported(standing: Lab) -> Iterator[Coordinator]:
    """An exporter on the bench that offers itself as the only way to its boards."""
    line = SerialLine()
    plug = shell_board(line)
    coordinator = Coordinator(standing.directory, standing.desk.host)
    try:
        plug.power_on()
        # A name of its exporter's, not known to any resolver.
        at = Exporting(standing.bench, "127.0.0.1", f"{standing.desk_address}:20408", "bench")
        service = f"NetworkService: {{address: {standing.board}, username: root}}"
        coordinator.export("wired", "board1", [service], at)
        coordinator.export("serial", "board2", [serial_port(line.path)], at)
        coordinator.create("board1", "wired/board1/*")
        coordinator.create("board2", "serial/board2/*")
        yield coordinator
    finally:
        coordinator.close()
        plug.power_off()
        line.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root")
@pytest.mark.parametrize("place", ["board1", "board2"])
def test_places_of_an_isolated_exporter_are_reached_over_it(
    lab: Lab, exported: Coordinator, place: str
) -> None:
    assert lab.far_away(place, LG_COORDINATOR=exported.address) == "far"


@pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root")
@pytest.mark.parametrize("place", ["board1", "board2"])
def test_a_whole_run_over_labgrids_proxy(lab: Lab, exported: Coordinator, place: str) -> None:
    check_whole(lab.measured(place, LG_COORDINATOR=exported.address))


def test_an_exporter_that_lets_nobody_in_is_one_line(lab: Lab, exported: Coordinator) -> None:
    lab.desk.user.configure("Host bench", f"HostName {lab.address}", "User nobody")
    words = ("board", "run", "board2", "--", "true")
    status, text = lab.desk.run(*words, LG_COORDINATOR=exported.address)
    assert status == 3
    assert "bench failed" not in text
    line = text.splitlines()[-1]
    assert line.startswith("whylate: board2: opening its console failed: no way over labgrid's ")
    assert "Permission denied (publickey): whylate asks for no password" in line
