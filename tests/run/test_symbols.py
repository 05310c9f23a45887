"""Symbols on this machine: read on the board, also where the kernel hides them from everybody."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from whylate.boards.board import Notify, StartedProbe
from whylate.boards.local import LocalBoard
from whylate.recording.manifest import Manifest
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet

KPTR_RESTRICT = Path("/proc/sys/kernel/kptr_restrict")
#: Everything is late, so that windows are copied and addresses are met.
EVERYTHING = 1
MARK = "WHYLATE_TEST_RUN"

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]


class ReadOnlySettings(LocalBoard):
    """This machine with a /proc/sys that cannot be written, as containers have it."""

    def start_probe(self, notify: Notify) -> StartedProbe:
        del notify
        lock = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys"
        script = f'{lock} && exec "$0"'
        return StartedProbe(
            self.stream(["unshare", "--mount", "sh", "-c", script, str(self.binary.path)]),
            self.binary,
        )


@pytest.fixture
def hidden() -> Iterator[None]:
    before = KPTR_RESTRICT.read_text()
    KPTR_RESTRICT.write_text("2\n")
    yield
    KPTR_RESTRICT.write_text(before)


def run(board: LocalBoard, directory: Path) -> Manifest:
    plan = RunPlan(
        workload=Wakeup(
            duration_ns=1_000_000_000,
            interval_ns=1_000_000,
            recorder=RecorderPlan(threshold_ns=EVERYTHING),
        )
    )
    manifest = measure(board, plan, directory, Quiet())
    if manifest.recorder is None or manifest.recorder.engine is None:
        pytest.skip("nothing can be traced here")
    return manifest


def codes(manifest: Manifest) -> set[str]:
    return {problem.code for problem in manifest.problems}


def test_the_manifest_names_the_kernel_s_build(tmp_path: Path) -> None:
    manifest = run(LocalBoard(), tmp_path / "r")
    assert manifest.recorder is not None
    symbols = manifest.recorder.symbols
    assert symbols is not None
    assert symbols.shown
    assert not symbols.lowered
    assert 0 < symbols.named <= symbols.addresses
    assert symbols.build_ids[0].module is None
    assert len(symbols.build_ids[0].build_id) == 40
    assert bytes.fromhex(symbols.build_ids[0].build_id) in Path("/sys/kernel/notes").read_bytes()


@pytest.mark.usefixtures("hidden")
def test_addresses_hidden_from_everybody_are_shown_briefly_and_that_is_said(tmp_path: Path) -> None:
    manifest = run(LocalBoard(), tmp_path / "r")
    assert manifest.recorder is not None
    symbols = manifest.recorder.symbols
    assert symbols is not None
    assert symbols.lowered
    assert symbols.kptr_restrict == 2
    assert symbols.shown
    assert symbols.named > 0
    assert "symbols" not in codes(manifest)
    assert KPTR_RESTRICT.read_text() == "2\n"


@pytest.mark.usefixtures("hidden")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_where_the_setting_cannot_be_written_the_run_goes_on_and_says_so(tmp_path: Path) -> None:
    manifest = run(ReadOnlySettings(), tmp_path / "r")
    assert manifest.state == "complete"
    assert manifest.recorder is not None
    symbols = manifest.recorder.symbols
    assert symbols is not None
    assert not symbols.shown
    assert not symbols.lowered
    assert symbols.named == 0
    # Nothing that could not be changed is tried to be put back.
    assert codes(manifest) == {"symbols"}
    text = next(p.text for p in manifest.problems if p.code == "symbols")
    assert "kernel.kptr_restrict is 2" in text


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("attempt", range(3))
def test_killed_while_they_are_shown_the_probe_leaves_them_hidden(
    attempt: int, tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "whylate", "measure", "--for", "1s", "--threshold", "1ns"]
    host = subprocess.Popen(
        [*command, "-o", str(tmp_path / f"r{attempt}")],
        env={**os.environ, MARK: mark}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while KPTR_RESTRICT.read_text() == "2\n" and time.monotonic() < deadline:
        pass
    shown = KPTR_RESTRICT.read_text() == "1\n"
    for process in probes(mark):
        os.kill(process, signal.SIGKILL)
    host.wait(30)
    deadline = time.monotonic() + 5
    while KPTR_RESTRICT.read_text() != "2\n" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert KPTR_RESTRICT.read_text() == "2\n"
    assert shown or attempt, "it was never seen lowered"


def probes(mark: str) -> list[int]:
    """Return the probe of a marked run, without its guardian."""
    result = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes()
                and (entry / "comm").read_text().startswith("whylate-probe")
            ):
                result.append(int(entry.name))
        except OSError:
            continue
    return result
