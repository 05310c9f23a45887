"""Experiments on executions: treated ones are kept apart, and no figure takes them for others."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from rich.console import Console
from section_journals import (
    DRAWN,
    PLACEBO,
    TREATED,
    Execution,
    arm,
    bin_of,
    bins,
    result,
    rows,
    section_journal,
)

from section_examples import Example, recorded
from whylate.cli import whylate
from whylate.compare.overlay import overlay_recordings
from whylate.recording.finish import finish
from whylate.recording.treatments import Treatment
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.section import KernelFunction, Section, TracepointPair, UserCode
from whylate.report.section_arms import run_rows
from whylate.report.terminal.latency import print_summary
from whylate.run.errors import RequestError
from whylate.run.workloads.section import check_experiment
from whylate.summary.arms import ExperimentFigures
from whylate.wire.messages import SectionArm

#: Of 600 executions every third is treated, and takes 3 us; others take 1 us, one of ten 20 us.
RAN = [
    Execution(301, 1_500_000 * number, 3_000, flags=DRAWN | TREATED)
    if number % 3 == 0
    else Execution(
        301, 1_500_000 * number, 20_000 if number % 10 == 1 else 1_000, flags=DRAWN | PLACEBO
    )
    for number in range(600)
]
HOT, COLD = bin_of(5_000), bin_of(9_000)


def example(
    directory: Path,
    *,
    treated: SectionArm | None = None,
    ran: Sequence[Execution] = RAN,
    experiment: Treatment = "cold",
) -> Example:
    made = recorded(
        directory, arm(0, 400, HOT, 400), treated or arm(1, 200, COLD, 200), ran=ran,
        experiment=experiment,
    )  # fmt: skip
    assert made.manifest.problems == []
    return made


def figures(made: Example) -> ExperimentFigures:
    assert made.section.experiment is not None
    return made.section.experiment


def shown(made: Example) -> str:
    out = io.StringIO()
    print_summary(made.summary, Console(file=out, width=90, color_system=None))
    return " ".join(out.getvalue().split())


def test_treated_executions_have_a_file_of_their_own_and_are_in_no_other_figure(
    tmp_path: Path,
) -> None:
    made = example(tmp_path / "r")
    treated = pq.read_table(tmp_path / "r" / "treated.parquet")["latency_ns"].to_numpy()
    placebo = pq.read_table(tmp_path / "r" / "samples.parquet")["latency_ns"].to_numpy()
    assert treated.tolist() == [3_000] * 200
    assert placebo.size == 400
    assert set(placebo.tolist()) == {1_000, 20_000}
    together = made.summary.together
    assert (together.expected, together.seen, together.dropped) == (400, 400, 0)
    assert together.latency_ns["p50"].value == 1_000
    assert made.section.longer is not None
    assert made.section.longer.count == sum(placebo == 20_000)
    assert made.summary.exceedance.reason is not None
    assert "placebo" in made.summary.exceedance.reason


def test_what_the_treatment_changes_is_shown(tmp_path: Path) -> None:
    made = example(tmp_path / "r")
    experiment = figures(made)
    assert experiment.not_applied is None
    assert experiment.median_ns is not None
    assert experiment.median_ns.value == 2_000
    assert experiment.median_ns.is_clear
    placebo, treated = experiment.arms
    assert (placebo.entries, treated.entries, placebo.rows, treated.rows) == (400, 200, 400, 200)
    assert (placebo.median_ns, treated.median_ns) == (1_000, 3_000)
    text = shown(made)
    assert "the treatment changes the median by +2 µs [+2 µs to +2 µs]: a change" in text
    assert "cannot be distinguished" in text
    assert "400 of the placebo, of 1 in 1 executions" in text


@pytest.mark.parametrize(
    ("treated", "experiment", "why"),
    [
        (arm(1, 200, HOT, 200), "cold", "memory is as quick as the caches here"),
        (arm(1, 200, HOT, 200), "prefetch", "the code was in the caches already"),
        (arm(1, 200, COLD, 200, failed=300), "prefetch", "9 % of the reads"),
        (arm(1, 200, HOT, 200), "flush", "it was not flushed, or this board models no caches"),
        (arm(1, 200, HOT, 200), "code", "calling functions took no surely longer time"),
        (arm(1, 200, HOT, 200), "tlb", "touching pages took no surely longer time"),
    ],
)
def test_without_a_sign_that_it_was_applied_nothing_is_compared(
    treated: SectionArm, experiment: Treatment, why: str, tmp_path: Path
) -> None:
    made = example(tmp_path / "r", treated=treated, experiment=experiment)
    compared = figures(made)
    assert compared.not_applied is not None
    assert why in compared.not_applied
    assert compared.median_ns is None
    assert compared.share is None
    assert all(each.median_ns is None for each in compared.arms)
    assert "no comparison: " in shown(made)


def test_several_experiments_are_one_table_by_board(tmp_path: Path) -> None:
    example(tmp_path / "cold")
    ran = [
        replace_flags(each, DRAWN | PLACEBO) if number % 6 == 3 and each.flags & TREATED else each
        for number, each in enumerate(RAN)
    ]
    recorded(
        tmp_path / "ahead", arm(0, 500, HOT, 500), arm(1, 100, COLD, 100), ran=ran,
        experiment="prefetch",
    )  # fmt: skip
    same = arm(1, 200, HOT, 200)
    other = [*RAN[:-1], Execution(301, RAN[-1].begin_ns, 1_001, flags=RAN[-1].flags)]
    example(tmp_path / "same", treated=same, ran=other, experiment="prefetch")
    words = ["report", *(str(tmp_path / name) for name in ("cold", "ahead", "same"))]
    done = CliRunner().invoke(
        whylate, [*words, "-o", str(tmp_path / "page.html")], env={"COLUMNS": "120"}
    )
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    page = " ".join((tmp_path / "page.html").read_text().split())
    overlay = overlay_recordings([tmp_path / name for name in ("cold", "ahead", "same")]).overlay
    rows = run_rows(overlay.runs)
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[2] for row in rows] == ["cold", "prefetch", "prefetch"]
    assert rows[0][3].startswith("+2 µs [")
    # Cold caches bring what warm caches prevent.
    assert rows[0][5].startswith("by warm caches ")
    assert rows[2][5] == "–"
    assert rows[1][5] != "–"
    for shown_text in (text, page):
        assert "Run 3 has no comparison: reading other lines" in shown_text
        assert "Code and data cannot be distinguished on " in shown_text
    assert rows[1][5] in page


def test_of_flushes_fewer_are_read_after_than_are_followed_by_executions(tmp_path: Path) -> None:
    arms = (arm(0, 400, HOT, 100), arm(1, 200, COLD, 50))
    made = recorded(tmp_path / "r", *arms, ran=RAN, experiment="flush")
    assert made.manifest.problems == []
    text = shown(made)
    assert "400 of the placebo, each the first after a flush = 400 seen" in text
    assert "16 lines of the section's code are flushed from the caches of all CPUs" in text
    assert "the treatment changes the median by +2 µs" in text
    more = recorded(tmp_path / "m", arms[0], arm(1, 200, COLD, 201), ran=RAN, experiment="flush")
    assert any(problem.fatal for problem in more.manifest.problems)


@pytest.mark.parametrize(
    ("experiment", "treatment"),
    [("code", "16 functions, in 0 MiB of other code, are called"), ("tlb", "16 other pages are")],
)
def test_after_a_walk_the_next_execution_of_that_cpu_is_of_its_arm(
    experiment: Treatment, treatment: str, tmp_path: Path
) -> None:
    arms = (arm(0, 400, HOT, 100), arm(1, 200, COLD, 50))
    made = recorded(tmp_path / "r", *arms, ran=RAN, experiment=experiment)
    assert made.manifest.problems == []
    text = shown(made)
    assert "400 of the placebo, each the first after a walk = 400 seen" in text
    assert treatment in text
    assert "the treatment changes the median by +2 µs" in text


def test_few_executions_are_not_compared(tmp_path: Path) -> None:
    ran = RAN[:60]
    made = recorded(
        tmp_path / "r", arm(0, 40, HOT, 40), arm(1, 20, COLD, 20), ran=ran, experiment="cold"
    )
    assert "needs 50" in (figures(made).not_applied or "")


@pytest.mark.parametrize(
    "arms",
    [
        [],
        [arm(0, 400, HOT, 400)],
        [arm(1, 200, COLD, 200), arm(0, 400, HOT, 400)],
        # What began is in no bin, less returned than has a row, and more than began.
        [arm(0, 400, HOT, 399), arm(1, 200, COLD, 200)],
        [arm(0, 400, HOT, 400, returned=300), arm(1, 200, COLD, 200)],
        [arm(0, 400, HOT, 400, returned=401), arm(1, 200, COLD, 200)],
    ],
)
def test_an_account_of_arms_that_does_not_close_is_no_run_to_judge(
    arms: Sequence[SectionArm], tmp_path: Path
) -> None:
    made = recorded(tmp_path / "r", *arms, ran=RAN, experiment="cold")
    assert any(problem.fatal for problem in made.manifest.problems)


@pytest.mark.parametrize(
    ("flags", "experiment"),
    [(DRAWN, "cold"), (DRAWN | TREATED | PLACEBO, "cold"), (TREATED, "cold"),
     (DRAWN | TREATED, None)],
)  # fmt: skip
def test_a_block_with_a_row_of_no_arm_or_of_two_is_refused(
    flags: int, experiment: Treatment | None, tmp_path: Path
) -> None:
    ran = [*RAN[:4], replace_flags(RAN[4], flags)]
    sent = [rows(ran), bins(ran), result(len(ran))]
    section_journal(tmp_path / "r", *sent, seen=[len(ran)], experiment=experiment)
    manifest = finish(tmp_path / "r")
    assert manifest.cpus[0].seen == 0
    assert any(problem.fatal for problem in manifest.problems)


def replace_flags(execution: Execution, flags: int) -> Execution:
    return Execution(execution.pid, execution.begin_ns, execution.duration_ns, flags=flags)


PAIR = TracepointPair(begin="irq:irq_handler_entry", end="irq:irq_handler_exit")
PLAIN = Section(
    duration_ns=10**9, recorder=None, place=KernelFunction("vfs_read"), experiment="cold"
)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (replace(PLAIN, keep_above_ns=1_000), "--keep-above"),
        (replace(PLAIN, locks=True), "--locks"),
        (replace(PLAIN, paths=True), "--paths"),
        (replace(PLAIN, samples=True), "--samples"),
        (replace(PLAIN, recorder=RecorderPlan()), "--recorder"),
        (replace(PLAIN, place=KernelFunction("vfs_read", hook="tracefs")), "BPF"),
        (replace(PLAIN, place=PAIR, experiment="prefetch"), "two tracepoints"),
        (replace(PLAIN, experiment="flush"), "user code"),
        (
            replace(PLAIN, place=UserCode(file="./a", begin="f"), experiment="flush", one_in=8),
            "leave --one-in out",
        ),
        (replace(PLAIN, experiment="code", one_in=8), "leave --one-in out"),
        (replace(PLAIN, experiment="tlb", one_in=2), "leave --one-in out"),
    ],
)
def test_what_says_nothing_beside_treated_executions_is_refused(section: Section, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        check_experiment(section)


def test_caches_can_be_emptied_before_any_section() -> None:
    for place in (PAIR, KernelFunction("vfs_read"), UserCode(file="./a", begin="f")):
        check_experiment(replace(PLAIN, place=place))
    place = UserCode(file="./a", begin="f")
    check_experiment(replace(PLAIN, place=place, experiment="flush", one_in=1))
