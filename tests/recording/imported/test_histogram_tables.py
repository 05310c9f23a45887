"""A histogram that was pasted as a table is read as one: its counts count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from imported_text import unfolded

from whylate.cli import whylate
from whylate.recording.errors import RecordingError
from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.write import read_importable


def read(path: Path, text: str, unit: str = "", column: str | None = None) -> ImportedRun:
    file = path / "h.csv"
    file.write_text(text)
    (found,) = read_importable(file, column, unit)
    assert isinstance(found.data, ImportedRun)
    return found.data


def run(*words: object) -> Result:
    return CliRunner().invoke(whylate, [str(word) for word in words])


@pytest.mark.parametrize(
    "text",
    [
        "latency_us,count\n2,3\n3,0\n7,1\n",
        "usec;hits\n2;3\n7;1\n",
        "us\tcount\n2\t3\n7\t1\n",
        "value (ns), frequency\n2000,3\n7000,1\n",
        "bucket_ms,cpu0,cpu1\n0.002,1,2\n0.007,1,0\n",
        "# from the bench\n\nLatency [µs],Samples\n2.0,3\n7.0,1\n",
        "> latency_us,count\n> 2,3\n> 7,1\n",
    ],
)
def test_its_counts_count(text: str, tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert unfolded(found) == [2_000, 2_000, 2_000, 7_000]
    assert found.average_ns == pytest.approx(3_250)
    assert "whether latencies beyond the last row were left out" in found.lacks


def test_without_a_unit_it_is_asked_for(tmp_path: Path) -> None:
    text = "value,count\n2,3\n7,1\n"
    assert unfolded(read(tmp_path, text, "us")) == [2_000] * 3 + [7_000]
    for unit, says in (("", "name it with --unit us"), ("MB/s", "expected one of ns, us, ms, s")):
        with pytest.raises(InputError, match=says):
            read(tmp_path, text, unit)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("latency_us,count\n2,3\n2,1\n", "ascend, each once"),
        ("latency_us,count\n2,3\n1,1\n", "ascend, each once"),
        ("latency_us,count\n2,3.5\n", "a count of a histogram is a whole number"),
        ("latency_us,count\n2,-3\n", "a count of a histogram is a whole number"),
        ("latency_us,count\n2,0\n", "without a count"),
        ("latency_us,count\nx,1\n", "is no row of a histogram"),
        ("latency_us,count\n1e30,1\n", "is no latency"),
    ],
)
def test_what_is_no_histogram_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, text)


def test_its_latencies_are_not_taken_for_values_and_its_counts_may_be(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("latency_us,count\n2,3\n7,1\n")
    for column in ("latency_us", "1"):
        with pytest.raises(RecordingError, match="read as one without --column"):
            read_importable(file, column)
    (found,) = read_importable(file, "count")
    assert found.data.values == (3.0, 1.0)  # type: ignore[union-attr]


@pytest.mark.parametrize("heading", ["time,count", "board,count", "run,latency_us", "us,volts"])
def test_other_tables_are_tables_of_numbers(heading: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one with --column"):
        read(tmp_path, f"{heading}\n1,3\n2,1\n")


def test_compare_takes_it_with_its_unit_or_with_that_stated(tmp_path: Path) -> None:
    for name, last in (("a", 70), ("b", 90)):
        (tmp_path / name).write_text(f"value,count\n20,300\n{last},10\n")
    result = run("compare", tmp_path / "a", tmp_path / "b", "--unit", "us", "--json")
    rows = json.loads(result.stdout)["statistics"]
    assert any(row["name"] == "p50" for row in rows)
    # An average of the rows alone would be 45.
    assert run("compare", tmp_path / "a", tmp_path / "b").exit_code != 0
