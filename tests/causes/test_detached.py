"""Late activations while the recorder is detached have no window by design, and are in no share."""

from __future__ import annotations

import msgspec
import pytest
from answers import MS, REPORT, manifest, samples, window

from whylate.causes.answer import Answer, explain
from whylate.causes.as_json import answer_as_json
from whylate.causes.window.piece import Cause
from whylate.recording.manifest import DetachedReport
from whylate.report.causes import notes

#: Detached from activation 500 to 699; switching takes a few ms.
STRETCH = DetachedReport(500 * MS, 503 * MS, 696 * MS, 700 * MS, 10, 10)
DETACHED = msgspec.structs.replace(REPORT, detached=[STRETCH])


def answer(late: dict[int, int], *, windows: set[int], detached: bool = True) -> Answer:
    latency = [10_000 + i % 100 for i in range(2000)]
    for activation, ns in late.items():
        latency[activation] = ns
    control = [window(activation, latency[activation], "control") for activation in (50, 950)]
    tail = [window(activation, late[activation]) for activation in sorted(windows)]
    recorder = DETACHED if detached else REPORT
    run = manifest(2000, recorder, threshold_ns=100_000)
    return explain(run, samples(latency), sorted([*control, *tail], key=lambda w: w.due_ns))


def not_observed(result: Answer) -> float:
    assert result.population is not None
    return sum(c.share for c in result.population.causes if c.cause is Cause.NOT_OBSERVED)


def test_they_are_counted_apart_and_widen_nothing() -> None:
    late = {100: 300_000, 550: 400_000, 600: 400_000, 900: 300_000}
    result = answer(late, windows={100, 900})
    assert result.population is not None
    assert (result.population.episodes, result.population.recorded) == (2, 2)
    assert result.detached == 2
    assert not_observed(result) == pytest.approx(0)
    assert result.families is not None
    assert result.families.unrecorded == 0
    lines = notes(result, result.population)
    assert any("2 more late activations came while" in line for line in lines)
    assert answer_as_json(result, 0)["detached"] == 2
    # What was lost without that reason stays not observed.
    lost = answer(late, windows={100, 900}, detached=False)
    assert not_observed(lost) > 0.5
    assert lost.detached == 0


def test_a_lost_window_while_it_was_attached_is_not_observed() -> None:
    result = answer({100: 300_000, 900: 300_000, 499: 300_000}, windows={100})
    assert result.population is not None
    assert result.population.episodes == 3
    assert result.detached == 0
    assert not_observed(result) > 0.5


def test_an_activation_that_spans_a_switch_is_not_recorded_either() -> None:
    # Due before it began to be detached, and ran after that.
    result = answer({100: 300_000, 499: 1_200_000}, windows={100})
    assert result.detached == 1
    # Due when it was attached again.
    assert answer({100: 300_000, 700: 300_000}, windows={100, 700}).detached == 0


def test_where_all_came_while_it_was_detached_that_is_the_answer() -> None:
    result = answer({550: 400_000}, windows=set())
    assert result.population is None
    assert "came while the recorder was detached" in (result.why_not or "")
