"""Answers are marked by what the catalogue of causes says is right, and counted with limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from truth_mark import Marked, Share, TrueFault, names_it
from truth_page import BEGIN, END, write_page
from truth_plan import NEEDS_STACKS, causes_of, plan
from truth_tables import tables


@pytest.mark.parametrize(
    ("pieces", "cause", "detail", "right"),
    [
        (["interrupts disabled"], "interrupts disabled", "f1234 [m1]", True),
        (["interrupts disabled"], "interrupt", "off", False),
        (["interrupt {alias}"], "interrupt", "m1", True),
        (["interrupt {alias}"], "interrupt", "local_timer: hrtimer_wakeup", False),
        (["thread {alias}"], "thread", "kworker/0:1", False),
        (["softirq TASKLET"], "softirq", "TASKLET", True),
        (["softirq TASKLET"], "softirq", "TIMER", False),
        ([], "softirq", "TASKLET", False),
    ],
)
def test_a_piece_is_right_by_its_cause_and_what_its_detail_contains(
    pieces: list[str], cause: str, detail: str, right: bool
) -> None:
    assert names_it(pieces, "m1", cause, detail) is right


def test_the_plan_has_enough_runs_of_every_cause_and_each_only_once() -> None:
    cases = plan()
    assert len({case.name for case in cases}) == len(cases)
    injected = [case for case in cases if case.causes]
    assert len(injected) >= 400
    for board in ("pc", "pc-rt", "virt-arm64", "virt-arm64-rt", "sabrelite", "sabrelite-rt"):
        run = {case.causes[0] for case in injected if case.rig.board == board}
        unnamed = NEEDS_STACKS if board.startswith("sabrelite") else frozenset()
        assert run >= set(causes_of(board)) - unnamed


def share(cause: str, detail: str, part: float, *, significant: bool = True) -> Share:
    return Share(cause, detail, part, part - 0.05, part + 0.05, 50_000.0, significant)


def marked(*shares: Share, place: int | None = 0, truth: float = 0.8,
           late: int | None = 40) -> Marked:  # fmt: skip
    true = TrueFault(
        name="irqs-off", expected=True, acted=50, late=late, place=place, rank=0,
        right=[0], share=truth,
        mean_ns=40_000.0, windows=20, windows_right=19, worst_ns=2_500,
    )  # fmt: skip
    return Marked(
        case="pc.1.bpf/irqs-off/x2/s1", rig="pc.1.bpf", board="pc", rt=False, size=2.0,
        digest="a", threshold_ns=20_000, episodes=50, recorded=50, control=60, shares=list(shares),
        causes=[true], unexplained=0.01, unexplained_p95=0.02,
    )  # fmt: skip


def test_a_fault_that_acted_in_no_late_activation_is_left_out() -> None:
    right, other = share("interrupts disabled", "f1 [m1]", 0.8), share("thread", "kworker", 0.8)
    absent = marked(other, place=None, late=0)
    text = tables([marked(right), absent], 2, [])
    assert "| runs left out below: the fault acted in no late activation | – | 1 | – |" in text
    assert "100.0 % (1 of 1;" in text
    assert "| irqs-off (acted in no late activation) |" in text
    # A log that has only when it began cannot tell.
    assert "50.0 % (1 of 2;" in tables([marked(right), marked(other, place=None, late=None)], 2, [])


def test_tables_say_how_many_were_right_and_with_which_limits() -> None:
    right = marked(share("interrupts disabled", "f1", 0.8))
    wrong = marked(share("thread", "kworker", 0.8), place=None, truth=0.2)
    text = tables([right, wrong], planned=9, failed=["x: the board fell silent"])
    assert "2 of the 9 runs" in text
    assert "| cause called and first, 2× and 10× | ≥ 99% | 50.0 % (1 of 2; 1.3–98.7) | no |" in text
    assert "| true share inside the interval, 0.5× to 10× | ≥ 90% | 50.0 % (1 of 2;" in text
    assert "95.0 % (38 of 40;" in text
    assert "| irqs-off | **1** | 1 |" in text
    assert "- x: the board fell silent" in text


def test_the_way_of_an_activation_itself_is_no_cause_that_comes_first() -> None:
    one = marked(share("return", "", 0.9), share("interrupts disabled", "f1", 0.1))
    assert [line.cause for line in one.significant] == ["interrupts disabled"]


def test_tables_are_written_between_the_markers_of_their_page(tmp_path: Path) -> None:
    page = tmp_path / "truth.md"
    page.write_text(f"# Truth\n{BEGIN}\nold\n{END}\nbehind\n")
    write_page(page, "new")
    assert page.read_text() == f"# Truth\n{BEGIN}\n\nnew\n\n{END}\nbehind\n"
    page.write_text("# Truth\n")
    with pytest.raises(ValueError, match="no place"):
        write_page(page, "new")
