"""Forecasts from recordings: what they hold, where they are kept, and where there is no model."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from swept_recordings import record_clock, record_forms, record_switch
from whylate.predict.forecast import Forecast
from whylate.predict.laws import fit_scaling
from whylate.predict.scaling import predict_scaling
from whylate.predict.shared_device import predict_shared_device
from whylate.predict.store import NAME, keep_forecasts, read_forecasts
from whylate.predict.workloads import read_sweeps
from whylate.predict.workloads.clock import SHARED, STRICT
from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.workloads.clock import ClockPoint
from whylate.stats.scaling.coherence import coherent_shared_throughput, coherent_throughput
from whylate.stats.scaling.universal import universal_throughput
from whylate.stats.shared_readings import strict_throughput

COUNTS = (1, 2, 3, 4, 6, 8)


def network(n: int) -> float:
    """Return the calls per µs of CPUs that read for 1 µs every 6 µs, with a coherence term."""
    return coherent_throughput(n, 6.0, 1.0, 0.01)


def test_a_network_predicts_more_cpus_and_shared_readings(tmp_path: Path) -> None:
    recording = record_clock(tmp_path / "a", {n: network(n) for n in COUNTS}, noise=0.01)
    answer = predict_shared_device(recording, (16,))
    direct, shared, strict = answer.forecasts
    assert (direct.change, shared.change, strict.change) == ("", SHARED, STRICT)
    assert direct.low < network(16) < (direct.high or 0)
    assert shared.low < coherent_shared_throughput(16, 6.0, 1.0, 0.01) < (shared.high or 0)
    # A strict reading may be waited for twice.
    expected = coherent_shared_throughput(16, 6.0, 1.0, 0.01, strict_throughput)
    assert strict.low < expected < (strict.high or 0)
    assert strict.value < shared.value
    assert direct.fitted_to == list(COUNTS)
    assert direct.parameters["service_ns"] == pytest.approx(1000, rel=0.1)
    assert direct.parameters["think_ns"] == pytest.approx(6000, rel=0.1)
    (check,) = answer.checks
    assert check.made == len(COUNTS)
    assert check.held >= check.made - 1


def test_each_form_of_shared_reads_is_a_sweep_of_its_own(tmp_path: Path) -> None:
    direct = {n: network(n) for n in COUNTS}
    shared = {n: coherent_shared_throughput(n, 6.0, 1.0, 0.01) for n in COUNTS}
    recording = record_forms(tmp_path / "a", {"direct": direct, "relaxed": shared})
    sweeps = {sweep.change: sweep for sweep in read_sweeps(recording)}
    assert sweeps[""].values == pytest.approx(tuple(direct.values()), rel=1e-3)
    assert sweeps[SHARED].values == pytest.approx(tuple(shared.values()), rel=1e-3)
    assert sweeps[""].name == sweeps[SHARED].name
    # The network is one of direct reads; the law is fitted to both.
    forecasts = predict_shared_device(recording, (16,)).forecasts
    assert [forecast.change for forecast in forecasts] == ["", SHARED, STRICT]
    answer = predict_scaling(recording, (16,))
    both = [*(forecast.change for forecast in answer.forecasts), *answer.no_model]
    assert len(both) == 2
    assert {check.series for check in answer.checks} <= {"hpet by hpet", f"hpet by hpet, {SHARED}"}


def test_shared_readings_for_more_cpus_than_the_board_has_say_what_that_supposes(
    tmp_path: Path,
) -> None:
    rates = {n: network(n) for n in COUNTS}
    recording = record_clock(tmp_path / "a", rates, noise=0.01, cpus=8)
    for forecast in predict_shared_device(recording, (8, 16)).forecasts:
        said = any("this board has 8" in text for text in forecast.supposes)
        assert said == (forecast.at == 16 and forecast.change in (SHARED, STRICT))


def test_an_emulated_device_in_a_form_is_another_and_its_callers_poll(tmp_path: Path) -> None:
    device = ClockPoint("device", how="device", service_ns=10**6, think_ns=10**6, cpus=(0, 1))
    rates = {n: float(n) for n in (1, 2, 4)}
    forms = record_forms(
        tmp_path / "a", {None: rates, "direct": rates, "strict": rates}, point=device
    )
    plain, direct, strict = read_sweeps(forms)
    assert plain.name != direct.name == strict.name
    # What the probe sleeps through needs no CPU; who polls for the reading of another does.
    assert (plain.left_out, direct.left_out, strict.left_out) == ((), (), (4,))


def test_any_sweep_scales_by_the_law_and_spans_the_network_that_fits_too(tmp_path: Path) -> None:
    counts = (2, 3, 4, 6, 8, 12)
    values = {n: universal_throughput(n, 1.0, 0.05, 0.002) for n in counts}
    recording = record_clock(tmp_path / "a", values, noise=0.005)
    (forecast,) = predict_scaling(recording, (24,)).forecasts
    assert forecast.low < universal_throughput(24, 1.0, 0.05, 0.002) < (forecast.high or 0)
    law, laws = fit_scaling(counts, tuple(values.values()), 0.01)
    assert laws.network is not None
    low, high = laws.network.interval(48)
    alone_low, alone_high = law.interval(48)
    both = laws.expect(48, 1.0)
    assert (both.low, both.high) == (min(low, alone_low), max(high, alone_high))
    assert (both.low, both.high) != (alone_low, alone_high)
    assert any("spans two laws" in text for text in forecast.supposes)
    assert any("more than 12 threads" in text for text in forecast.supposes)


def test_more_threads_than_cpus_are_not_fitted(tmp_path: Path) -> None:
    values = {n: float(min(n, 4)) for n in (1, 2, 3, 4, 8)}
    answer = predict_scaling(record_clock(tmp_path / "a", values, cpus=4), (6,))
    assert answer.forecasts[0].fitted_to == [1, 2, 3, 4]
    few = predict_scaling(record_clock(tmp_path / "b", values, cpus=3), (6,))
    assert few.forecasts == []
    assert "measured were 3" in few.no_model[0].reason
    assert "more threads than CPUs" in few.no_model[0].reason


def test_a_cliff_has_no_model(tmp_path: Path) -> None:
    ring = {2: 1200.0, 4: 1210.0, 6: 1250.0, 7: 2500.0, 8: 2500.0}
    answer = predict_scaling(record_switch(tmp_path / "a", ring), (12,))
    assert answer.forecasts == []
    assert "off by" in answer.no_model[0].reason


def test_switches_are_not_clock_reads(tmp_path: Path) -> None:
    recording = record_switch(tmp_path / "a", {2: 1.0, 4: 1.0})
    with pytest.raises(LackingError, match=r"no model: .* is not of clock reads"):
        predict_shared_device(recording, (72,))


def test_forecasts_are_added_and_the_measurement_stays_as_it_is(tmp_path: Path) -> None:
    recording = record_clock(tmp_path / "a", {n: network(n) for n in COUNTS})
    before = {path.name: path.read_bytes() for path in recording.directory.iterdir()}
    made = predict_shared_device(recording, (16, 32)).forecasts
    keep_forecasts(recording.directory, made[:2])
    keep_forecasts(recording.directory, made[2:])
    assert read_forecasts(recording.directory) == made
    after = {path.name: path.read_bytes() for path in recording.directory.iterdir()}
    assert {name: data for name, data in after.items() if name != NAME} == before


def test_a_line_that_was_cut_off_is_replaced_by_the_next(tmp_path: Path) -> None:
    made = predict_shared_device(
        record_clock(tmp_path / "a", {n: network(n) for n in COUNTS}), (16,)
    ).forecasts
    path = keep_forecasts(tmp_path / "a", made)
    with path.open("ab") as file:
        file.write(b'{"version": 1, "crea')
    keep_forecasts(tmp_path / "a", made)
    assert read_forecasts(tmp_path / "a") == made * 2


@pytest.mark.parametrize(
    "change",
    [{"value": float("nan")}, {"low": 5.0}, {"high": 0.1}, {"level": 0.0}],
)
def test_a_forecast_that_contradicts_itself_is_refused(
    tmp_path: Path, change: dict[str, float]
) -> None:
    made = predict_shared_device(
        record_clock(tmp_path / "a", {n: network(n) for n in COUNTS}), (16,)
    ).forecasts[0]
    fields = {**msgspec.to_builtins(made), **change}
    with pytest.raises((ValueError, msgspec.ValidationError)):
        msgspec.convert(fields, Forecast)
    (tmp_path / "a" / NAME).write_bytes(msgspec.json.encode(fields) + b"\n")
    with pytest.raises(RecordingError, match="damaged in line 1"):
        read_forecasts(tmp_path / "a")


def test_an_interval_without_an_upper_end_holds_all_above(tmp_path: Path) -> None:
    made = predict_shared_device(
        record_clock(tmp_path / "a", {n: network(n) for n in COUNTS}), (16,)
    ).forecasts[0]
    open_ended = replace(made, high=None)
    assert open_ended.holds(1e9)
    assert not open_ended.holds(made.low / 2)
    assert not made.holds(1e9)
