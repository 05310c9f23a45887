"""`whylate explain --perfetto FILE`: the file, the message, and errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import starts

RECORDED = Path(__file__).parent.parent / "report" / "data" / "pc-three-causes"


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", "explain", str(RECORDED), *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_trace_is_written_beside_the_answer_and_json_stays_json(tmp_path: Path) -> None:
    trace = tmp_path / "windows.pftrace"
    done = explain("--json", "--worst", "2", "--perfetto", str(trace))
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert trace.stat().st_size > 10_000
    assert "has 138 windows: open it at ui.perfetto.dev" in done.stderr
    families = {family["family"]: family for family in answer["families"]}
    assert sum(family["episodes"] for family in families.values()) == answer["episodes_recorded"]
    named = {(family["cause"], family["detail"]) for family in families.values()}
    assert {("softirq", "TASKLET"), ("thread", "rt_task")} <= named
    assert answer["worst"][0]["family"] in families


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = explain("--perfetto", str(tmp_path / "none" / "x"))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("cannot be written: No such file or directory")


def test_the_ten_line_answer_has_the_families() -> None:
    text = explain().stdout
    assert re.search(r"^A +softirq TASKLET +\d+ +≥ \S+ µs", text, re.MULTILINE)
    assert re.search(r"^[B-D] +thread rt_task +\d+ +≥ \S+ µs", text, re.MULTILINE)
