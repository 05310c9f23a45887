"""Boards behind exporters on hosts of their own, in a network that the test makes."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
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

BOARDS = ("board1", "board2", "board3", "board4")
#: Boards whose exporters are lost: the first one's ends, the second one's hangs.
ENDED, HUNG = "board2", "board3"
OTHERS = ("board1", "board4")
#: A lost board costs three attempts, with five seconds between them, in each of which labgrid's
#: coordinator may wait ten seconds for an exporter, and lets nobody else have a place meanwhile.
GIVEN_UP_S = 120.0


@dataclass(frozen=True)
class Lab:
    """A desk with a coordinator, and benches, each with an exporter and a board."""

    directory: Path
    desk: Host
    coordinator: Coordinator
    #: By their boards.
    exporters: dict[str, subprocess.Popen[bytes]]
    user: User
    #: Ends its studies with it.
    stack: contextlib.ExitStack

    def study(self, boards: Sequence[str], runs: str) -> subprocess.Popen[str]:
        """Start the study, or resume it; runs: how long each is."""
        # More than are made while a lost board is waited for.
        words = ["--variant", "base", "--variant", "other:priority=20", "--runs", "40"]
        words += [word for board in boards for word in ("--board", board)]
        words += ["--for", runs, "--interval", "1ms", "--warm-up", "10ms", "--no-recorder"]
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

    def account(self) -> str:
        """Return a line for each run: its board, and how it went."""
        return "".join(
            f"\n{row['started']} {row['board']} {row['variant']} {row['round']}, "
            f"{row['took_s']} s: {row['failed'] or 'made'}"
            for row in self.rows()
        )

    def made(self, board: str) -> int:
        return sum(row["board"] == board and not row["failed"] for row in self.rows())

    def failed(self, board: str) -> list[object]:
        return [row["failed"] for row in self.rows() if row["board"] == board and row["failed"]]


def end(study: subprocess.Popen[str]) -> str:
    """End a study as Ctrl-C does; return what it printed."""
    study.send_signal(signal.SIGINT)
    return study.communicate(timeout=60)[0]


@pytest.fixture
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Make the lab; its parameter is the boards."""
    user = User(tmp_path / "user")
    with network() as net, contextlib.ExitStack() as stack:
        desk = net.host("desk")
        coordinator = Coordinator(tmp_path, desk)
        stack.callback(coordinator.close)
        made = Lab(tmp_path, desk, coordinator, {}, user, stack)
        places = {}
        for number, board in enumerate(request.param, 1):
            name = f"bench{number}"
            host = net.host(name)
            cable = net.cable(desk, host)
            stack.enter_context(openssh(tmp_path / name, user, host=host, address=cable.far))
            service = f"NetworkService: {{address: {cable.far}, username: root}}"
            at = Exporting(host, cable.far, f"{cable.near}:20408")
            made.exporters[board] = coordinator.export(name, board, [service], at)
            stack.callback(made.exporters[board].kill)
            places[board] = f"{name}/{board}/*"
        coordinator.create_all(places)
        yield made


@pytest.mark.parametrize("lab", [BOARDS], indirect=True, ids=["four boards"])
def test_a_lost_exporter_costs_its_board_one_line_and_the_others_go_on(lab: Lab) -> None:
    # A run is longer than its start, which keeps this machine busy.
    study = lab.study(BOARDS, "2s")
    assert came_true(lambda: lab.made(ENDED) and lab.made(HUNG), 60), lab.account()
    lab.exporters[HUNG].send_signal(signal.SIGSTOP)
    lab.exporters[ENDED].kill()
    lost = (ENDED, HUNG)
    assert came_true(lambda: all(len(lab.failed(board)) == 3 for board in lost), GIVEN_UP_S), (
        lab.account()
    )
    before = {board: lab.made(board) for board in OTHERS}
    assert came_true(lambda: all(lab.made(board) > before[board] for board in OTHERS), 60), (
        lab.account()
    )
    text = end(study)
    lines = [line for line in text.splitlines() if "was given up" in line]
    assert len(lines) == 2, text
    for board in lost:
        (line,) = [line for line in lines if line.startswith(f"whylate: {board} was given up: ")]
        assert "exporter does not" in line, text
    assert "defect" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("lab", [OTHERS], indirect=True, ids=["two boards"])
def test_a_killed_study_is_resumed_and_keeps_what_was_measured(lab: Lab) -> None:
    killed = lab.study(OTHERS, "500ms")
    assert came_true(lambda: all(lab.made(board) for board in OTHERS), 60), lab.account()
    killed.kill()
    killed.communicate()
    before = [row for row in lab.rows() if not row["failed"]]
    kept = {str(row["recording"]): (lab.directory / "study" / str(row["recording"]) /
            "samples.parquet").stat().st_mtime_ns for row in before}  # fmt: skip
    # The coordinator has the killed one's places still, and a user frees them.
    for board in OTHERS:
        lab.coordinator.free(board)
    resumed = lab.study(OTHERS, "500ms")
    enough = len(before) + len(OTHERS)
    assert came_true(lambda: sum(map(lab.made, OTHERS)) >= enough, 60), lab.account()
    text = end(resumed)
    assert "was given up" not in text, text
    assert [row for row in lab.rows() if not row["failed"]][: len(before)] == before
    for recording, at in kept.items():
        path = lab.directory / "study" / recording / "samples.parquet"
        assert path.stat().st_mtime_ns == at, recording
