"""`whylate diff` as a command: its exit status, and incomplete recordings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from whylate.boards.local import LocalBoard
from whylate.cli.compare.diff import command
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("diff") / "r"
    request = RunPlan(
        workload=Wakeup(
            duration_ns=100_000_000, interval_ns=1_000_000, priority=10, allow_idle_states=True
        ),
        cpus=[0],
    )
    measure(LocalBoard(), request, directory, Quiet())
    return directory


def test_a_recording_is_the_same_as_itself(recording: Path) -> None:
    done = CliRunner().invoke(command, [str(recording), str(recording)])
    assert done.exit_code == 0
    assert "All 100 latencies are the same" in done.output


def test_a_recording_and_its_incomplete_copy_are_not_the_same(
    recording: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(recording, cut)
    manifest = json.loads((cut / "manifest.json").read_text())
    (cut / "manifest.json").write_text(json.dumps({**manifest, "state": "interrupted"}))
    done = CliRunner().invoke(command, [str(recording), str(cut)])
    assert done.exit_code == 3
    # The path is long, and the line is folded wherever it ends.
    assert "isincomplete:itsrunwasinterrupted" in "".join(done.output.split())
    document = json.loads(CliRunner().invoke(command, [str(recording), str(cut), "--json"]).output)
    assert document["same"] is False
