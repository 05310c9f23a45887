"""Which causes can be told apart on virtual boards, asked of their own probes."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from whylate.boards.board import notify_nobody
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import ready
from whylate.causes.answer import explain_recording
from whylate.lab.description import virtual_board
from whylate.probe.client import Client
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.run.read import try_recorder

pytestmark = pytest.mark.qemu
RECORDED = Path(__file__).parents[2] / "causes/data"
LOCKED_DOWN = ("lockdown=confidentiality",)


@pytest.fixture(autouse=True)
def own_boards(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path_factory.mktemp("b")))


@pytest.mark.parametrize(
    ("name", "arguments", "recorded"),
    [
        ("virt-arm64", LOCKED_DOWN, "virt-arm64-lockdown"),
        ("sabrelite", (), "sabrelite-tracefs"),
    ],
)
def test_a_board_s_sources_are_those_that_were_recorded_of_it(
    name: str, arguments: tuple[str, ...], recorded: str
) -> None:
    board = QemuBoard(virtual_board(name), VirtualOptions(kernel_args=arguments))
    with ready(board, notify_nobody), closing(board.start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        report = try_recorder(client, client.hello().cpus)
    known = json.loads((RECORDED / f"{recorded}.json").read_text())["report"]
    assert report.engine == known["engine"]
    assert {source.name: source.error for source in report.sources} == {
        source["name"]: source["error"] for source in known["sources"]
    }


def test_a_board_on_which_nothing_can_be_traced_is_measured_and_explain_says_why_it_cannot(
    tmp_path: Path,
) -> None:
    board = QemuBoard(virtual_board("virt-arm64"), VirtualOptions(kernel_args=LOCKED_DOWN))
    plan = RunPlan(
        workload=Wakeup(
            duration_ns=500_000_000, interval_ns=1_000_000, recorder=RecorderPlan("tracefs")
        )
    )
    with ready(board, notify_nobody):
        manifest = measure(board, plan, tmp_path / "r", Quiet())
    assert sum(account.expected for account in manifest.cpus) == 500 * len(manifest.cpus)
    explanation = explain_recording(open_recording(tmp_path / "r"))
    assert explanation.population is None
    assert explanation.why_not is not None
    assert "lockdown" in explanation.why_not
