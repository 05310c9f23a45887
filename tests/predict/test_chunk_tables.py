"""Tables of a calibration run: what follows from them, and what is no such table."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whylate.cli import whylate
from whylate.predict.chunk import predict_chunks, read_calibration
from whylate.recording.errors import RecordingError

TABLE = Path(__file__).parent / "data" / "clflush_chunks.csv"
ITEMS = 16_384


def test_a_measured_flush_has_a_median_and_a_cost_and_no_model_of_p99() -> None:
    calibration = read_calibration(TABLE, ITEMS)
    answer = predict_chunks(calibration, (128,), period_ns=200_000)
    by_quantity = {forecast.quantity: forecast for forecast in answer.forecasts}
    assert set(by_quantity) == {"work_ns", "p50_ns"}
    assert by_quantity["p50_ns"].holds(8_800)
    assert by_quantity["work_ns"].holds(1_660_000)
    assert by_quantity["p50_ns"].fitted_to == [1, 16, 128, 512]
    assert [refused.series for refused in answer.no_model] == ["p99_ns"]
    assert calibration.knee() == 128


def test_a_hold_longer_than_the_period_is_why_the_median_does_not_fit() -> None:
    answer = predict_chunks(read_calibration(TABLE, ITEMS), (128,))
    reasons = {refused.series: refused.reason for refused in answer.no_model}
    assert "--period" in reasons["p50_ns"]


def test_each_chunk_is_predicted_from_all_others() -> None:
    answer = predict_chunks(read_calibration(TABLE, ITEMS), (64,), period_ns=200_000)
    checks = {check.series: (check.held, check.made) for check in answer.checks}
    assert checks == {"work_ns": (5, 5), "p50_ns": (4, 4)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n1,2\n", "names the columns chunk, work_ns"),
        ("chunk,work_ns\n1,2\n", "names the columns chunk, work_ns"),
        ("chunk,work_ns,p50_ns\n", "has no rows"),
        ("chunk,work_ns,p50_ns\n1,2,x\n", "line 2: numbers above zero"),
        ("chunk,work_ns,p50_ns\n1,2\n", "line 2: numbers above zero"),
        ("chunk,work_ns,p50_ns\n1,2,inf\n", "line 2: numbers above zero"),
        ("chunk,work_ns,p50_ns\n1,2,3\n1,2,3\n", "line 3: a chunk is from 1"),
        ("chunk,work_ns,p50_ns\n99999,2,3\n", "line 2: a chunk is from 1"),
        ("chunk,work_ns,p50_ns\r1,2,3\r", "end with a line feed"),
        (f"{'x' * 140_000},work_ns,p50_ns\n", "and short fields"),
        (f"chunk,work_ns,p50_ns\n1,2,{'3' * 140_000}\n", "and short fields"),
        ("chunk,work_ns,p50_ns\n" + "".join(f"{n},2,3\n" for n in range(1, 1100)), "1000 rows"),
    ],
)
def test_what_is_no_table_is_refused_with_the_place(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(RecordingError, match=reason):
        read_calibration(path, ITEMS)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordingError, match="no table of chunks"):
        read_calibration(path, ITEMS)
    with pytest.raises(RecordingError, match="cannot be read"):
        read_calibration(tmp_path / "none.csv", ITEMS)


def test_a_chunk_is_from_one_item_to_all_of_them() -> None:
    def run(chunk: str) -> Result:
        words = ["predict", "chunk", str(TABLE), "--items", str(ITEMS), "--chunk", chunk]
        return CliRunner().invoke(whylate, [*words, "--period", "200us"])

    for chunk, reason in (
        ("0", "from 1 item on"),
        ("128,0", "from 1 item on"),
        ("16385", "more than all --items: 16384"),
    ):
        done = run(chunk)
        assert done.exit_code == 2
        assert reason in " ".join(done.output.split())
    assert run("1,16384").exit_code == 0
