"""Studies of the workloads that have trials: as plans, and from a command to a verdict."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import starts
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.command import CommandPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.study.model import StudyPlan
from whylate.study.plan_file import read_plan_file, resolve_plan

pytestmark = pytest.mark.machine

TWO = "[variants.a]\n[variants.b]\n'workload:pages' = 'thp'\n"
MEMORY = "runs = 6\n[memory]\nops = ['copy']\nsizes = ['1M', 4096]\n"


def read(tmp_path: Path, text: str) -> StudyPlan:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    return resolve_plan(read_plan_file(file))


def test_a_table_says_what_each_run_measures(tmp_path: Path) -> None:
    plan = read(tmp_path, f"same = {{ 'copy 1 MiB' = '5%' }}\n{MEMORY}{TWO}")
    assert plan.benchmark is not None
    assert plan.benchmark.points == [MemoryPoint("copy", 1 << 20), MemoryPoint("copy", 4096)]
    assert plan.margins == {"copy 1 MiB": 1.05}
    applied = apply_knobs(plan.request, plan.variants[1].knobs)
    measured = applied.plan.benchmark
    assert measured is not None
    assert {point.pages for point in measured.points if isinstance(point, MemoryPoint)} == {"thp"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"[switch]\n{MEMORY.replace('runs = 6', '')}{TWO}", "one workload"),
        (f"{MEMORY.replace('1M', '1Q')}{TWO}", "invalid size"),
        (f"same = {{ p50 = '5%' }}\n{MEMORY}{TWO}", "copy 1 MiB and copy 4 KiB"),
        (f"{MEMORY}[variants.a]\n[variants.b]\n'workload:size' = 'x'\n", "workload:'size'"),
        (f"{MEMORY}[variants.a]\n[variants.b]\nidle-states = 'allowed'\n", "idle-states"),
        (f"{MEMORY}[variants.a]\n[variants.b]\npriority = 80\n", "priority"),
        (f"{MEMORY}[variants.a]\n[variants.b]\ncpus = '0,1'\n", "name one"),
        (f"{MEMORY}[variants.a]\n[variants.b]\n'workload:sizes' = '8k'\n", "other names"),
        (f"{MEMORY}[variants.a]\n[variants.b]\n'workload:routine' = 'fast'\n", "invalid value"),
        (f"for = '5s'\n{MEMORY}{TWO}", "for is of wakeups"),
        (
            "cpus = [0]\n[cmd]\ncommand = 'true'\n[variants.a]\n[variants.b]\n'env:A' = 'x'\n",
            "taskset",
        ),
        (f"[cmd]\ncommand = 'true'\nblock = '1s'\n{TWO}", "block"),
        ("[variants.a]\n[variants.b]\n'workload:pages' = 'thp'\n", "workloads switch, memory"),
        (f"[clock]\nvia = ['device']\n{TWO}", "needs --service"),
        (f"[cmd]\ncommand = 'a \"b'\n{TWO}", "command of"),
        (f"[cmd]\n{TWO}", "command"),
        (f"[switch]\ncounters = ['nope']\n{TWO}", "no event"),
        (f"[memory]\nwhat = ['copy']\n{TWO}", "what"),
    ],
)
def test_what_a_plan_cannot_mean_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        read(tmp_path, text)


def test_times_of_a_table_are_read(tmp_path: Path) -> None:
    text = "[clock]\nvia = ['device']\nservice = '1us'\nthink = '2us'\nblock = '3ms'\n"
    benchmark = read(
        tmp_path, f"{text}[variants.a]\n[variants.b]\n'workload:threads' = '1'\nthp = 'never'\n"
    ).benchmark
    assert benchmark is not None
    assert benchmark.block_ns == 3_000_000
    assert benchmark.points == [ClockPoint("device", 1, "device", 1_000, 2_000)]


def test_variables_and_priority_are_of_the_benchmark(tmp_path: Path) -> None:
    variants = "[variants.a]\n[variants.b]\n'env:JOBS' = '4'\n"
    plan = read(tmp_path, f"[cmd]\ncommand = 'make -s'\n{variants}")
    assert plan.benchmark is not None
    assert plan.benchmark.points == [CommandPoint(("make", "-s"))]
    rings = read(tmp_path, "[switch]\n[variants.a]\n[variants.b]\npriority = 3\n")
    assert rings.benchmark is not None
    assert rings.benchmark.points == [SwitchPoint(2)]
    applied = apply_knobs(rings.request, rings.variants[1].knobs).plan.benchmark
    assert applied is not None
    assert applied.priority == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is shown frames")
def test_a_study_of_memory_says_what_its_sources_really_were(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "runs = 6\nwarm_up = 'none'\n"
        "[memory]\nops = ['copy']\nsizes = ['1M']\nrounds = 1\nrepetitions = 1\nblock = '2ms'\n"
        "[variants.written]\n'workload:source' = 'random'\n"
        "[variants.untouched]\n'workload:source' = 'untouched'\n"
    )
    directory = tmp_path / "s"
    whylate = [sys.executable, "-m", "whylate"]
    done = starts.run(
        [*whylate, "study", "run", str(plan), "-o", str(directory), "--json"],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    (result,) = json.loads(done.stdout)["comparisons"]
    assert result["rounds"] == 6, done.stderr
    (row,) = result["comparison"]["statistics"]
    assert (row["name"], row["unit"], row["higher_is_better"]) == ("copy 1 MiB", "GB/s", True)
    assert row["low"] <= row["ratio"] <= row["high"]
    # Which is faster is this machine's matter; what the one source really is stands beside it.
    assert any("zero page" in text for text in result["comparison"]["cautions"])
    page = (directory / "report.html").read_text()
    assert "copy 1 MiB of each run" in page
    sides = [str(directory / "runs" / "local" / "idle" / name) for name in ("written", "untouched")]
    alone = starts.run(
        [*whylate, "compare", *sides, "--json"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert json.loads(alone.stdout)["p"] == result["comparison"]["p"]


def test_runs_of_different_workloads_are_not_compared(tmp_path: Path) -> None:
    for name, words in (("a", ["switch"]), ("b", ["memory", "--sizes", "64k"])):
        starts.run(
            [sys.executable, "-m", "whylate", "bench", *words, "--rounds", "1", "--block", "1ms",
             "--repetitions", "1", "-o", str(tmp_path / name)],
            capture_output=True, timeout=60, check=True,
        )  # fmt: skip
    done = starts.run(
        [sys.executable, "-m", "whylate", "compare", str(tmp_path / "a"), str(tmp_path / "b")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "workload switch" in done.stderr
