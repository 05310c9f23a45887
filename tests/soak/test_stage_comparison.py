"""Soaks compared by boot stage: real ones of virt-arm64, and cycles made here.

The real ones are two sides of one comparison, 16 pairs made on a busy host: without and with
`initcall_debug ignore_loglevel`, by which the kernel prints a line for each driver that it starts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from soak_plans import wakeup_soak
from whylate.cli.compare.compare import command
from whylate.compare.cautions import UnequalError
from whylate.compare.model import Comparison, Question, StatisticRow
from whylate.recording.errors import RecordingError
from whylate.run.errors import RequestError
from whylate.soak.comparison import ComparisonPlan
from whylate.soak.journal import SoakJournal, read_soak
from whylate.soak.model import BootStage, Cycle, Outcome
from whylate.soak.stage_comparison import WHOLE, compare_boot_stages

REAL = Path(__file__).parent / "data" / "compared"

#: The name of a stage, when it came, and the kernel's time of its line.
Seen = tuple[str, float, float | None]


def made_cycle(
    number: int,
    *stages: Seen,
    up_s: float | None = 3.0,
    day: int = 1,
    outcome: Outcome = "ok",
) -> Cycle:
    """A cycle whose boot has these stages; each is of another second."""
    return Cycle(
        cycle=number,
        session=1,
        started=f"2026-01-{day:02d}T00:{number // 60:02d}:{number % 60:02d}+00:00",
        outcome=outcome,
        stage="done",
        boot_s=up_s,
        boot_stages=[
            BootStage(name=name, at_s=at_s, within_s=0.01, kernel_s=kernel_s)
            for name, at_s, kernel_s in stages
        ],
    )


def cycles(
    seed: int,
    count: int,
    init_s: float = 1.0,
    *,
    stages: Callable[[int, float, float], Sequence[Seen]] | None = None,
) -> list[Cycle]:
    """Boots of a board whose kernel takes about init_s to init, at times of their own."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(1, count + 1):
        kernel_s = float(rng.uniform(0.5, 0.7))
        took_s = float(init_s * rng.uniform(0.95, 1.05))
        up_s = kernel_s + took_s + float(rng.uniform(0.3, 0.5))
        seen: Sequence[Seen] = (
            ("kernel", kernel_s, None),
            ("init", kernel_s + took_s, None),
        )
        if stages is not None:
            seen = stages(number, kernel_s, kernel_s + took_s)
        made.append(made_cycle(number, *seen, up_s=up_s))
    return made


def soaked(directory: Path, lines: Sequence[Cycle], **plan: Any) -> Path:
    with SoakJournal(directory, wakeup_soak(**plan)) as journal:
        for line in lines:
            journal.begin()
            journal.append(line)
    return directory


def compared(
    tmp_path: Path,
    first: Sequence[Cycle],
    second: Sequence[Cycle],
    question: Question | None = None,
) -> Comparison:
    sides = [soaked(tmp_path / "a", first), soaked(tmp_path / "b", second)]
    return compare_boot_stages(sides, question or Question())


def rows(comparison: Comparison) -> dict[str, StatisticRow]:
    return {row.name: row for row in comparison.statistics}


# -- real boots


def test_real_boots_that_print_more_are_slower_where_they_print() -> None:
    comparison = compare_boot_stages([REAL], Question())
    assert (comparison.first.name, comparison.second.name) == ("plain", "traced")
    assert comparison.paired
    assert comparison.verdict == "worse"
    judged = {name: row.verdict for name, row in rows(comparison).items()}
    assert judged["kernel → clock-source"] == "worse"
    assert judged["power → kernel"] == "inconclusive"
    assert any("never seen" in text and "u-boot" in text for text in comparison.cautions)


