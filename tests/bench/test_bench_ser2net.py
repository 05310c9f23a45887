"""Consoles that ser2net serves on another host, as it runs and as it dies in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench_boards import ProcessBoard, shell_board
from bench_coordinator import Coordinator, Exporting
from bench_desk import Desk
from bench_files import POWER, SERIAL, power_port, serial_port, target, targets_text
from bench_line import SerialLine
from bench_supplies import Outlet, Strip

from network_hosts import Cable, Host, network, why_no_network
from ssh_servers import User
from waiting import came_true
from whylate.recording.reader import read_manifest

SER2NET = "/usr/sbin/ser2net"
PORT = 2001

pytestmark = [
    pytest.mark.skipif(bool(why_no_network()), reason=why_no_network()),
    pytest.mark.skipif(not Path(SER2NET).exists(), reason="ser2net is not installed"),
    pytest.mark.realtime,
]


@dataclass(frozen=True)
class Lab:
    """A desk with a power strip, and a bench with a board on a serial line."""

    directory: Path
    desk: Desk
    bench: Host
    cable: Cable
    power: Strip
    board: ProcessBoard
    line: SerialLine

    def target(self, resource: str) -> tuple[str, str, str]:
        """Write an environment file whose target board7 has that console; return the words."""
        path = self.directory / "bench.yaml"
        body = target(resources=[power_port(self.power), resource], drivers=[POWER, SERIAL])
        path.write_text(targets_text({"board7": body}))
        return "board7", "--env", str(path)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with network() as net, contextlib.ExitStack() as stack:
        host, bench = net.host("desk"), net.host("bench")
        cable = net.cable(host, bench)
        line = SerialLine()
        stack.callback(line.close)
        board = shell_board(line)
        power = host.inside(lambda: Strip({1: Outlet(board)}))
        stack.callback(power.close)
        desk = Desk(host, User(tmp_path / "user"), tmp_path / "run")
        yield Lab(tmp_path, desk, bench, cable, power, board, line)


def test_a_console_on_a_plain_tcp_port_is_used_and_its_end_is_seen(lab: Lab) -> None:
    ser2net = (
        f"connection: &con1#  accepter: tcp,{PORT}",
        f"  connector: serialdev(nouucplock=true),{lab.line.path},115200n81,local",
    )
    command = [*lab.bench.enter, SER2NET, "-d", "-n"]
    with subprocess.Popen([*command, *(x for line in ser2net for x in ("-Y", line))],
                          stderr=subprocess.DEVNULL) as server:  # fmt: skip
        try:
            board = lab.target(
                f"NetworkSerialPort: {{host: {lab.cable.far}, port: {PORT}, protocol: raw}}"
            )
            script = f"echo >{lab.directory}/up; sleep 99"
            with lab.desk.start("board", "run", *board, "--", "sh", "-c", script) as run:
                assert came_true((lab.directory / "up").exists, 30)
                server.kill()
                text = run.communicate(timeout=30)[0]
        finally:
            server.kill()
    assert run.returncode == 3
    [line] = [line for line in text.splitlines() if "…" not in line]
    assert line.startswith("whylate: the console's line is gone"), text
    assert not lab.power.outlets[1].state


def test_a_run_whose_ser2net_dies_costs_one_line_and_is_kept(lab: Lab) -> None:
    coordinator = Coordinator(lab.directory, lab.desk.host)
    try:
        at = Exporting(lab.bench, lab.cable.far, f"{lab.cable.near}:20408")
        exporter = coordinator.export("bench", "board7", [serial_port(lab.line.path)], at)
        coordinator.create("far7", "bench/board7/*")
        text = measure_until(
            lab, coordinator, lambda: os.kill(only_child(exporter), signal.SIGKILL)
        )
    finally:
        coordinator.close()
    why = "the line to the console of board7 is gone: ser2net or its host ended, or the adapter was"
    assert " ".join(text.split()).count(why) == 1, text
    assert "Traceback" not in text
    assert not lab.power.outlets[1].state
    manifest = read_manifest(lab.directory / "made")
    assert manifest.state == "cut"
    assert sum(cpu.seen for cpu in manifest.cpus) > 200


def measure_until(lab: Lab, coordinator: Coordinator, then: Callable[[], None]) -> str:
    """Measure board7 over a place's console, do that once samples have come; return the output."""
    made = lab.directory / "made"
    words = ("--for", "60s", "--interval", "1ms", "--no-recorder", "-o", str(made))
    board = lab.target("RemotePlace: {name: far7}")
    with lab.desk.start("measure", *board, *words, LG_COORDINATOR=coordinator.address) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line == "whylate: measuring …\n":
                break
        size = (made / "journal").stat().st_size
        assert came_true(lambda: (made / "journal").stat().st_size > size + 10_000, 30)
        then()
        # Less than the silence after which a board is given up.
        return run.communicate(timeout=25)[0]


def only_child(process: subprocess.Popen[bytes]) -> int:
    [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)
