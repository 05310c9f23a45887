"""The answer for a run: which activations were late, and what of them was recorded."""

from __future__ import annotations

import io
from dataclasses import replace

import msgspec
import pytest
from answers import MS, REPORT, manifest, of, samples, window
from rich.console import Console

from whylate.causes.answer import _idle_exits, explain
from whylate.causes.as_json import answer_as_json
from whylate.causes.window.piece import Cause
from whylate.recording.manifest import Fact, Manifest, RecorderReport
from whylate.recording.samples import CpuSamples
from whylate.report.causes import answer_line
from whylate.report.page.latency import render_html
from whylate.report.terminal.causes import print_answer
from whylate.summary.model import Summary
from whylate.summary.summarize import summarize


def test_the_slowest_thousandth_is_explained_and_what_is_missing_is_not_observed() -> None:
    late = {i * 997: 90_000 + i for i in range(1, 11)}
    windows = [window(activation, ns) for activation, ns in list(late.items())[:8]]
    windows += [window(i * 100 + 3, 10_000, "control") for i in range(50)]
    found = of(10_000, late, windows)
    assert found.population is not None
    assert (found.population.episodes, found.population.recorded) == (10, 8)
    assert found.population.control == 50
    shares = {(share.cause, share.detail): share.share for share in found.population.causes}
    assert shares[Cause.THREAD, "make"] == pytest.approx(0.8, abs=0.01)
    assert shares[Cause.NOT_OBSERVED, ""] == pytest.approx(0.2, abs=0.01)
    assert sum(shares.values()) == pytest.approx(1)
    assert [story.breakdown.latency_ns for story in found.worst] == [90_008, 90_007, 90_006,
                                                                     90_005, 90_004]  # fmt: skip


def test_what_was_late_when_it_came_but_is_not_by_the_last_count_is_neither() -> None:
    late = {i * 997: 90_000 for i in range(1, 11)}
    early = window(5, 12_000, "tail")
    found = of(10_000, late, [early, *(window(a, 90_000) for a in late)])
    assert found.population is not None
    assert (found.population.recorded, found.population.control) == (10, 0)


def test_a_stall_is_one_episode_however_many_activations_came_due_in_it() -> None:
    latency = [10_000 + i % 100 for i in range(3000)]
    latency[1000:1030] = [30 * MS - k * MS for k in range(30)]
    latency[2000] = 500_000
    overrun = range(1001, 1030)
    found = explain(manifest(3000), samples(latency, overrun), [window(1000, 30 * MS)])
    assert found.population is not None
    assert found.population.episodes == 2
    assert found.threshold_ns < 500_000
    assert found.population.recorded == 1


def test_of_a_run_that_a_late_activation_ended_that_one_is_explained() -> None:
    late = {500: 30_000, 999: 400_000}
    run = manifest(1000)
    assert run.plan.recorder is not None
    recorder = msgspec.structs.replace(run.plan.recorder, stop_above_ns=200_000)
    workload = msgspec.structs.replace(run.plan.workload, recorder=recorder)
    plan = msgspec.structs.replace(run.plan, workload=workload)
    latency = [late.get(i, 10_000) for i in range(1000)]
    stop = window(999, 400_000, "stop")
    found = explain(msgspec.structs.replace(run, plan=plan), samples(latency), [stop])
    assert (found.threshold_ns, found.threshold_name) == (200_000, "which ended the run")
    assert [story.window for story in found.worst] == [stop]
    assert found.population is not None
    assert found.population.episodes == 1
    # One that was never ended is as any other.
    latency[999] = 10_000
    assert (
        explain(msgspec.structs.replace(run, plan=plan), samples(latency), []).threshold_ns
        < 200_000
    )


def test_a_threshold_that_was_asked_for_holds_then_and_now() -> None:
    latency = [10_000] * 1000 + [60_000] * 20
    recorded = explain(manifest(1020, threshold_ns=50_000), samples(latency), [])
    assert (recorded.threshold_ns, recorded.threshold_name) == (50_000, "as asked for")
    assert recorded.population is not None
    assert recorded.population.episodes == 20
    now = explain(manifest(1020), samples(latency), [], threshold_ns=70_000)
    assert now.population is None
    assert now.why_not is not None
    assert "no activation was late" in now.why_not


