"""Benchmarks of two CPUs, and traces of switches, on this machine: what must hold anywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_benchmark_runs import ROOT, X86, measured, points

from whylate.cli import whylate
from whylate.summary.workloads.flush import LEAST_MADE

pytestmark = pytest.mark.machine

TWO = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


def offset(directory: Path, *words: str) -> dict[str, Any]:
    """Return the figures of the second of two CPUs."""
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    document = measured(
        directory, "clock", "--between-cpus", "--cpus", cpus, "--rounds", "8",
        "--repetitions", "4", "--block", "10ms", *words,
    )  # fmt: skip
    (only,) = document["points"]
    assert isinstance(only, dict)
    return only


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the figures of what the clocks really are to each other."""
    return offset(tmp_path_factory.mktemp("plain") / "r")


@TWO
def test_an_offset_of_a_microsecond_that_was_added_is_seen(
    plain: dict[str, Any], tmp_path: Path
) -> None:
    shifted = offset(tmp_path / "s", "--add-offset", "1us")["offset_ns"]
    before = plain["offset_ns"]
    assert shifted["low"] - before["high"] <= 1000 <= shifted["high"] - before["low"]
    assert shifted["high"] - shifted["low"] < 1000


@TWO
def test_a_rate_of_ten_ppm_that_was_added_is_seen(plain: dict[str, Any], tmp_path: Path) -> None:
    faster = offset(tmp_path / "s", "--add-rate", "10")["rate_ppm"]
    before = plain["rate_ppm"]
    assert faster["low"] - before["high"] <= 10 <= faster["high"] - before["low"]
    assert faster["high"] - faster["low"] < 10


@TWO
@X86
def test_flushes_by_another_cpu_are_counted_and_cost_the_victim_time(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "flush", "--by", "munmap,mprotect", "--rounds", "6", "--repetitions", "2",
        "--block", "30ms",
    )  # fmt: skip
    for item in document["points"]:
        assert item["flushes_per_call"] > 0.9
        assert item["other_flushes_per_call"] < 0.1
        assert item["calls"] > 100
        assert item["ns_per_flush"]["value"] > 0


@TWO
@ROOT
@X86
def test_flushes_at_switches_are_counted_and_reach_no_other_cpu(tmp_path: Path) -> None:
    has_identifiers = "pcid" in Path("/proc/cpuinfo").read_text().split()
    document = measured(
        tmp_path / "r", "flush", "--by", "switch", "--tasks", "3,24", "--rounds", "6",
        "--repetitions", "1", "--block", "20ms", status=3 if has_identifiers else 0,
    )  # fmt: skip
    many = points(document)["switch between 24 tasks"]
    assert many["switches"] > 1000
    # Switches to a thread of the kernel, which preempts the tasks, flush nothing.
    assert many["flushes_per_switch"] > LEAST_MADE
    assert many["other_flushes_per_switch"] < 0.1
    assert many["other_switches"] > 1000
    # Nothing of that makes the victim's CPU flush; what else runs here may, now and then.
    assert many["victim_flushes"] < many["flushes"] / 100
    assert many["ns_per_flush"]["low"] < many["ns_per_flush"]["high"]
    few = points(document)["switch between 3 tasks"]
    if has_identifiers:
        assert few["flushes_per_switch"] < 0.1
        assert "ns_per_flush" not in few
        assert "no flush to pay for" in few["refused"]


@ROOT
@X86
def test_switches_are_traced_and_flushes_counted_by_reason(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "switch", "--record", "--tasks", "6,7", "--rounds", "2", "--repetitions",
        "1", "--block", "5ms",
    )  # fmt: skip
    ring = points(document)["7 tasks"]
    assert ring["flushes"] > 0
    assert ring["flushes_remote_shootdown"] >= 0
    done = CliRunner().invoke(whylate, ["predict", "asid", str(tmp_path / "r"), "--json"])
    assert done.exit_code == 0, done.output
    traced = {item["trace"]: item for item in json.loads(done.stdout)["points"]}
    has_identifiers = "pcid" in Path("/proc/cpuinfo").read_text().split()
    # With an id too few the ring of six would flush at each switch; with one more no ring would.
    for name in ("6 tasks", "7 tasks") if has_identifiers else ("7 tasks",):
        item = traced[name]
        assert (item["turns"], item["unread"]) == (2, 0)
        assert item["switches"] > 100
        counted, simulated = item["check"]["counted"], item["check"]["simulated"]
        # Whatever else runs here is in the trace too, and in the simulation.
        off = max(simulated["least"] - counted, counted - simulated["flushes"], 0)
        assert off <= 0.02 * item["switches"], item


#: Changes translations every millisecond, and sleeps most of the time.
UNMAPS = """
import mmap, time
while True:
    memory = mmap.mmap(-1, 65536)
    memory[0] = 1
    memory.close()
    time.sleep(0.001)
"""


@TWO
@ROOT
@X86
def test_a_trace_has_changes_of_translations_by_all_cpus_and_switches_of_the_ring_s(
    tmp_path: Path,
) -> None:
    ours, other = sorted(os.sched_getaffinity(0))[:2]
    with subprocess.Popen(["taskset", "-c", str(other), "nice", "-n", "-20", sys.executable,
                           "-c", UNMAPS]) as changer:  # fmt: skip
        try:
            measured(
                tmp_path / "r", "switch", "--record", "--tasks", "2", "--cpus", str(ours),
                "--rounds", "3", "--repetitions", "1", "--block", "20ms",
            )  # fmt: skip
        finally:
            changer.kill()
    lines = (tmp_path / "r" / "switches.txt").read_text().splitlines()
    events = [
        re.search(r"-(\d+) .*\[(\d+)\].* (sched_switch|tlb_flush): .*", line) for line in lines
    ]
    traced = {(int(event[1]), int(event[2]), event[3]) for event in events if event is not None}
    assert {cpu for _, cpu, kind in traced if kind == "sched_switch"} == {ours}
    assert (changer.pid, other, "tlb_flush") in traced
    assert not any("flush on task switch" in line for line in lines if f"[{other:03}]" in line)
