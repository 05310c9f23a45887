"""Boards behind exporters on hosts of their own, in a network that the test makes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench_coordinator import Coordinator, Exporting
from bench_desk import Desk

from network_hosts import Host, network, why_no_network
from ssh_servers import User, openssh
from waiting import came_true

pytestmark = [
    pytest.mark.skipif(bool(why_no_network()), reason=why_no_network()),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed"),
    pytest.mark.realtime,
]

BOARDS = ("board1", "board2", "board3")
#: A lost board costs three attempts, with five seconds between them.
GIVEN_UP_S = 60.0


@dataclass(frozen=True)
class Lab:
    """A desk with a coordinator, and three benches, each with an exporter and a board."""

    directory: Path
    desk: Host
    coordinator: Coordinator
    benches: list[Host]
    exporters: list[subprocess.Popen[bytes]]
    user: User
    #: Ends its studies with it.
    stack: contextlib.ExitStack

    def study(self, boards: tuple[str, ...] = BOARDS) -> subprocess.Popen[str]:
        """Start the study, or resume it."""
        # More than are made while a lost board is waited for.
        words = ["--variant", "base", "--variant", "other:priority=20", "--runs", "40"]
        words += [word for board in boards for word in ("--board", board)]
        words += ["--for", "500ms", "--interval", "1ms", "--warm-up", "10ms", "--no-recorder"]
        study = Desk(self.desk, self.user, self.directory / "run").start(
            "study", "run", *words, "-o", str(self.directory / "study"),
            LG_COORDINATOR=self.coordinator.address,
        )  # fmt: skip
        self.stack.enter_context(study)
        self.stack.callback(study.kill)
        return study

    def rows(self) -> list[dict[str, object]]:
        """Return the runs that the study has noted."""
        path = self.directory / "study" / "runs.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        rows = []
        for line in lines:
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        return [row for row in rows if "board" in row]

    def made(self, board: str) -> int:
        return sum(row["board"] == board and not row["failed"] for row in self.rows())

    def failed(self, board: str) -> list[object]:
        return [row["failed"] for row in self.rows() if row["board"] == board and row["failed"]]


def end(study: subprocess.Popen[str]) -> str:
    """End a study as Ctrl-C does; return what it printed."""
    study.send_signal(signal.SIGINT)
    return study.communicate(timeout=60)[0]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    user = User(tmp_path / "user")
    user.configure("ServerAliveInterval 1", "ServerAliveCountMax 3", "ConnectTimeout 3")
    with network() as net, contextlib.ExitStack() as stack:
        desk = net.host("desk")
        coordinator = Coordinator(tmp_path, desk)
        stack.callback(coordinator.close)
        made = Lab(tmp_path, desk, coordinator, [], [], user, stack)
        for number, board in enumerate(BOARDS, 1):
            name = f"bench{number}"
            host = net.host(name)
            cable = net.cable(desk, host)
            stack.enter_context(openssh(tmp_path / name, user, host=host, address=cable.far))
            service = f"NetworkService: {{address: {cable.far}, username: root}}"
            at = Exporting(host, cable.far, f"{cable.near}:20408")
            made.exporters.append(coordinator.export(name, board, [service], at))
            made.benches.append(host)
            coordinator.create(board, f"{name}/{board}/*")
        yield made


def end_the_exporter(lab: Lab) -> None:
    lab.exporters[1].kill()


def hang_the_exporter(lab: Lab) -> None:
    os.kill(lab.exporters[1].pid, signal.SIGSTOP)


@pytest.mark.parametrize("fault", [end_the_exporter, hang_the_exporter])
def test_a_lost_exporter_costs_its_board_one_line_and_the_others_go_on(
    lab: Lab, fault: Callable[[Lab], None]
) -> None:
    study = lab.study()
    assert came_true(lambda: lab.made("board2") > 0, 60)
    fault(lab)
    began = time.monotonic()
    assert came_true(lambda: len(lab.failed("board2")) == 3, GIVEN_UP_S), lab.rows()
    took_s = time.monotonic() - began
    others = {board: lab.made(board) for board in ("board1", "board3")}
    assert came_true(lambda: all(lab.made(board) > others[board] for board in others), 60)
    text = end(study)
    lab.exporters[1].kill()
    lost = [line for line in text.splitlines() if "was given up" in line]
    assert len(lost) == 1, text
    assert lost[0].startswith("whylate: board2 was given up: "), text
    assert "exporter does not" in lost[0], text
    assert "defect" not in text
    assert "Traceback" not in text
    assert took_s < GIVEN_UP_S


def test_a_killed_study_is_resumed_and_keeps_what_was_measured(lab: Lab) -> None:
    killed = lab.study()
    assert came_true(lambda: all(lab.made(board) for board in BOARDS), 60)
    killed.kill()
    killed.communicate()
    before = [row for row in lab.rows() if not row["failed"]]
    kept = {str(row["recording"]): (lab.directory / "study" / str(row["recording"]) /
            "samples.parquet").stat().st_mtime_ns for row in before}  # fmt: skip
    # The coordinator has the killed one's places still, and a user frees them.
    for board in BOARDS:
        lab.coordinator.free(board)
    resumed = lab.study()
    enough = len(before) + len(BOARDS)
    assert came_true(lambda: sum(map(lab.made, BOARDS)) >= enough, 60)
    text = end(resumed)
    assert "was given up" not in text, text
    assert [row for row in lab.rows() if not row["failed"]][: len(before)] == before
    for recording, at in kept.items():
        path = lab.directory / "study" / recording / "samples.parquet"
        assert path.stat().st_mtime_ns == at, recording
