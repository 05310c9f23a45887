"""Latencies without a cause: rows with and without windows, and a forecast against the truth.

data/pc-irqs-off is a recording of the virtual board pc in virtual time, made by

    whylate measure pc --virtual-time --smp 1 --for 4s --interval 250us --threshold 30us \
        --fault 'irqs-off size_us=150 period_us=12000'

and what was measured without the fault, and with one of half the size, by the same command.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from whylate.causes.counterfactual import Removal
from whylate.causes.population import Breakdown, Key
from whylate.causes.window.piece import Cause, Piece
from whylate.cli import whylate
from whylate.predict.removed_rows import RemovedRows, Windows, remove_rows
from whylate.predict.without import PredictedQuantile, predict_without
from whylate.recording.reader import open_recording
from whylate.recording.samples import CpuSamples

RECORDED = Path(__file__).parent / "data" / "pc-irqs-off"
#: p99 and p99.9, ns, of the same board without the fault, and with half of it.
WITHOUT = {"p99": 12_120, "p99.9": 12_610}
HALF = {"p99": 12_340, "p99.9": 76_840}
MS, US = 1_000_000, 1_000
LOCK: Key = (Cause.INTERRUPTS_DISABLED, "f [drv]")
REMOVED = Removal(frozenset({LOCK}))


def activation(number: int, section_us: int, own_us: int = 10) -> Breakdown:
    due, section = number * MS, section_us * US
    end = due + section + own_us * US
    pieces = [Piece(due, due + section, *LOCK)] if section else []
    pieces.append(Piece(due + section, end, Cause.SCHEDULING))
    return Breakdown(0, number, due, end - due, tuple(pieces))


def rows(
    latency_us: list[int],
    late: list[Breakdown],
    control: list[Breakdown],
    overrun: int | None = None,
) -> RemovedRows:
    overruns = np.zeros(len(latency_us), bool)
    if overrun is not None:
        overruns[overrun] = True
    cpu = CpuSamples(
        0, 0, MS, np.arange(len(latency_us)), np.array(latency_us, np.int64) * US, overruns
    )
    return remove_rows([cpu], Windows(late, control), REMOVED)


def test_a_late_activation_falls_to_what_remains_and_no_lower_than_a_usual_one() -> None:
    result = rows([10, 500, 10], [activation(1, 490)], [activation(0, 0)])
    assert result.high[0].latency_ns[1] == 11 * US
    assert result.low[0].latency_ns[1] == 10 * US
    assert result.affected == 1
    # The recorded rows stay as they are.
    assert result.recorded[0].latency_ns.tolist() == [10 * US, 500 * US, 10 * US]


def test_rows_without_a_window_keep_their_latency_at_the_most() -> None:
    latency = [10] * 98 + [300, 500]
    result = rows(latency, [activation(99, 490)], [activation(number, 0) for number in range(40)])
    assert result.high[0].latency_ns[98] == 300 * US
    # None of 40 control activations has the cause: 9 % of the others can have it at the most.
    assert (result.unseen, result.most_unseen) == (59, 6)
    assert result.low[0].latency_ns[98] == 10 * US
    # More of them have it: more of the others can have had it.
    control = [activation(number, 5 * (number % 2)) for number in range(40)]
    more = rows(latency, [activation(99, 490)], control)
    assert more.most_unseen > 30


def test_without_control_activations_all_others_may_have_had_the_cause() -> None:
    result = rows([10, 300, 500], [activation(2, 490)], [])
    assert (result.unseen, result.most_unseen) == (2, 2)
    assert result.low[0].latency_ns.tolist() == [0, 0, 9 * US]
    assert result.high[0].latency_ns.tolist() == [10 * US, 300 * US, 11 * US]


def test_what_came_due_in_the_stall_is_an_overrun_no_more_where_the_stall_is_gone() -> None:
    stall = activation(1, 1_590)
    control = [activation(3, 0)]
    result = rows([10, 1_600, 600, 10], [stall], control, overrun=2)
    assert not result.high[0].overrun[2]
    assert result.high[0].latency_ns[2] == 10 * US
    # Where a thread took the time that remains, it stays one.
    long = Breakdown(0, 1, MS, 1_600 * US, (
        Piece(MS, MS + 100 * US, *LOCK), Piece(MS + 100 * US, MS + 1_600 * US, Cause.THREAD, "x"),
    ))  # fmt: skip
    kept = rows([10, 1_600, 600, 10], [long], control, overrun=2)
    assert kept.high[0].overrun[2]
    assert kept.high[0].latency_ns[2] == 600 * US
    assert kept.recorded[0].overrun[2]


def test_what_the_cause_hid_is_drawn_from_control_activations() -> None:
    control = [activation(number, 0, own_us=10 if number % 10 else 40) for number in range(100)]
    late = [activation(number, 490) for number in range(100, 400)]
    high = rows([10] * 100 + [500] * 300, late, control).high[0].latency_ns[100:]
    assert np.mean(high == 40 * US) == pytest.approx(0.1, abs=0.05)
    assert set(high.tolist()) == {11 * US, 40 * US}


def test_activations_with_the_recorder_detached_are_left_out() -> None:
    cpu = CpuSamples(0, 0, MS, np.arange(10), np.full(10, 20 * US), np.zeros(10, bool))
    windows = Windows([], [activation(1, 0)])
    result = remove_rows([cpu], windows, REMOVED, detached=[(3 * MS + 10 * US, 5 * MS)])
    assert result.recorded[0].activation.tolist() == [0, 1, 2, 5, 6, 7, 8, 9]
    assert result.low[0].size == result.high[0].size == 8


def _holds(quantile: PredictedQuantile, measured_ns: int) -> bool:
    assert quantile.low_ns is not None
    assert quantile.high_ns is not None
    return quantile.low_ns <= measured_ns <= quantile.high_ns


@pytest.mark.parametrize(("speed", "measured"), [(None, WITHOUT), (2.0, HALF)])
def test_what_was_measured_without_the_fault_lies_in_the_forecast(
    speed: float | None, measured: dict[str, int]
) -> None:
    forecast = predict_without(open_recording(RECORDED), ["[irqs_off]"], speed)
    assert forecast.causes == ["interrupts disabled fault_main [irqs_off]"]
    for quantile in forecast.quantiles:
        assert quantile.least_ns <= (quantile.most_ns or 0) <= quantile.recorded_ns
        assert _holds(quantile, measured[quantile.name]), quantile
    # The forecast is none of what was recorded.
    last = forecast.quantiles[-1]
    assert not _holds(last, last.recorded_ns)


def test_the_rate_is_that_of_what_remains() -> None:
    forecast = predict_without(open_recording(RECORDED), ["interrupts disabled"], above_ns=60 * US)
    assert forecast.rate.recorded > 100
    assert forecast.rate.least <= forecast.rate.most < 5
    assert forecast.rate.high_per_s is not None
    assert forecast.rate.most / forecast.rate.seconds <= forecast.rate.high_per_s < 5
    assert forecast.most_largest_ns < forecast.largest_ns


def test_the_verb_prints_the_forecast_and_what_it_supposes() -> None:
    done = CliRunner().invoke(
        whylate, ["predict", "without", "[irqs_off]", str(RECORDED), "--over", "60us", "--no-keep"]
    )
    assert done.exit_code == 0, done.output
    for part in ("p99.9", "another run, 95 %", "Above 60 µs: ", "max: of these very activations"):
        assert part in done.output
    as_json = CliRunner().invoke(
        whylate, ["predict", "without", "[irqs_off]", str(RECORDED), "--json", "--no-keep"]
    )
    document = json.loads(as_json.output)
    assert document["format"] == "whylate-without"
    assert [each["name"] for each in document["quantiles"]] == ["p99", "p99.9"]


def test_a_cause_that_the_recording_has_not_is_refused_with_those_it_has() -> None:
    done = CliRunner().invoke(whylate, ["predict", "without", "softirk", str(RECORDED)])
    assert done.exit_code == 2
    assert "no recorded activation has 'softirk'" in done.output
    assert "interrupts disabled" in done.output


def test_slower_is_no_removal() -> None:
    arguments = ["predict", "without", "[irqs_off]", str(RECORDED), "--speed", "1"]
    done = CliRunner().invoke(whylate, arguments)
    assert done.exit_code == 2
    assert "--speed" in done.output


def test_a_recording_without_windows_is_refused(tmp_path: Path) -> None:
    recording = open_recording(RECORDED)
    bare = msgspec.structs.replace(recording.manifest, recorder=None)
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(bare))
    (tmp_path / "samples.parquet").write_bytes((RECORDED / "samples.parquet").read_bytes())
    done = CliRunner().invoke(whylate, ["predict", "without", "interrupt", str(tmp_path)])
    assert done.exit_code != 0
    assert "has no windows" in str(done.exception)
