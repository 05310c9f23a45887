"""Forecasts of chunks from recordings of whylate bench bulk: fitted, kept, shown and scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from swept_recordings import record_chunks, record_clock
from whylate.cli import whylate
from whylate.predict.chunk import predict_chunks, recorded_calibration
from whylate.predict.scaling import predict_scaling
from whylate.predict.store import NAME, keep_forecasts, read_forecasts
from whylate.recording.errors import LackingError
from whylate.recording.reader import open_recording

#: A whole of 1.6 ms, 0.3 µs to let go; a floor of 4.8 µs and half or nearly all of a hold.
LINE_NS, GAP_NS, FLOOR_NS = 98, 300, 4_800
BEFORE, MADE, AFTER = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))


def law(chunk: int) -> tuple[int, int, int]:
    """Return the work, the p50 and the p99 of a chunk, ns."""
    hold = chunk * LINE_NS
    work = 16_384 * LINE_NS + 16_384 * GAP_NS // chunk
    return work, FLOOR_NS + hold // 2, FLOOR_NS + hold * 99 // 100


def run(*words: object) -> Result:
    return CliRunner().invoke(whylate, ["predict", *map(str, words)])


def record(place: Path, *chunks: int, created: str = BEFORE, factor: int = 1) -> Path:
    figures = {chunk: law(chunk) for chunk in chunks}
    figures = {chunk: (work, factor * p50, p99) for chunk, (work, p50, p99) in figures.items()}
    return record_chunks(place, figures, created=created).directory


def test_a_recording_has_what_a_table_has(tmp_path: Path) -> None:
    place = record(tmp_path / "a", 1, 16, 128, 512, 16_384)
    done = run("chunk", place, "--chunk", "64,256", "--json")
    assert done.exit_code == 0, done.output
    made = {(f["quantity"], f["at"]): f for f in json.loads(done.stdout)["forecasts"]}
    assert set(made) == {(q, n) for q in ("work_ns", "p50_ns", "p99_ns") for n in (64, 256)}
    assert made["p50_ns", 64]["value"] == pytest.approx(law(64)[1], rel=0.02)
    assert made["work_ns", 256]["value"] == pytest.approx(law(256)[0], rel=0.02)
    # All at once is held for longer than the 200 µs between two signals.
    assert made["p50_ns", 64]["fitted_to"] == [1, 16, 128, 512]
    assert made["work_ns", 64]["axis"] == "lines"
    assert len(read_forecasts(place)) == 6


def test_several_recordings_are_taken_together_and_the_newest_keeps_it(tmp_path: Path) -> None:
    old = record(tmp_path / "a", 1, 16)
    new = record(tmp_path / "b", 128, 512, created=MADE)
    assert run("chunk", old, "--chunk", "64").exit_code == 3
    done = run("chunk", new, old, "--chunk", "64")
    assert done.exit_code == 0, done.output
    assert not (old / NAME).exists()
    assert {made.source for made in read_forecasts(new)} == {"b"}
    assert run("chunk", new, old, "--chunk", "64", "--no-keep").exit_code == 0
    assert len(read_forecasts(new)) == 3


@pytest.mark.parametrize(("factor", "held"), [(1, 3), (3, 2)])
def test_a_later_run_at_that_chunk_is_scored_and_shown(
    tmp_path: Path, factor: int, held: int
) -> None:
    first = open_recording(record(tmp_path / "a", 1, 16, 128, 512))
    made = predict_chunks(recorded_calibration([first]), [64, 256], 200_000).forecasts
    keep_forecasts(first.directory, [replace(each, created=MADE) for each in made])
    record(tmp_path / "b", 64, created=AFTER, factor=factor)
    score = json.loads(run("--score", tmp_path, "--json").stdout)
    assert [score["made"], score["waiting"], len(score["outcomes"])] == [6, 3, 3]
    assert score["held"] == held
    shown = CliRunner().invoke(whylate, ["report", str(tmp_path / "b")]).output
    assert "predicted before, and measured now" in shown
    assert "64 lines: p50" in shown
    assert f"{held} of 3 intervals held" in shown


def test_other_work_another_board_and_another_benchmark_are_no_model(tmp_path: Path) -> None:
    good = open_recording(record(tmp_path / "a", 1, 16, 128))
    fewer = record_chunks(tmp_path / "b", {n: law(n) for n in (1, 16, 128)}, lines=1024)
    with pytest.raises(LackingError, match="1024 lines cleaned in chunks on CPU 0; 16384 lines"):
        recorded_calibration([good, fewer])
    elsewhere = type(good)(good.directory, replace(good.manifest, board="another"))
    with pytest.raises(LackingError, match="another board"):
        recorded_calibration([good, elsewhere])
    clock = record_clock(tmp_path / "c", {n: 1.0 / n for n in (1, 2, 3, 4)})
    with pytest.raises(LackingError, match="is not of work in chunks"):
        recorded_calibration([clock])
    with pytest.raises(LackingError, match="no sweep over threads"):
        predict_scaling(good, [8])


def test_few_delays_have_no_p99_and_the_tuner_no_place(tmp_path: Path) -> None:
    figures = {0: (9, 9, 9)} | {chunk: law(chunk) for chunk in (1, 16, 128)}
    few = record_chunks(tmp_path / "a", figures, delays=20)
    calibration = recorded_calibration([few])
    assert set(calibration.columns) == {"work_ns", "p50_ns"}
    assert calibration.chunks == (1, 16, 128)


def test_items_belong_to_a_table_and_chunks_to_the_work(tmp_path: Path) -> None:
    place = record(tmp_path / "a", 1, 16, 128)
    table = tmp_path / "t.csv"
    table.write_text("chunk,work_ns,p50_ns\n1,9,9\n")
    for words, reason in (
        ((place, "--items", 9, "--chunk", 1), "--items is of a TABLE"),
        ((table, "--chunk", 1), "--items is needed"),
        ((table, place, "--chunk", 1), "one TABLE alone"),
        ((place, "--chunk", 16_385), "more than all --items: 16384"),
    ):
        done = run("chunk", *words)
        assert done.exit_code == 2
        assert reason in " ".join(done.output.split())