def test_why_there_is_no_answer_is_said() -> None:
    def said(report: RecorderReport | None) -> str:
        found = explain(manifest(10, report), samples([1] * 10), [])
        assert found.population is None
        console = Console(width=200, record=True, file=io.StringIO())
        print_answer(found, console)
        text = console.export_text()
        assert answer_as_json(found, 3)["explained"] is False
        return text

    assert "--no-recorder" in said(None)
    refused = msgspec.structs.replace(
        REPORT, engine=None, refused="bpf: not root; tracefs: not there"
    )
    assert "bpf: not root; tracefs: not there" in said(refused)
    acts = said(msgspec.structs.replace(REPORT, engine=None, refused="\x1b]0;x\x07[red]y"))
    assert r"\x1b]0;x\x07[red]y" in acts


def test_idle_states_answer_as_the_board_says() -> None:
    facts = [Fact("idle_states", ["state0 POLL: 0 us, enabled", "state2 C6: 133 us, enabled"], "")]
    assert _idle_exits(facts) == {0: 0, 2: 133_000}


def test_the_answer_is_printed_with_its_causes_and_breakdowns_and_nothing_acts() -> None:
    late = {i * 997: 90_000 + i for i in range(1, 11)}
    windows = [window(activation, ns) for activation, ns in late.items()]
    evil = "\x1b[31m[bold]evil"
    windows = [
        replace(window, events=(replace(window.events[0], name=evil), *window.events[1:]))
        for window in windows
    ]
    found = of(10_000, late, windows)
    console = Console(width=100, record=True, file=io.StringIO())
    print_answer(found, console, worst=2)
    text = console.export_text()
    assert "10 late episodes above" in text
    assert r"thread \x1b[31m[bold]evil" in text
    assert "\x1b" not in text
    assert "▶" in text
    assert text.count("CPU 0, activation") == 2
    as_json = answer_as_json(found, 2)
    assert sum(one["located_share"] for one in as_json["causes"]) == pytest.approx(1)
    assert sum(piece["length_ns"] for piece in as_json["worst"][0]["pieces"]) == 90_010


EVIL = "</title><script>alert(1)</script>"


def test_the_page_shows_the_causes_and_runs_nothing_of_what_a_board_says() -> None:
    late = {i * 997: 90_000 + i for i in range(1, 11)}
    windows = [window(activation, ns) for activation, ns in late.items()]
    windows = [
        replace(window, events=(replace(window.events[0], name=EVIL), *window.events[1:]))
        for window in windows
    ]
    found = of(10_000, late, windows)
    page = render_html(*summarised(), found)
    assert "<script>alert" not in page
    assert "thread &lt;/title&gt;&lt;script&gt;alert(1)" in page
    assert page.count('<figure class="drawing">') == 5
    assert page.count('<svg class="bar"') == 1
    assert "10 late episodes above" in page


def test_the_page_says_why_it_cannot_say_why() -> None:
    found = explain(manifest(10, None), samples([1] * 10), [])
    page = render_html(*summarised(), found)
    assert "Why it was late" in page
    assert "--no-recorder" in page


def summarised() -> tuple[Summary, Manifest, list[CpuSamples]]:
    """A run as the page wants it; which one does not matter here."""
    recorded = samples([10_000 + i % 100 for i in range(1000)])
    about = manifest(1000)
    return summarize(recorded, about, "r", ()), about, recorded


def test_the_answer_in_a_line_names_the_largest() -> None:
    late = {i * 997: 90_000 for i in range(1, 11)}
    found = of(10_000, late, [window(a, 90_000) for a in list(late)[:8]])
    line = answer_line(found, "recordings/x")
    assert line.startswith("thread make 80 %, not observed 20 % of the excess latency")
    assert line.endswith("(whylate explain recordings/x)")


def test_what_lies_between_the_runs_threshold_and_a_higher_one_is_told() -> None:
    late = {i * 997: 40_000 for i in range(1, 6)} | {i * 997: 90_000 for i in range(6, 11)}
    windows = [window(activation, ns) for activation, ns in late.items()]
    found = of(10_000, late, windows, threshold_ns=60_000)
    assert found.population is not None
    assert (found.population.episodes, found.between) == (5, 5)
    console = Console(width=200, record=True, file=io.StringIO())
    print_answer(found, console)
    assert "5 recorded activations lie between" in console.export_text()
    assert of(10_000, late, windows).between == 0


def test_no_more_are_looked_at_than_memory_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.causes.answer.MOST_LATE", 8)
    late = {i * 997: 90_000 + i for i in range(1, 11)}
    found = of(10_000, late, [window(k, ns) for k, ns in late.items()], threshold_ns=50_000)
    assert found.population is not None
    assert found.population.episodes == 8
    assert found.threshold_ns == 90_002
    assert found.threshold_name == "the slowest 8: more are above what was asked"
