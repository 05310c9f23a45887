"""Bounds for what is rare, from recordings that were made of samples with known episodes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from made_recordings import recording

from whylate.cli import whylate


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(whylate, ["bound", *(str(word) for word in words)])
    return result.exit_code, result.output


def test_before_a_run_it_says_how_long_it_must_be() -> None:
    status, output = invoke("--claim", "over(200us)<1/1h", "--json")
    assert status == 0
    assert json.loads(output)["seconds"] == pytest.approx(2.9957 * 3600, rel=1e-3)
    assert "3.0 h" in invoke("--claim", "over(200us)<1/1h")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name recordings, or a claim"),
        (["--claim", "p99<100us"], "is no rate"),
        (["--claim", "over(fast)<1/1h"], "no latency above zero"),
        (["--once-in", "1h"], "name them"),
        (["x", "--above", "1ms", "--claim", "over(1ms)<1/1h"], "not with --above"),
    ],
)
def test_what_cannot_be_answered_is_one_line(words: list[str], says: str) -> None:
    status, output = invoke(*words)
    assert status == 2
    assert says in output


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(whylate, ["bound", str(tmp_path)])
    assert result.exit_code != 0


@pytest.fixture(scope="module")
def ten_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten runs of 50 s whose latencies are 5 µs and an exponential 10 µs: a known tail."""
    root = tmp_path_factory.mktemp("runs")
    for number in range(10):
        values = np.random.default_rng([3, number]).exponential(10_000, 50_000) + 5_000
        recording(root / f"{number}", values.astype(np.int64), created=f"2026-01-01T00:{number:02}")
    return root


def test_an_extrapolation_is_labelled_and_holds_the_truth(ten_runs: Path) -> None:
    status, output = invoke("--once-in", "1h", "--json", ten_runs)
    assert status == 0
    found = json.loads(output)["extrapolation"]
    assert {one["outcome"] for one in found["checks"]} == {"passed"}
    # Of 3.6 million activations an hour one is later than that.
    truth = 5_000 + 10_000 * np.log(3.6e6)
    assert found["low_ns"] < truth < found["high_ns"]
    status, output = invoke("--once-in", "1h", ten_runs)
    line = " ".join(output.split())
    assert "About once in 60 min: later than 160 µs" in line
    assert "extrapolated, for the mechanisms seen" in line
    assert "all runs are from one boot" in line
    assert "less often than once in" in line


def test_where_the_gate_is_closed_the_bound_is_said_all_the_same(ten_runs: Path) -> None:
    few = [ten_runs / f"{number}" for number in range(4)]
    status, output = invoke("--once-in", "10h", *few)
    assert status == 3
    assert "no extrapolation:" in output
    assert "10 runs are the least; there are 4" in output
    assert "is further than ten times" in output
    assert "later than" not in output
    assert "with 95 % confidence less often than once in" in output
    found = json.loads(invoke("--once-in", "10h", "--json", *few)[1])
    assert found["extrapolation"]["level_ns"] is None
    assert found["once_in_s"] > 0


def test_what_else_was_asked_for_has_the_exit_status(ten_runs: Path) -> None:
    few = [ten_runs / f"{number}" for number in range(4)]
    assert invoke("--once-in", "10h", "--above", "1ms", *few)[0] == 0
    assert invoke("--once-in", "10h", "--claim", "over(1ms)<1/1s", *few)[0] == 0
    assert invoke("--once-in", "10h", "--claim", "over(20us)<1/1h", *few)[0] == 1
    assert json.loads(invoke("--json", *few)[1])["extrapolation"] is None


def test_runs_that_are_not_to_be_trusted_or_of_different_workloads_bear_none(
    ten_runs: Path, tmp_path: Path
) -> None:
    values = np.random.default_rng(4).exponential(10_000, 50_000).astype(np.int64)
    odd = recording(tmp_path / "odd", values, interval_ns=2_000_000)
    assert "differ in their interval" in invoke("--once-in", "10min", ten_runs, odd)[1]
    status, said = invoke("--claim", "over(1ms)<1/1h", ten_runs, odd)
    assert (status, "differ in their interval" in said) == (3, True)
    bad = recording(tmp_path / "bad", values, policy="other")
    found = json.loads(invoke("--once-in", "10min", "--json", ten_runs, bad)[1])["extrapolation"]
    assert found["level_ns"] is None
    assert "1 of 11 runs must not be judged" in found["checks"][0]["why"]
    short = recording(tmp_path / "short", values[:10])
    assert "1 of 11 runs have fewer than 20" in invoke("--once-in", "10min", ten_runs, short)[1]


def test_a_run_that_is_named_twice_counts_once(ten_runs: Path) -> None:
    status, output = invoke(ten_runs / "0", ten_runs / "0", "--above", "50us")
    assert "one and the same run" in output
    assert status == 3


def test_runs_of_other_boards_are_not_pooled(tmp_path: Path) -> None:
    for name, board in (("a", "b"), ("c", "other")):
        values = np.random.default_rng(5).exponential(10_000, 50_000) + 5_000
        path = recording(tmp_path / name, values.astype(np.int64))
        text = (path / "manifest.json").read_text()
        (path / "manifest.json").write_text(text.replace('"board":"b"', f'"board":"{board}"'))
    status, output = invoke(tmp_path / "a", tmp_path / "c", "--above", "50us")
    assert status == 3
    assert "differ in their board" in output
