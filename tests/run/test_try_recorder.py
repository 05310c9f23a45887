"""Trying the flight recorder on this machine, and doing without it where nothing can be traced."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import starts
from whylate.boards.board import Notify, StartedProbe, notify_nobody
from whylate.boards.local import LocalBoard
from whylate.causes.answer import explain_recording
from whylate.causes.observability import Observable, list_observability
from whylate.probe.client import Client
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.run.read import try_recorder

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]
NOBODY = 65534
TRACING = Path("/sys/kernel/tracing/instances")


class Unprivileged(LocalBoard):
    """This machine for somebody who may do nothing that tracing takes."""

    def __init__(self, directory: Path) -> None:
        directory.chmod(0o755)
        self._copy = directory / "probe"
        shutil.copy(self.binary.path, self._copy)
        self._copy.chmod(0o755)

    def start_probe(self, notify: Notify) -> StartedProbe:
        del notify
        identity = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return StartedProbe(self.stream(["setpriv", *identity, str(self._copy)]), self.binary)


@pytest.fixture
def unprivileged() -> Iterator[Unprivileged]:
    # pytest's own directories are closed to others.
    with tempfile.TemporaryDirectory(dir="/run") as directory:
        yield Unprivileged(Path(directory))


def test_it_says_of_every_source_what_became_of_it_and_leaves_nothing() -> None:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        report = try_recorder(client, client.hello().cpus)
    if report.engine is None:
        pytest.skip(f"nothing can be traced here: {report.refused}")
    names = [source.name for source in report.sources]
    assert len(names) == len(set(names)) > 10
    assert {"sched:sched_switch", "sched:sched_waking"} <= set(names)
    assert report.events > 100
    assert report.symbols is not None
    assert report.symbols.addresses > 0
    assert not TRACING.exists() or not list(TRACING.glob("whylate*"))
    result = {item.cause.value: item.observable for item in list_observability(report, [])}
    assert result["thread"] is Observable.YES


def test_doctor_prints_what_can_be_told_apart_as_text_and_for_machines() -> None:
    command = [sys.executable, "-m", "whylate", "doctor"]
    done = starts.run(
        [*command, "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["recorder"]["engine"] in ("bpf", "tracefs", None)
    output = {item["cause"]: item["observable"] for item in printed["observability"]}
    if printed["recorder"]["engine"] is not None:
        assert output["thread"] == "observable"
        assert {"lock", "page fault", "steal", "interrupts disabled"} <= set(output)
    assert "flight recorder" in {check["name"] for check in printed["checks"]}
    done = starts.run(
        [*command, "--no-recorder"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0
    assert "flight recorder" not in done.stdout


def test_who_may_trace_nothing_still_measures_and_explain_says_why_it_cannot(
    unprivileged: Unprivileged, tmp_path: Path
) -> None:
    plan = RunPlan(
        workload=Wakeup(duration_ns=1_000_000_000, interval_ns=1_000_000, recorder=RecorderPlan())
    )
    manifest = measure(unprivileged, plan, tmp_path / "r", Quiet())
    assert sum(account.seen for account in manifest.cpus) > 100
    assert manifest.recorder is not None
    assert manifest.recorder.engine is None
    result = explain_recording(open_recording(tmp_path / "r"))
    assert result.population is None
    assert result.why_not is not None
    assert "bpf: " in result.why_not
    assert "root" in result.why_not
    assert {item.observable for item in result.observability} == {Observable.NO}
    command = [sys.executable, "-m", "whylate", "explain", str(tmp_path / "r")]
    done = starts.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "nothing could be recorded" in done.stdout
    with closing(unprivileged.start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        report = try_recorder(client, client.hello().cpus)
    assert report.engine is None
    assert report.refused
