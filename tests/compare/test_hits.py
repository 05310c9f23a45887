"""Did the changed code run? What hits do to a verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from made_recordings import recording

from compare_sides import arm
from whylate.cli import whylate
from whylate.compare.hits import HitDemand, demands_of_sides, parse_demand, unmet_demands
from whylate.compare.judge import compare
from whylate.compare.model import Comparison, Question
from whylate.compare.runs import Arm
from whylate.recording.manifest import Fact, HitReport, Manifest

LOCK = "l2c310_flush_range_erratum"


def counted(side: Arm, *counts: int | None, why: str = "", name: str = LOCK) -> Arm:
    """Return a side whose runs have these counts, the last for all further ones."""
    runs = [
        replace(run, hits=(*run.hits, HitReport(name, counts[min(n, len(counts) - 1)], why=why)))
        for n, run in enumerate(side.runs)
    ]
    return Arm(side.name, tuple(runs))


def with_fact(side: Arm, value: str | None) -> Arm:
    fact = Fact("l2_errata", value, "kernel log: L2C-310 errata 588369 enabled")
    return Arm(side.name, tuple(replace(run, facts=(fact,)) for run in side.runs))


def judged(first: Arm, second: Arm, *demands: str) -> Comparison:
    sides = demands_of_sides([parse_demand(demand) for demand in demands], "A", "B")
    return compare(first, second, Question(hits=sides))


OLD, NEW = arm("old", 10), arm("new", 10, 0.7)


def test_hits_on_both_sides_leave_the_verdict_alone() -> None:
    comparison = judged(counted(OLD, 1200), counted(NEW, 1300, 1400), LOCK)
    assert comparison.verdict == "better"
    (row,) = comparison.hits
    assert (row.first.median, row.second.least, row.second.most) == (1200, 1300, 1400)


def test_a_side_that_must_have_hits_and_has_none_gets_no_verdict() -> None:
    comparison = judged(counted(OLD, 1200), counted(NEW, 0), LOCK)
    assert comparison.verdict == "no verdict"
    assert comparison.why == f"{LOCK} was never hit in 10 of 10 runs of B, which should have hits"
    assert comparison.within == "better"


def test_one_run_without_a_hit_is_enough() -> None:
    comparison = judged(counted(OLD, 1200), counted(NEW, 0, 1300), LOCK)
    assert (comparison.verdict, "in 1 of 10 runs of B" in comparison.why) == ("no verdict", True)


def test_the_reason_of_a_count_of_zero_is_repeated() -> None:
    reason = f"this kernel has no function {LOCK}: it is absent, or inlined"
    comparison = judged(counted(OLD, 0, why=reason), counted(NEW, 1300), LOCK)
    assert reason in comparison.why


@pytest.mark.parametrize("demand", [f"{LOCK} in B", f"{LOCK} only in B"])
def test_a_side_that_should_have_no_hits_and_has_none_is_right(demand: str) -> None:
    comparison = judged(counted(OLD, 0), counted(NEW, 1300), demand)
    assert comparison.verdict == "better"
    assert not any(LOCK in text for text in comparison.cautions)


def test_hits_where_none_should_be_are_a_caution() -> None:
    comparison = judged(counted(OLD, 0, 700), counted(NEW, 1300), f"{LOCK} in B")
    assert comparison.verdict == "better"
    assert comparison.cautions[0] == (
        f"{LOCK} was hit in 9 of 10 runs of A too (about 700 times a run), which should have none"
    )


def test_hits_where_none_may_be_give_no_verdict() -> None:
    comparison = judged(counted(OLD, 0, 700), counted(NEW, 1300), f"{LOCK} only in B")
    assert comparison.verdict == "no verdict"
    assert "9 of 10 runs of A too" in comparison.why


def test_what_was_not_counted_is_not_taken_for_zero() -> None:
    assert "was not counted in 10 of 10 runs of A (old-0): measure with --hits" in (
        judged(OLD, counted(NEW, 1300), LOCK).why
    )
    cut = judged(counted(OLD, 5), counted(NEW, None, why="the run ended"), LOCK)
    assert cut.why == f"hits of {LOCK} are not known in 10 of 10 runs of B (the run ended)"
    unknown = judged(counted(OLD, None), counted(NEW, 5), f"{LOCK} in B")
    assert "nothing says that" in unknown.cautions[0]


def test_a_line_of_the_facts_is_looked_up_in_its_value_and_in_its_source() -> None:
    demand = "facts:l2_errata contains 588369"
    for value in ("588369 769419", "769419"):
        assert judged(with_fact(OLD, value), with_fact(NEW, value), demand).verdict == "better"
    assert (
        judged(with_fact(OLD, "1"), with_fact(NEW, "1"), "facts:l2_errata contains 77").verdict
        == "no verdict"
    )


def test_a_fact_that_is_not_known_decides_nothing() -> None:
    comparison = judged(OLD, with_fact(NEW, None), "facts:l2_errata contains 588369")
    assert comparison.verdict == "no verdict"
    assert "not counted" in comparison.why


def test_what_was_counted_is_shown_without_being_asked_for() -> None:
    comparison = judged(counted(OLD, 3), counted(NEW, 4))
    assert comparison.verdict == "better"
    assert [row.name for row in comparison.hits] == [LOCK]
    assert comparison.hits[0].first.expected is None


def test_variants_of_a_study_of_factors_must_have_their_hits_too() -> None:
    sides = [counted(OLD, 0), counted(NEW, 5)]
    assert unmet_demands(sides, [HitDemand(LOCK, ["new"], only=True)]) is None
    assert f"{LOCK} was never hit in 10 of 10 runs of old" in (
        unmet_demands(sides, [HitDemand(LOCK)]) or ""
    )
    assert "runs of new too" in (unmet_demands(sides, [HitDemand(LOCK, ["old"], only=True)]) or "")


@pytest.mark.parametrize(
    ("text", "demand"),
    [
        ("do_nanosleep", HitDemand("do_nanosleep")),
        ("sched:sched_switch in A,B", HitDemand("sched:sched_switch", ["A", "B"])),
        ("f only in tuned-2", HitDemand("f", ["tuned-2"], only=True)),
        ("facts:l2_errata contains a in b", HitDemand("facts:l2_errata contains a", ["b"])),
    ],
)
def test_a_demand_is_written_as_a_sentence(text: str, demand: HitDemand) -> None:
    assert parse_demand(text) == demand


def made(directory: Path, seed: int, hits: int) -> Path:
    latency_ns = np.random.default_rng(seed).integers(9_000, 11_000, 2000)
    recording(directory, latency_ns, created=f"2026-01-01T00:{seed:02}:00+00:00")
    path = directory / "manifest.json"
    manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    manifest = msgspec.structs.replace(manifest, hits=[HitReport(LOCK, hits, how="kprobe")])
    path.write_bytes(msgspec.json.encode(manifest))
    return directory


def sides(tmp_path: Path) -> list[str]:
    for n in range(6):
        made(tmp_path / "a" / str(n), 2 * n, 0)
        made(tmp_path / "b" / str(n), 2 * n + 1, 900 + n)
    return [str(tmp_path / "a"), str(tmp_path / "b")]


def test_the_command_line_asks_for_hits_of_a_side(tmp_path: Path) -> None:
    paths = sides(tmp_path)
    result = CliRunner().invoke(whylate, ["compare", *paths, "--hits", LOCK, "--json"])
    assert result.exit_code == 3
    assert "never hit in 6 of 6 runs of A" in json.loads(result.stdout)["why"]
    result = CliRunner().invoke(whylate, ["compare", *paths, "--hits", f"{LOCK} only in B"])
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert f"hits of {LOCK}: A none in 6 runs, B 902 a run (900 … 905)" in text
    result = CliRunner().invoke(whylate, ["compare", *paths, "--hits", f"{LOCK} in new"])
    assert result.exit_code == 2
    assert "the sides are A and B" in result.output


def test_files_of_numbers_have_no_hits(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1\n2\n3\n4\n")
    result = CliRunner().invoke(
        whylate, ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--hits", LOCK]
    )
    assert result.exit_code == 2
    assert "numbers have no facts" in result.output


def test_a_baseline_keeps_its_hits(tmp_path: Path) -> None:
    paths = sides(tmp_path)
    baseline = str(tmp_path / "old.json")
    assert CliRunner().invoke(whylate, ["baseline", "save", baseline, paths[0]]).exit_code == 0
    result = CliRunner().invoke(
        whylate,
        ["compare", "--baseline", baseline, paths[1], "--accept", "--json", "--hits", LOCK],
    )
    assert "never hit in 6 of 6 runs of A" in json.loads(result.stdout)["why"]
