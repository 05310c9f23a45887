"""The answer for a run: which activations were late, and what of them was recorded."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from rich.console import Console
from windows import PRIO, ordinary

from whylate.causes.answer import Answer, _idle_exits, answer
from whylate.causes.as_json import answer_as_json
from whylate.causes.pieces import Cause
from whylate.recording.events import Why, Window
from whylate.recording.manifest import (
    CpuAccount,
    Fact,
    Manifest,
    Plan,
    ProbeReport,
    RecorderPlan,
    RecorderReport,
)
from whylate.recording.samples import CpuSamples
from whylate.report.causes import print_answer

MS = 1_000_000
REPORT = RecorderReport("bpf", None, 4096, [], 0, 0, 0, 0, None, None)


def manifest(count: int, recorder: RecorderReport | None = REPORT, facts: Sequence[Fact] = (),
             threshold_ns: int | None = None) -> Manifest:  # fmt: skip
    plan = Plan("wakeup", count * MS, MS, [0], 95, False, False, [], [],
                recorder=RecorderPlan("best", threshold_ns, 2000, 1000))  # fmt: skip
    probe = ProbeReport("0", "x86_64", "", None, None, 1, 20, 0, 0, 0, 0)
    account = CpuAccount(0, 0, count * MS, count, count, 0, 0, "fifo", 95, True)
    return Manifest("whylate-recording", 3, "complete", "", "0", "b", "CLOCK_MONOTONIC", plan,
                    [account], [], list(facts), [], probe, [], recorder=recorder)  # fmt: skip


def samples(latency_ns: Sequence[int], overrun: Sequence[int] = ()) -> list[CpuSamples]:
    late = np.zeros(len(latency_ns), bool)
    late[list(overrun)] = True
    return [CpuSamples(0, 0, MS, np.arange(len(latency_ns)), np.array(latency_ns), late)]


def window(activation: int, latency_ns: int, why: Why = "tail") -> Window:
    """A window in which a thread as urgent took all but a µs of the time."""
    due = activation * MS
    base = ordinary(prio=PRIO)
    shift = due - base.due_ns
    events = [replace(event, time_ns=event.time_ns + shift) for event in base.events]
    events[-1] = replace(events[-1], time_ns=due + latency_ns - 100)
    return replace(
        base, activation=activation, due_ns=due, run_ns=due + latency_ns, timer_ns=due + 100,
        waking_ns=due + 150, switched_ns=due + latency_ns - 100, observed_ns=due - 400,
        events=tuple(events), why=why,
    )  # fmt: skip


def of(count: int, late: dict[int, int], windows: Sequence[Window], **options: int) -> Answer:
    latency = [10_000 + i % 100 for i in range(count)]
    for activation, ns in late.items():
        latency[activation] = ns
    return answer(manifest(count), samples(latency), windows, **options)


def test_the_slowest_thousandth_is_explained_and_what_is_missing_is_not_observed() -> None:
    late = {i * 997: 90_000 + i for i in range(1, 11)}
    windows = [window(activation, ns) for activation, ns in list(late.items())[:8]]
    windows += [window(i * 100 + 3, 10_000, "body") for i in range(50)]
    found = of(10_000, late, windows)
    assert found.population is not None
    assert (found.population.episodes, found.population.recorded) == (10, 8)
    assert found.population.body == 50
    shares = {(one.cause, one.detail): one.share for one in found.population.causes}
    assert shares[Cause.THREAD, "make"] == pytest.approx(0.8, abs=0.01)
    assert shares[Cause.NOT_OBSERVED, ""] == pytest.approx(0.2, abs=0.01)
    assert sum(shares.values()) == pytest.approx(1)
    assert [story.accounted.latency_ns for story in found.worst] == [90_008, 90_007, 90_006,
                                                                     90_005, 90_004]  # fmt: skip


def test_what_was_late_when_it_came_but_is_not_by_the_last_count_is_neither() -> None:
    late = {i * 997: 90_000 for i in range(1, 11)}
    early = window(5, 12_000, "tail")
    found = of(10_000, late, [early, *(window(a, 90_000) for a in late)])
    assert found.population is not None
    assert (found.population.recorded, found.population.body) == (10, 0)


def test_a_stall_is_one_episode_however_many_activations_came_due_in_it() -> None:
    latency = [10_000 + i % 100 for i in range(3000)]
    latency[1000:1030] = [30 * MS - k * MS for k in range(30)]
    latency[2000] = 500_000
    overrun = range(1001, 1030)
    found = answer(manifest(3000), samples(latency, overrun), [window(1000, 30 * MS)])
    assert found.population is not None
    assert found.population.episodes == 2
    assert found.threshold_ns < 500_000
    assert found.population.recorded == 1


def test_a_threshold_that_was_asked_for_holds_then_and_now() -> None:
    latency = [10_000] * 1000 + [60_000] * 20
    recorded = answer(manifest(1020, threshold_ns=50_000), samples(latency), [])
    assert (recorded.threshold_ns, recorded.threshold_name) == (50_000, "as asked for")
    assert recorded.population is not None
    assert recorded.population.episodes == 20
    now = answer(manifest(1020), samples(latency), [], threshold_ns=70_000)
    assert now.population is None
    assert now.why_not is not None
    assert "no activation was late" in now.why_not


def test_why_there_is_no_answer_is_said() -> None:
    def said(report: RecorderReport | None) -> str:
        found = answer(manifest(10, report), samples([1] * 10), [])
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


def test_idle_states_answer_as_the_board_says() -> None:
    facts = [Fact("idle_states", ["state0 POLL: 0 us, enabled", "state2 C6: 133 us, enabled"], "")]
    assert _idle_exits(facts) == {0: 0, 2: 133_000}


def test_the_answer_is_printed_with_its_causes_and_stories_and_nothing_acts() -> None:
    late = {i * 997: 90_000 + i for i in range(1, 11)}
    windows = [window(activation, ns) for activation, ns in late.items()]
    evil = "\x1b[31m[bold]evil"
    windows = [
        replace(one, events=(replace(one.events[0], name=evil), *one.events[1:])) for one in windows
    ]
    found = of(10_000, late, windows)
    console = Console(width=100, record=True, file=io.StringIO())
    print_answer(found, console, stories=2)
    text = console.export_text()
    assert "10 late episodes above" in text
    assert r"thread \x1b[31m[bold]evil" in text
    assert "\x1b" not in text
    assert "▶" in text
    assert text.count("cpu 0 activation") == 2
    as_json = answer_as_json(found, 2)
    assert sum(one["located_share"] for one in as_json["causes"]) == pytest.approx(1)
    assert sum(piece["length_ns"] for piece in as_json["worst"][0]["pieces"]) == 90_010
