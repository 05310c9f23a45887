"""The bound that needs no luck, from the windows of a recording of the virtual board pc."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from whylate.causes.longest_pieces import LongestPieces
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece
from whylate.cli import whylate
from whylate.cli.compare.analytic import print_analytic
from whylate.compare.analytic import BoundPiece, analytic_bound
from whylate.recording.errors import LackingError
from whylate.recording.events import Event, Kind, Window
from whylate.recording.manifest import MaximumReport
from whylate.report.plain_console import plain_console

DATA = Path(__file__).parent.parent
RECORDED = DATA / "predict" / "data" / "pc-irqs-off"
THREE = DATA / "report" / "data" / "pc-three-causes"
MEMORY = DATA / "recording" / "data" / "schema5" / "memory"
DUE = 1_000_000


def window(*events: tuple[int, Kind, str], run: int = 500, observed: int = -1_000) -> Window:
    rows = tuple(Event(DUE + at, 0, kind, name=name) for at, kind, name in events)
    return Window(0, 3, 7, 4, DUE, DUE + run, "tail", None, None, None, None, DUE + observed, rows)


def breakdown(*parts: tuple[int, Cause, str]) -> Breakdown:
    pieces, at = [], DUE
    for length, cause, detail in parts:
        pieces.append(Piece(at, at + length, cause, detail))
        at += length
    return Breakdown(0, 3, DUE, at - DUE, tuple(pieces))


def irq(*starts: int, name: str = "eth0", length: int = 40) -> list[tuple[int, Kind, str]]:
    events = []
    for start in starts:
        events += [(start, Kind.IRQ_ENTRY, name), (start + length, Kind.IRQ_EXIT, name)]
    return events


def test_what_comes_once_counts_by_the_most_of_an_activation() -> None:
    longest = LongestPieces()
    section, softer = Cause.PREEMPTION_DISABLED, Cause.INTERRUPTS_DISABLED
    longest.add(breakdown((100, section, "f"), (50, section, "g"), (9, Cause.RETURN, "")), window())
    longest.add(breakdown((120, section, "h"), (30, softer, "f")), window())
    longest.add(breakdown((60, Cause.THREAD, "a"), (70, Cause.THREAD, "b")), window())
    assert longest.once_ns() == {
        (section, ""): 150, (softer, ""): 30, (Cause.RETURN, ""): 9,
        (Cause.THREAD, "a"): 60, (Cause.THREAD, "b"): 70,
    }  # fmt: skip
    assert longest.recurring() == []


def test_an_interrupt_counts_by_its_longest_execution_and_its_arrivals_before_due_too() -> None:
    longest = LongestPieces()
    longest.add(breakdown((500, Cause.RETURN, "")), window(*irq(-900, -300, 100)))
    longest.add(breakdown((500, Cause.RETURN, "")), window(*irq(-900, length=90)))
    (eth0,) = longest.recurring()
    assert (eth0.name, eth0.cost_ns, eth0.spans_ns) == ("interrupt eth0", 90, (0, 400, 1_000))
    assert eth0.horizon_ns == 1_500


def test_all_arrivals_of_a_window_count_however_dense() -> None:
    longest = LongestPieces()
    dense = window(*irq(*range(0, 50_000, 100)), run=50_000)
    longest.add(breakdown((50_000, Cause.RETURN, "")), dense)
    assert longest.recurring()[0].arrivals(50_000) == 500


def test_a_window_is_complete_from_its_switch_on_or_from_where_it_lost_nothing() -> None:
    switched = (-700, Kind.SWITCH, "idle")
    for observed, horizon in ((0, 1_200), (200, 300)):
        longest = LongestPieces()
        events = window(switched, *irq(-600, 300), observed=observed)
        longest.add(breakdown((500, Cause.RETURN, "")), events)
        assert longest.horizon_ns == horizon
        assert longest.recurring()[0].spans_ns == ((0, 900) if observed == 0 else (0,))


def test_an_execution_that_was_interrupted_is_one_without_what_interrupted_it() -> None:
    longest = LongestPieces()
    nested = [
        (0, Kind.IRQ_ENTRY, "slow"), (20, Kind.VECTOR_ENTRY, "timer"),
        (50, Kind.VECTOR_EXIT, "timer"), (90, Kind.IRQ_EXIT, "slow"),
    ]  # fmt: skip
    longest.add(breakdown((500, Cause.RETURN, "")), window(*nested))
    by_name = {each.name: (each.cost_ns, each.spans_ns) for each in longest.recurring()}
    assert by_name == {"interrupt slow": (60, (0,)), "interrupt timer": (30, (0,))}


def test_what_came_outside_of_windows_counts_where_it_was_kept() -> None:
    longest = LongestPieces()
    longest.add(breakdown((500, Cause.RETURN, "")), window(*irq(-900, 100)))
    denser = MaximumReport("interrupt", "eth0", 0, 600, 70, 5, [300, 2_000, 9_000, 50_000])
    elsewhere = MaximumReport("softirq", "RCU", 0, 1, 900, 5, [])
    rcu, eth0 = longest.recurring([[denser, elsewhere]])
    assert (rcu.name, rcu.cost_ns, rcu.arrivals(10**8)) == ("softirq RCU", 900, 1)
    assert (eth0.name, eth0.cost_ns) == ("interrupt eth0", 70)
    # Five arrivals have four gaps; between what was kept, more gaps take what fewer took.
    assert eth0.spans_ns[:7] == (0, 300, 600, 900, 2_000, 2_300, 2_600)
    assert eth0.spans_ns[16] == 9_000
    assert eth0.spans_ns[79] == 50_000
    # A window that shows more than a recording whose maxima are less dense.
    (thin,) = longest.recurring([[structs.replace(denser, spans_ns=[2_000])]])
    assert thin.spans_ns[1] == 1_000


def test_several_in_a_row_take_no_longer_than_they_ever_did() -> None:
    mostly_short = MaximumReport("interrupt", "eth0", 0, 600, 900, 5, [10], [1_000, 2_500])
    (eth0,) = LongestPieces().recurring([[mostly_short]])
    together = [eth0.together_ns(count) for count in (0, 1, 2, 4, 5, 8, 13, 16, 17, 20, 32)]
    # Up to four take no longer than four, and up to 16 no longer than 16.
    assert together == [0, 900, 1_000, 1_000, 1_900, 2_000, 2_500, 2_500, 3_400, 3_500, 5_000]
    # A window in which one took 30 longer than what was kept.
    longest = LongestPieces()
    longest.add(breakdown((2_000, Cause.RETURN, "")), window(*irq(-950, length=930)))
    (longer,) = longest.recurring([[mostly_short]])
    assert [longer.together_ns(count) for count in (1, 4)] == [930, 1_000 + 4 * 30]
    # Totals above so many of the longest say nothing, as where they were cleared meanwhile.
    (useless,) = LongestPieces().recurring([[structs.replace(mostly_short, totals_ns=[10**9] * 2)]])
    assert useless.together_ns(4) == 4 * 900
    older = structs.replace(mostly_short, totals_ns=[])
    for maxima in ([[mostly_short], [older]], [[mostly_short, mostly_short]]):
        (unknown,) = LongestPieces().recurring(maxima)
        assert unknown.together_ns(4) == 4 * 900


def test_no_more_come_in_any_time_than_came_in_all_of_a_run() -> None:
    few = MaximumReport("interrupt", "eth0", 0, 3, 70, 5, [300])
    (eth0,) = LongestPieces().recurring([[few], [structs.replace(few, arrivals=2)]])
    assert eth0.spans_ns == (0, 300, 600)
    assert eth0.arrivals(10**8) == 3


def test_devices_of_one_name_may_come_together() -> None:
    one = MaximumReport("interrupt", "uart", 0, 600, 70, 5, [300, 2_000, 9_000, 50_000])
    (both,) = LongestPieces().recurring([[one, structs.replace(one, longest_ns=80)], [one]])
    assert both.cost_ns == 80
    # Of two gaps one is of one device alone, of eight four are.
    assert both.spans_ns[:10] == (0, 0, 300, 300, 600, 600, 900, 900, 2_000, 2_000)
    assert both.arrivals(10**6) > LongestPieces().recurring([[one]])[0].arrivals(10**6)


@pytest.mark.parametrize("path", [RECORDED, THREE], ids=lambda path: path.name)
def test_it_is_never_below_the_largest_seen_and_its_pieces_make_it(path: Path) -> None:
    result = analytic_bound([path])
    assert result.bound_ns is not None
    assert result.bound_ns >= result.largest_ns
    assert not result.is_refuted
    together = sum(piece.together_ns for piece in result.pieces)
    assert together == pytest.approx(result.bound_ns, rel=0.01)
    assert all(piece.longest_ns * piece.times == piece.together_ns for piece in result.pieces)


def test_the_section_of_the_fault_is_its_largest_piece() -> None:
    result = analytic_bound([RECORDED])
    assert result.pieces[0].name == "interrupts disabled"
    assert 140_000 < result.pieces[0].longest_ns < 155_000
    assert result.bound_ns is not None
    # The fault lasts 150 µs, and the largest latency without it is 43 µs.
    assert 161_000 < result.bound_ns < 3 * 193_000
    assert any("before an activation was due" in text for text in result.unobserved)


def test_a_recording_without_windows_is_refused() -> None:
    with pytest.raises(LackingError, match="no windows of wakeups"):
        analytic_bound([MEMORY])


def test_the_verb_prints_it_beside_the_statistical_bound() -> None:
    done = CliRunner().invoke(whylate, ["bound", "--analytic", str(RECORDED)])
    assert done.exit_code == 0, done.output
    for part in (
        "with 95 % confidence",
        "All longest pieces together",
        "C(N(L))",
        "not observed: ",
    ):
        assert part in done.output
    document = json.loads(
        CliRunner().invoke(whylate, ["bound", "--analytic", str(RECORDED), "--json"]).output
    )
    assert document["analytic"]["bound_ns"] >= document["largest_ns"]


def test_where_what_recurs_fills_the_windows_there_is_no_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    worst = structs.replace(analytic_bound([RECORDED]), bound_ns=None, horizon_ns=277_200)
    assert worst.maxima == 0
    print_analytic(worst, plain_console())
    shown = " ".join(capsys.readouterr().out.split())
    assert "no bound: recurring interrupts could use the whole CPU" in shown
    assert "windows show at most 277.2 µs, and more with a longer --interval" in shown
    assert "All longest pieces" not in shown


@pytest.mark.parametrize(
    ("windows_bound_ns", "said"),
    [
        (277_200, "From windows alone: 277.2 µs. That is no bound for what was seen"),
        (None, "Nor is there a bound from windows alone"),
    ],
)
def test_where_maxima_fill_the_cpu_the_windows_alone_are_said_to_be_that(
    windows_bound_ns: int | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bound = analytic_bound([RECORDED])
    pieces = [*bound.pieces, BoundPiece("softirq RCU", 900, 3, 2_700, 1.2)]
    worst = structs.replace(
        bound, bound_ns=None, windows_bound_ns=windows_bound_ns, maxima=7, pieces=pieces
    )
    print_analytic(worst, plain_console())
    shown = " ".join(capsys.readouterr().out.split())
    assert "(softirq RCU 120 %, " in shown
    assert said in shown
    assert "all of the run" in shown
    assert "All longest pieces" not in shown


def test_a_recording_without_maxima_says_what_it_does_not_cover() -> None:
    worst = analytic_bound([RECORDED])
    assert worst.bound_ns == worst.windows_bound_ns
    assert any(text.startswith("interrupts and softirqs outside") for text in worst.unobserved)


@pytest.mark.parametrize("shown", [True, False])
def test_a_bound_that_is_longer_than_the_windows_asks_for_longer_ones(
    shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    worst = structs.replace(analytic_bound([RECORDED]), bound_ns=300_000, is_cut=shown)
    print_analytic(worst, plain_console())
    printed = " ".join(capsys.readouterr().out.split())
    assert ("A recording with a longer --interval beside this shows more" in printed) is shown


def test_it_takes_recordings() -> None:
    done = CliRunner().invoke(whylate, ["bound", "--analytic", "--claim", "over(1ms)<1/1h"])
    assert done.exit_code == 2
    assert "--analytic takes recordings" in done.output


def test_an_activation_without_pieces_shows_nothing() -> None:
    longest = LongestPieces()
    longest.add(replace(breakdown((5, Cause.RETURN, "")), pieces=None), window())
    assert (longest.windows, longest.once_ns()) == (0, {})