def test_the_command_prints_a_row_for_each_step_and_its_verdict() -> None:
    sides = [str(REAL / "a"), str(REAL / "b")]
    done = CliRunner().invoke(command, [*sides, "--boot-stages"], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    [row] = [line for line in done.output.splitlines() if line.startswith("kernel → clock-source")]
    assert row.rstrip().endswith("worse")
    as_json = CliRunner().invoke(command, [str(REAL), "--boot-stages", "--json"])
    statistics = json.loads(as_json.output)["statistics"]
    assert {row["name"]: row["verdict"] for row in statistics}["kernel → clock-source"] == "worse"


def test_markdown_and_the_page_have_the_verdict_of_each_step(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    words = [str(REAL), "--boot-stages", "--html", str(page)]
    done = CliRunner().invoke(command, [*words, "--markdown"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.output.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {7}
    [row] = [line for line in lines if line.startswith("| kernel → clock")]
    assert row.endswith("| worse |")
    [text] = re.findall(r"<title>kernel → clock-source: (.*?)</title>", page.read_text())
    assert text.endswith(" worse")


def test_sides_that_are_named_the_other_way_round_are_exchanged() -> None:
    there = rows(compare_boot_stages([REAL], Question()))["kernel → clock-source"]
    back = rows(compare_boot_stages([REAL / "b", REAL / "a"], Question()))["kernel → clock-source"]
    assert back.verdict == "better"
    assert (back.ratio or 0) == pytest.approx(1 / (there.ratio or 0))


# -- what is compared


def test_a_step_that_takes_longer_is_found_and_the_others_are_not(tmp_path: Path) -> None:
    comparison = compared(tmp_path, cycles(1, 12), cycles(2, 12, 1.5))
    assert comparison.verdict == "worse"
    assert {name: row.verdict for name, row in rows(comparison).items()} == {
        "power → kernel": "inconclusive",
        "kernel → init": "worse",
        "init → up": "inconclusive",
        WHOLE: "worse",
    }


def test_equal_sides_have_a_row_that_differs_in_no_more_than_5_percent(tmp_path: Path) -> None:
    wrong = 0
    for seed in range(60):
        comparison = compared(tmp_path / str(seed), cycles(2 * seed, 8), cycles(2 * seed + 1, 8))
        wrong += any(row.verdict in ("better", "worse") for row in comparison.statistics)
    # More than 8 of 60 come with a probability of 0.3 % at 5 %.
    assert wrong <= 8


def test_a_stage_that_some_boots_lack_is_refused_and_a_step_spans_it(tmp_path: Path) -> None:
    def seen(number: int, kernel_s: float, init_s: float) -> Sequence[Seen]:
        middle = [("handover", kernel_s + 0.1, None)] * (number != 3)
        return (("kernel", kernel_s, None), *middle, ("init", init_s, None))

    comparison = compared(tmp_path, cycles(1, 8, stages=seen), cycles(2, 8))
    by_name = rows(comparison)
    assert "kernel → init" in by_name
    assert by_name["handover"].verdict == "no verdict"
    assert "7 of 8 boots of A and 0 of 8 boots of B" in (by_name["handover"].refused or "")


def test_a_stage_out_of_order_is_left_out(tmp_path: Path) -> None:
    def seen(number: int, kernel_s: float, init_s: float) -> Sequence[Seen]:
        early: Seen = ("login", 0.1, None)
        late: Seen = ("login", init_s + 0.1, None)
        order = (("kernel", kernel_s, None), ("init", init_s, None))
        return (early, *order) if number == 2 else (*order, late)

    comparison = compared(tmp_path, cycles(1, 8, stages=seen), cycles(2, 8, stages=seen))
    assert "not always in the same order" in (rows(comparison)["login"].refused or "")
    assert "init → up" in rows(comparison)


def test_a_stage_after_the_board_is_up_is_no_part_of_the_boot_before(tmp_path: Path) -> None:
    def seen(_: int, kernel_s: float, init_s: float) -> Sequence[Seen]:
        return (("kernel", kernel_s, None), ("login", init_s + 5.0, None))

    comparison = compared(tmp_path, cycles(1, 8, stages=seen), cycles(2, 8, stages=seen))
    assert list(rows(comparison)) == ["power → kernel", "kernel → up", "up → login", WHOLE]


def test_the_kernels_clock_counts_where_all_boots_have_it(tmp_path: Path) -> None:
    def stamped(but: int) -> Callable[[int, float, float], Sequence[Seen]]:
        def seen(number: int, kernel_s: float, init_s: float) -> Sequence[Seen]:
            init_kernel_s = 0.25 if number != but else None
            return (("kernel", kernel_s, 0.0), ("init", init_s, init_kernel_s))

        return seen

    whole = cycles(1, 8, stages=stamped(0))
    by_kernel = rows(compared(tmp_path / "1", whole, cycles(2, 8, stages=stamped(0))))
    assert by_kernel["kernel → init"].first == pytest.approx(0.25e9)
    by_host = rows(compared(tmp_path / "2", whole, cycles(2, 8, stages=stamped(4))))
    assert by_host["kernel → init"].first == pytest.approx(1e9, rel=0.1)


def test_a_step_shorter_than_its_clock_tells_says_so(tmp_path: Path) -> None:
    def seen(_: int, kernel_s: float, __: float) -> Sequence[Seen]:
        return (("kernel", kernel_s, None), ("init", kernel_s, None))

    comparison = compared(tmp_path, cycles(1, 8, stages=seen), cycles(2, 8, stages=seen))
    assert rows(comparison)["kernel → init"].first == pytest.approx(1e7)
    assert any("kernel → init was shorter in 16 boots" in text for text in comparison.cautions)


def test_boots_that_did_not_come_up_are_left_out_and_named(tmp_path: Path) -> None:
    second = [*cycles(2, 7), made_cycle(8, up_s=None, outcome="no-boot")]
    comparison = compared(tmp_path, cycles(1, 8), second)
    assert (comparison.first.runs, comparison.second.runs) == (8, 7)
    assert any("1 of 8 cycles of B are left out" in text for text in comparison.cautions)


def test_of_a_comparison_both_cycles_of_a_pair_count_or_none(tmp_path: Path) -> None:
    second = [*cycles(2, 7), made_cycle(8, up_s=None, outcome="crashed")]
    sides = [soaked(tmp_path / "a", cycles(1, 8)), soaked(tmp_path / "b", second)]
    plan = ComparisonPlan(sides=("old", "new"), counted=["crashed"])
    (tmp_path / "compare.json").write_bytes(msgspec.json.encode(plan))
    comparison = compare_boot_stages(sides, Question())
    assert (comparison.first.runs, comparison.second.runs, comparison.paired) == (7, 7, True)


# -- what is no verdict, or refused


def test_one_soak_after_the_other_gives_no_verdict_unless_accepted(tmp_path: Path) -> None:
    later = [msgspec.structs.replace(line, started="2026-02-01") for line in cycles(2, 8, 1.5)]
    comparison = compared(tmp_path, cycles(1, 8), later)
    assert comparison.verdict == "no verdict"
    assert "before any of the other" in comparison.why
    assert {row.verdict for row in comparison.statistics} == {"no verdict"}
    accepted = compare_boot_stages([tmp_path / "a", tmp_path / "b"], Question(accept=True))
    assert rows(accepted)["kernel → init"].verdict == "worse"


def test_a_margin_shows_that_a_step_is_the_same(tmp_path: Path) -> None:
    question = Question(margins={"kernel → init": 1.2})
    comparison = compared(tmp_path, cycles(1, 12), cycles(2, 12), question)
    assert rows(comparison)["kernel → init"].verdict == "same"
    with pytest.raises(RequestError, match="--same p50: what is compared is power → kernel"):
        compare_boot_stages([tmp_path / "a", tmp_path / "b"], Question(margins={"p50": 1.1}))


def test_stages_with_other_patterns_are_not_compared(tmp_path: Path) -> None:
    plan, lines = read_soak(soaked(tmp_path / "a", cycles(1, 8)))
    own = {"kernel": ["Linux version "], "init": ["my init"]}
    soaked(tmp_path / "b", cycles(2, 8), boot_stages=own)
    assert len(lines) == 8
    assert plan.boot_stages is None
    comparison = compare_boot_stages([tmp_path / "a", tmp_path / "b"], Question())
    assert list(rows(comparison)) == ["power → up", WHOLE]
    assert any("by other words" in text and "kernel" in text for text in comparison.cautions)


def test_a_soak_is_not_compared_with_itself(tmp_path: Path) -> None:
    soaked(tmp_path / "a", cycles(1, 8))
    with pytest.raises(UnequalError, match="one and the same run"):
        compare_boot_stages([tmp_path / "a", tmp_path / "a"], Question())


def test_what_has_no_boots_is_refused(tmp_path: Path) -> None:
    soaked(tmp_path / "a", cycles(1, 8))
    empty = soaked(tmp_path / "b", [made_cycle(1, up_s=None, outcome="no-boot")])
    with pytest.raises(RecordingError, match="has no boot whose console was read"):
        compare_boot_stages([tmp_path / "a", empty], Question())
    with pytest.raises(RecordingError, match=r"it has no soak\.json"):
        compare_boot_stages([tmp_path / "a", tmp_path], Question())
    with pytest.raises(RequestError, match="compares two soaks"):
        compare_boot_stages([tmp_path / "a"], Question())


@pytest.mark.parametrize("option", [["--by", "x"], ["--independent"], ["--hits", "f"], [":"]])
def test_options_for_other_sides_are_refused(option: Sequence[str]) -> None:
    done = CliRunner().invoke(command, [str(REAL / "a"), *option, "--boot-stages"])
    assert done.exit_code == 2
    assert "--boot-stages" in done.output
