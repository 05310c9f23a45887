"""Studies on this machine, from a command to a verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import starts
from many_studies import Silent
from whylate.boards.open import open_board
from whylate.recording.manifest import MANIFEST, Problem
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run import several
from whylate.run.several import Job, Outcome
from whylate.study import attempt, carry_out
from whylate.study.journal import JOURNAL, StudyJournal, read_study
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant

pytestmark = [pytest.mark.machine, pytest.mark.realtime]

LATENCY = "/proc/sys/vm/stat_interval"


def study(directory: Path, *words: str, rounds: int = 6) -> list[str]:
    """Return the command of a study of very short runs."""
    return [
        *(sys.executable, "-m", "whylate", "study", "run", "-o", str(directory), "--json"),
        *("--for", "100ms", "--interval", "500us", "--runs", str(rounds), "--no-recorder"),
        *("--variant", "base", *words),
    ]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return starts.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_a_study_has_a_verdict_that_compare_gives_too(tmp_path: Path) -> None:
    before = Path(LATENCY).read_text()
    done = run(study(tmp_path / "s", "--variant", "other:sysctl:vm.stat_interval=7"))
    result = json.loads(done.stdout)["comparisons"]
    assert len(result) == 1
    assert result[0]["over"]
    assert result[0]["rounds"] == 6
    verdict = result[0]["comparison"]["verdict"]
    assert result[0]["comparison"]["scope"] == "boot"
    undecided = verdict in ("no verdict", "inconclusive")
    assert done.returncode == (3 if undecided else 0), done.stderr
    # The knob was set in the runs of one side, and is as it was.
    assert Path(LATENCY).read_text() == before
    for name, paths in (("base", []), ("other", [LATENCY])):
        folder = tmp_path / "s" / "runs" / "local" / "idle" / name
        recordings = sorted(folder.iterdir())
        assert len(recordings) == 6
        settings = open_recording(recordings[0]).manifest.plan.settings
        assert [item.path for item in settings] == paths
    sides = [str(tmp_path / "s" / "runs" / "local" / "idle" / name) for name in ("base", "other")]
    alone = run([sys.executable, "-m", "whylate", "compare", *sides, "--json"])
    assert json.loads(alone.stdout)["p"] == result[0]["comparison"]["p"]
    shown = run([sys.executable, "-m", "whylate", "study", "show", str(tmp_path / "s"), "--json"])
    assert json.loads(shown.stdout)["comparisons"] == result


def test_a_board_that_is_none_is_told_before_anything_is_made(tmp_path: Path) -> None:
    words = ["--variant", "other:priority=20", "--board", "nosuch"]
    done = run(study(tmp_path / "s", *words))
    assert done.returncode not in (0, 1)
    assert "unknown board 'nosuch'" in done.stderr
    assert not (tmp_path / "s").exists()


def test_a_board_warms_up_once_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    load = f"cmd:sh -c 'echo >> {ran}; exec sleep 100'"
    words = ["--variant", "other:priority=20", "--load", load]
    run([*study(tmp_path / "s", *words), "--warm-up", "50ms"])
    # Each of 12 runs, and one before them.
    assert ran.read_text().count("\n") == 13
    assert len(read_study(tmp_path / "s")[1]) == 12
    assert list((tmp_path / "s").rglob("samples.parquet"))
    assert not any((tmp_path / "s" / "warm-up").iterdir())


def test_a_run_that_began_too_late_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = ["the thread of CPU 0 was let go after its first deadline"]

    def run_once(job: Job, stopped: Callable[[], bool]) -> Outcome:
        outcome = several.carry_out(job, stopped)
        for text in late:  # as a host does that stops the machine just then
            manifest = open_recording(job.directory).manifest
            problems = [*manifest.problems, Problem("late-start", text, fatal=True)]
            changed = msgspec.structs.replace(manifest, problems=problems)
            (job.directory / MANIFEST).write_bytes(msgspec.json.encode(changed))
        late.clear()
        return outcome

    monkeypatch.setattr(attempt, "carry_out", run_once)
    monkeypatch.setattr(carry_out, "PAUSE_S", 0.0)
    plan = StudyPlan(
        workload=Wakeup(duration_ns=50_000_000, interval_ns=500_000, priority=80),
        boards=["local"],
        variants=[Variant("base", {}), Variant("other", {})],
        loads=[LoadSet("idle", [])],
        stop=Stop("runs", [2]),
        warm_up_ns=0,
    )
    with StudyJournal(tmp_path / "s", plan) as journal:
        result = carry_out.run_study(
            journal, plan, lambda name, _: open_board(name), Silent(), lambda: False
        )
    done = read_study(tmp_path / "s")[1]
    [failed] = [item for item in done if item.failed]
    assert failed.failed == "the thread of CPU 0 was let go after its first deadline"
    assert failed.recording == "failed/local-01"
    kept = open_recording(tmp_path / "s" / failed.recording)
    assert [problem.code for problem in kept.manifest.problems if problem.fatal] == ["late-start"]
    assert sum(not item.failed for item in done) == 4
    assert not result.lost


def test_a_killed_study_goes_on_where_it_was(tmp_path: Path) -> None:
    command = study(tmp_path / "s", "--variant", "other:priority=20")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 120
        lines = tmp_path / "s" / JOURNAL
        while not lines.exists() or lines.read_bytes().count(b"\n") < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    # As if the host had died while it wrote a line.
    with lines.open("ab") as file:
        file.write(b'{"board":"lo')
    kept = read_study(tmp_path / "s")[1]
    assert len(kept) >= 3
    done = run(command)
    assert json.loads(done.stdout)["comparisons"][0]["rounds"] == 6, done.stderr
    made = read_study(tmp_path / "s")[1]
    assert made[: len(kept)] == kept
    assert len(made) == 12


def test_a_knob_that_does_not_take_effect_ends_the_study(tmp_path: Path) -> None:
    done = run(study(tmp_path / "s", "--variant", "other:clocksource=hourglass"))
    assert done.returncode == 2
    assert "variant other on local" in done.stderr
    assert "current_clocksource" in done.stderr


def test_a_knob_that_a_load_sets_too_ends_the_study(tmp_path: Path) -> None:
    before = Path(LATENCY).read_text()
    load = f"cmd:sh -c 'echo 3 >{LATENCY}; while :; do :; done'"
    try:
        done = run(
            study(tmp_path / "s", "--variant", "other:sysctl:vm.stat_interval=7", "--load", load)
        )
    finally:
        Path(LATENCY).write_text(before)
    assert done.returncode == 2
    assert f'other on local: {LATENCY} was set to "7" and reads "3" after the run' in done.stderr


def test_a_recorder_is_there_where_the_knob_asks_for_it(tmp_path: Path) -> None:
    run(study(tmp_path / "s", "--variant", "other:recorder=on"))
    done = read_study(tmp_path / "s")[1]
    assert len(done) == 12
    for item in done:
        report = open_recording(tmp_path / "s" / item.recording).manifest.recorder
        assert (report is not None) == (item.variant == "other")


def test_another_plan_does_not_go_on_with_a_study(tmp_path: Path) -> None:
    plan = study(tmp_path / "s", "--variant", "other:priority=20")
    done = run([*plan, "--budget", "1us"])
    assert done.returncode == 3
    assert read_study(tmp_path / "s")[1] == []
    changed = run(study(tmp_path / "s", "--variant", "other:priority=21"))
    assert changed.returncode == 2
    assert "is a study with another variants" in changed.stderr
    foreign = run(study(tmp_path, "--variant", "other:priority=20"))
    assert "exists and is no study" in foreign.stderr


def test_a_run_ends_once_what_it_is_to_show_can_be_said(tmp_path: Path) -> None:
    words = ["local", "--interval", "500us", "--no-recorder", "--json", "--for", "60s"]
    command = [sys.executable, "-m", "whylate", "measure", *words, "-o"]
    done = run([*command, str(tmp_path / "a"), "--until", "over(2s)<1/1s"])
    result = json.loads(done.stdout)
    # -ln of .05 times 6 / pi^2 is 3.49.
    assert 3.4 < result["elapsed_ns"] / 1e9 < 6
    assert result["trust"] == "ok", result["trust_reasons"]
    assert result["requirements"][0]["verdict"] in ("pass", "inconclusive")
    assert open_recording(tmp_path / "a").manifest.state == "complete"
    never = run([*command[:-3], "--for", "1s", "-o", str(tmp_path / "b"),
                 "--until", "over(1us)<1/1s"])  # fmt: skip
    assert json.loads(never.stdout)["elapsed_ns"] > 0.9e9
    refused = run([*command, str(tmp_path / "c"), "--until", "over(1ms)<1/1s", "--spool"])
    assert refused.returncode == 2
    assert "not with --spool" in refused.stderr


def test_runs_together_bound_how_rare_something_is(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "whylate", "measure", "local", "--for", "1s", "--interval",
               "200us", "--no-recorder", "--json", "-o"]  # fmt: skip
    for name in ("a", "b"):
        run([*command, str(tmp_path / "runs" / name)])
    bound = [sys.executable, "-m", "whylate", "bound", str(tmp_path / "runs"), "--json"]
    result = json.loads(run(bound).stdout)
    assert result["runs"] == 2
    assert result["episodes"] == 0
    assert result["seconds"] == pytest.approx(2, abs=0.1)
    if "must not be judged" in (result["why_not"] or ""):
        pytest.skip(f"this machine did not allow the measurement: {result['why_not']}")
    assert result["once_in_s"] <= 2 / 2.99
    lower = json.loads(run([*bound, "--above", "1us"]).stdout)
    assert lower["episodes"] > 100
    assert lower["more_often_than_s"] >= lower["once_in_s"]
    claimed = run([*bound, "--claim", "over(1us)<1/10s"])
    assert claimed.returncode == 1
    assert json.loads(claimed.stdout)["verdict"] == "fail"


def test_two_knobs_at_once_are_told_apart(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
        for = "400ms"
        interval = "4ms"
        recorder = false
        runs = 6
        [factors]
        priority = [20, 80]
        "sysctl:vm.stat_interval" = [1, 7]
        """
    )
    done = run([sys.executable, "-m", "whylate", "study", "run", str(plan), "-o",
                str(tmp_path / "s"), "--json"])  # fmt: skip
    result = json.loads(done.stdout)
    (effects,) = result["effects"]
    assert effects["rounds"] == 6
    assert [item["knobs"] for item in effects["effects"]] == [
        ["priority: 20 → 80"],
        ["sysctl:vm.stat_interval: 1 → 7"],
        ["priority: 20 → 80", "sysctl:vm.stat_interval: 1 → 7"],
    ]
    for item in effects["effects"]:
        for value, low, high in item["ratios"].values():
            assert low < value < high
        assert 0 < item["p"] <= 1
    output = set(effects["effects"][0]["ratios"])
    # Of the largest nothing is said where overruns hide how large they are.
    assert {*output, *effects["left_out"]} == {"p50", "top 10", "max"}
    assert "p50" in output
    page = (tmp_path / "s" / "report.html").read_text()
    assert "What each knob does" in page
    assert page.count('aria-label="p50: ratio of each effect"') == 1
    # Each combination is a variant, of which every round has one run.
    assert len(read_study(tmp_path / "s")[1]) == 24
    shown = run([sys.executable, "-m", "whylate", "study", "show", str(tmp_path / "s")])
    assert "Freedman and Lane" in shown.stdout
