"""Settings as kernels show them, and what becomes of one that something else sets meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import starts
from c_programs import compile_c
from whylate.recording.reader import open_recording

pytestmark = pytest.mark.machine

SWAPPINESS = Path("/proc/sys/vm/swappiness")
#: Of no process that there can be.
LOG = Path("/run/whylate-undo.1999999999")


@pytest.fixture(scope="module")
def preempt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = ["failure.c", "guardian/threads.c"]
    return compile_c("cc", "preempt_setting", sources, tmp_path_factory.mktemp("preempt"), [])


def test_the_preemption_mode_is_set_read_back_and_restored(preempt: Path) -> None:
    done = subprocess.run([preempt, "lazy"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0 lazy", "0 full", ""]


def test_an_invalid_preemption_mode_changes_nothing(preempt: Path) -> None:
    done = subprocess.run([preempt, "half"], capture_output=True, text=True, check=True)
    applied, put_back, text = done.stdout.splitlines()
    assert (applied, put_back) == ("22 full", "0 full")
    assert 'preempt does not take "half"' in text


@pytest.fixture
def swappiness() -> Iterator[str]:
    before = SWAPPINESS.read_text().strip()
    yield before
    LOG.unlink(missing_ok=True)
    SWAPPINESS.write_text(before)


def measured(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whylate", "measure", "--for", "1s", "--no-recorder"]
    return starts.run(
        [*command, "--json", "-o", str(directory), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="changing settings needs root")
def test_a_setting_that_something_else_changes_invalidates_the_run_and_is_restored(
    tmp_path: Path, swappiness: str
) -> None:
    load = f"cmd:sh -c 'echo 33 >{SWAPPINESS}; while :; do :; done'"
    done = measured(tmp_path / "r", "--set", f"{SWAPPINESS}=11", "--load", load)
    assert done.returncode == 3
    assert SWAPPINESS.read_text().strip() == swappiness
    (problem,) = (
        problem for problem in open_recording(tmp_path / "r").manifest.problems if problem.fatal
    )
    assert problem.code == "leaving"
    assert problem.text == (
        f'{SWAPPINESS} was set to "11" and reads "33" after the run: something else sets it'
    )
    assert json.loads(done.stdout)["trust_reasons"] == [problem.text]


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="changing settings needs root")
def test_a_file_that_is_set_twice_is_checked_for_its_last_value(
    tmp_path: Path, swappiness: str
) -> None:
    twice = ["--set", f"{SWAPPINESS}=11", "--set", f"{SWAPPINESS}=12"]
    assert measured(tmp_path / "r", *twice).returncode == 0
    assert SWAPPINESS.read_text().strip() == swappiness


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="changing settings needs root")
def test_the_log_of_a_probe_that_was_killed_keeps_its_format(swappiness: str) -> None:
    # As every version has left it: a path of 256 bytes and a value of 512.
    LOG.write_bytes(
        str(SWAPPINESS).encode().ljust(256, b"\0") + swappiness.encode().ljust(512, b"\0")
    )
    SWAPPINESS.write_text("34")
    starts.run([sys.executable, "-m", "whylate", "facts", "--json"], stdout=subprocess.DEVNULL,
                   check=True)  # fmt: skip
    deadline = time.monotonic() + 5
    while LOG.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not LOG.exists()
    assert SWAPPINESS.read_text().strip() == swappiness
