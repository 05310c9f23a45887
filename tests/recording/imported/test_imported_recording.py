"""An imported recording is what its file was; it is whole or not there, and nothing in it acts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from imported_text import unfolded

from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.numbers import Table
from whylate.recording.imported.read import read_runs
from whylate.recording.imported.recording import read_imported
from whylate.recording.imported.write import read_importable, write_imported
from whylate.recording.reader import open_recording

HERE = Path(__file__).parent
FILES = sorted(one.name for one in HERE.iterdir() if one.suffix in (".txt", ".json"))


def imported(name: str, to: Path) -> Path:
    (made,) = write_imported(to, read_importable(HERE / name))
    return made


@pytest.mark.parametrize("name", FILES)
def test_what_is_kept_is_what_was_read(name: str, tmp_path: Path) -> None:
    (before,) = read_runs(HERE / name)
    after = read_imported(imported(name, tmp_path / "r"))
    assert isinstance(after.data, ImportedRun)
    if before.latency_ns is None:
        assert after.data.latency_ns is None
    else:
        assert unfolded(before) == unfolded(after.data)
    for field in (
        "tool",
        "overflow",
        "ordered",
        "average_ns",
        "max_ns",
        "overruns",
        "lacks",
        "average_cut_ns",
        "activations",
        "quantiles_ns",
        "name",
    ):
        assert getattr(before, field) == getattr(after.data, field)


def test_the_order_of_samples_is_kept(tmp_path: Path) -> None:
    found = read_imported(imported("cyclictest_samples.txt", tmp_path / "r")).data
    assert isinstance(found, ImportedRun)
    assert unfolded(found)[:5] == [40_000, 27_000, 27_000, 28_000, 27_000]


def test_numbers_keep_their_order_their_column_and_their_unit(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("name,lat\na,3.5\nb,-1\nc,2\n")
    (made,) = write_imported(tmp_path / "r", read_importable(file, "lat", "µs"))
    after = read_imported(made)
    assert isinstance(after.data, Table)
    assert after.data.values == (3.5, -1.0, 2.0)
    assert (after.about.name, after.about.unit, after.about.source) == ("lat", "µs", "t.csv")


def test_each_run_of_a_file_is_a_recording_in_a_row_of_numbers(tmp_path: Path) -> None:
    file = tmp_path / "mail"
    file.write_text("> RTS|  0.900|  16.400|  93.500|  0|  0|  03:12:12/03:12:12\n" * 11)
    made = write_imported(tmp_path / "r", read_importable(file))
    assert [one.name for one in made] == [f"{number:02}" for number in range(1, 12)]
    assert [read_imported(one).about.run for one in made] == list(range(1, 12))


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    imported("rtla_over.txt", tmp_path / "r")
    with pytest.raises(RecordingError, match="never overwritten"):
        imported("rtla_docs.txt", tmp_path / "r")
    assert read_imported(tmp_path / "r").about.source == "rtla_over.txt"


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    runs = read_importable(HERE / "rtla_over.txt")
    bad = [*runs, *read_importable(HERE / "cyclictest_samples.txt")]
    object.__setattr__(bad[-1].data, "latency_ns", np.array([object()]))
    with pytest.raises(Exception, match=r"."):
        write_imported(tmp_path / "r", bad)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty$"),
        ("\n", "has no numbers; nor is it a file of cyclictest"),
        ("fast\nslow\n", "line 1: 'fast' is not a number; nor is it a file of"),
        ("fast\n1\n", "line 1: 'fast' is not a number: if it is the heading, use --column 'fast'$"),
        ("1\ntwo\n", "line 2: 'two' is not a number"),
        ("{}", "is JSON of an unknown tool: `jq"),
        ("\0\xff", "is no text$"),
        ("a b\n1 2\n", "choose one with --column"),
        ("x" * (1 << 17), "too long for a row of numbers"),
        ('{"a": "' + "x" * (65 << 20), "too large for JSON"),
        ("x 3 1 2 1 1 0.5\n+ 3 1 2 1 1 0.5\n", "the output of ministat, without the values"),
        ("1.0,msec,task-clock,1%,1,1\n2,,faults,0%,1,1\n", "choose one with --column"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        read_importable(file)


def test_latencies_have_no_column_and_no_unit_of_ones_own() -> None:
    with pytest.raises(InputError, match="is for files of numbers"):
        read_importable(HERE / "rtla_over.txt", None, "ms")


def about(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        file = directory / "import.json"
        document = json.loads(file.read_text())
        change(document)
        file.write_text(json.dumps(document))

    return spoil


def rows(latency_ns: list[int], count: list[int], kind: str = "uint64") -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        table = pa.table(
            {"latency_ns": pa.array(latency_ns, "int64"), "count": pa.array(count, kind)}
        )
        pq.write_table(table, directory / "samples.parquet")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (about(lambda one: one.update(schema_version=4)), "newer whylate"),
        (about(lambda one: one.update(format="whylate-recording")), "is damaged"),
        (about(lambda one: one.update(more=1)), "is damaged"),
        (about(lambda one: one.update(average=1e300)), "is not a time"),
        (about(lambda one: one.update(overflow=-1)), "is damaged"),
        (about(lambda one: one.update(overflow=10**16)), "is damaged"),
        (about(lambda one: one.update(average_cut=-1.0)), "is damaged"),
        (about(lambda one: one.update(quantiles={"p50": 1e300})), "is not a time"),
        (about(lambda one: one.update(quantiles={"\x1b[2J": 1.0})), "cannot be printed"),
        (about(lambda one: one.update(tool="x" * 1000)), "is damaged"),
        (about(lambda one: one.update(tool="\x1b[2J")), "cannot be printed"),
        (about(lambda one: one.update(kind="numbers")), "has the columns"),
        (about(lambda one: one.update(kind="numbers", rows=None)), "numbers without values"),
        (lambda d: (d / "import.json").write_bytes(b"{\xff"), "is damaged"),
        (lambda d: (d / "import.json").write_bytes(b"[" * (2 << 20)), "too large"),
        (lambda d: (d / "samples.parquet").write_bytes(b"PAR1"), "not a Parquet file"),
        (lambda d: (d / "samples.parquet").unlink(), "not a Parquet file"),
        (rows([1], [1]), "1 rows, import.json has 2"),
        (rows([2, 1], [1, 1]), "not in ascending order"),
        (rows([1, 2], [1, 0]), "counts are not those of a run"),
        (rows([1, 2], [1, 2**63]), "more than 1,000,000,000,000,000"),
        (rows([1, 2**62], [1, 1]), "impossible latencies"),
        (rows([1, 2], [1, 1], "int64"), "has the columns"),
    ],
)
def test_what_was_changed_afterwards_is_refused_with_one_line(
    spoil: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    made = imported("rtla_over.txt", tmp_path / "r")
    spoil(made)
    with pytest.raises(RecordingError, match=says) as error:
        read_imported(made)
    assert "\n" not in str(error.value)


def test_it_is_no_recording_of_our_own(tmp_path: Path) -> None:
    with pytest.raises(LackingError, match="was imported"):
        open_recording(imported("rtla_over.txt", tmp_path / "r"))
