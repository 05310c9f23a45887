"""Events counted of the measuring threads, beside their latencies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import starts
from whylate.cli import whylate
from whylate.recording.reader import open_recording

pytestmark = [pytest.mark.machine, pytest.mark.realtime]


def test_each_measuring_thread_is_counted_by_itself(tmp_path: Path) -> None:
    done = starts.run(
        [sys.executable, "-m", "whylate", "measure", "--for", "1s", "--no-recorder", "--json",
         "--counters", "context-switches,page-faults", "-o", str(tmp_path / "r")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    document = json.loads(done.stdout)
    switches, faults = document["events"]
    # A thread that sleeps to each activation switches away once for it.
    assert switches["name"] == "context-switches"
    assert 0.9 < switches["per_activation"] < 1.3
    # Its memory is locked: nothing of it is faulted in.
    assert faults["per_activation"] < 0.1
    manifest = open_recording(tmp_path / "r").manifest
    assert [item.cpu for item in manifest.events] == [item.cpu for item in manifest.cpus]
    page = (tmp_path / "r" / "report.html").read_text()
    assert "context-switches" in page


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--counters", "nope"], "no event 'nope'"),
        (["--counters", "icache-stall"], "exists on Cortex-A9"),
        (["--comm", "x", "--counters", "cycles"], "perf stat"),
        (["--counters", ",".join(f"r{n}" for n in range(17))], "up to 16"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path: Path, words: list[str], why: str) -> None:
    result = CliRunner().invoke(
        whylate, ["measure", "--for", "1s", "-o", str(tmp_path / "r"), *words]
    )
    assert result.exit_code != 0
    assert why in f"{result.output} {result.exception}"
    assert not (tmp_path / "r").exists()
