"""Events counted between the marks of each execution of a section, on this machine.

It need not have counters of the hardware: these are events of the kernel's own, whose numbers are
known.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import starts
from whylate.cli import whylate

pytestmark = [pytest.mark.machine, pytest.mark.realtime]

SYSTEM_CALLS = "raw_syscalls:sys_enter..raw_syscalls:sys_exit"
PAGES = 8
#: A thread of a name of its own that reads into pages which nobody has touched, and sleeps.
READER = f"""
import mmap, os, time
open("/proc/self/comm", "w").write("wl-read-zero")
zero = os.open("/dev/zero", os.O_RDONLY)
while True:
    fresh = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE)
    fresh.madvise(mmap.MADV_NOHUGEPAGE)
    os.readv(zero, [fresh])
    fresh.close()
    time.sleep(0.001)
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Return a recording of the reader's system calls, and its rows."""
    if os.geteuid():
        pytest.skip("programs of a section need root")
    directory = tmp_path_factory.mktemp("counters") / "r"
    with subprocess.Popen([sys.executable, "-c", READER]) as reader:
        try:
            done = measured(directory, "--comm", "wl-read-zero", "--counters",
                            "page-faults,context-switches")  # fmt: skip
        finally:
            reader.kill()
    assert done.returncode == 0, done.stderr
    return directory, pq.read_table(directory / "samples.parquet").to_pylist()


def measured(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", "section", SYSTEM_CALLS, "--for", "1s", "--json",
         "-o", str(directory), *options],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_reading_into_fresh_pages_faults_once_for_each(
    rows: tuple[Path, list[dict[str, Any]]],
) -> None:
    faults = [row["count_page-faults"] for row in rows[1]]
    assert set(faults) <= {0, PAGES, None}
    assert faults.count(PAGES) > 100
    # Programs at the tracepoints of faults count the same.
    assert all(row["faults"] == row["count_page-faults"] for row in rows[1]
               if row["count_page-faults"] is not None)  # fmt: skip


def test_what_others_count_while_a_thread_has_no_cpu_is_not_counted(
    rows: tuple[Path, list[dict[str, Any]]],
) -> None:
    off_cpu = [row for row in rows[1] if row["slept_ns"] or row["preempted_ns"]]
    assert len(off_cpu) > 100
    # Others fault meanwhile, and are switched to; who comes back is switched to once.
    switches = Counter(row["count_context-switches"] for row in off_cpu)
    assert switches[0] == 0
    assert switches[1] > 0.9 * len(off_cpu)
    others = [row for row in rows[1] if not row["slept_ns"] and not row["preempted_ns"]]
    assert {row["count_context-switches"] for row in others} <= {0, None}
    section = json.loads((rows[0] / "manifest.json").read_text())["section"]
    own, refused, shared = (section["counts"][name] for name in ("own", "refused", "shared"))
    assert own == sum(row["count_page-faults"] is not None for row in rows[1])
    assert (own + refused, shared) == (len(rows[1]), 0)
    # Those alone in which more came as a mark was taken than it can be taken again.
    assert refused < 0.01 * len(rows[1])


def test_an_empty_section_is_counted_before_the_run(
    rows: tuple[Path, list[dict[str, Any]]],
) -> None:
    section = json.loads((rows[0] / "manifest.json").read_text())["section"]
    # Nothing faults between the two marks, and no thread is switched to.
    assert section["hook_counts"] == [0, 0]
    assert section["floor_before"]["executions"] > 1_000


def test_the_page_has_a_chart_for_each_event(rows: tuple[Path, list[dict[str, Any]]]) -> None:
    page = (rows[0] / "report.html").read_text()
    assert "What was counted of executions" in page
    for event in ("page-faults", "context-switches"):
        assert f"duration_ns by {event}" in page
    assert 'class="dot arm0"' in page


@pytest.mark.skipif(os.geteuid() != 0, reason="programs of a section need root")
def test_programs_without_counters_read_none(tmp_path: Path) -> None:
    done = measured(tmp_path / "r", "--comm", "no-such-thread")
    assert done.returncode != 1, done.stderr
    assert json.loads(done.stdout)["section"]["counters"] is None
    names = pq.read_schema(tmp_path / "r" / "samples.parquet").names
    assert not [name for name in names if name.startswith("count_")]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ("nope", "no event 'nope'"),
        ("icache-stall", "icache-stall exists on Cortex-A9"),
        ("cycles,instructions,l1i-stall", "count stalled-cycles-frontend"),
        ("r1,r2,r3,r4,r5", "up to 4 events of a section"),
        ("page-faults,r1ffff:u", "r1ffff:u cannot be counted"),
    ],
)
def test_what_cannot_be_counted_is_refused_in_one_line(
    tmp_path: Path, events: str, why: str
) -> None:
    result = CliRunner().invoke(
        whylate,
        ["section", SYSTEM_CALLS, "--for", "1s", "-o", str(tmp_path / "r"), "--counters", events],
    )
    assert result.exit_code != 0
    assert why in f"{result.output} {result.exception}"
    assert not (tmp_path / "r" / "samples.parquet").exists()
