"""Tables of executions: what headings name, what becomes of rows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whylate.recording.errors import RecordingError
from whylate.recording.imported.executions.headings import name_columns
from whylate.recording.imported.executions.kept import read_columns
from whylate.recording.imported.executions.marks import pair_marks
from whylate.recording.imported.executions.model import Column, Executions
from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import Table
from whylate.recording.imported.recording import read_imported
from whylate.recording.imported.write import read_importable, write_imported

CORPUS = Path(__file__).parents[1] / "corpus" / "files"
USERS = "duration_ns,cycles,instructions,l1i_stall,where\n"


def read(tmp_path: Path, text: str, unit: str = "") -> Executions:
    file = tmp_path / "t.csv"
    file.write_text(text)
    (entry,) = read_importable(file, None, unit)
    assert isinstance(entry.data, Executions)
    return entry.data


def refused(tmp_path: Path, text: str, unit: str = "") -> str:
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_importable(file, None, unit)
    line = str(error.value)
    assert "\n" not in line
    assert line.isprintable()
    assert len(line) < 1000
    return line


def role(heading: str) -> str | None:
    columns = name_columns([heading, "cycles", "instructions"])
    assert columns is not None
    return None if columns[0] is None else columns[0].role


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("ccnt", "cycles"),
        ("CPU-Cycles", "cycles"),
        ("cycle count", "cycles"),
        ("bus_cycles", "other"),
        ("insn", "instructions"),
        ("inst_retired.any", "instructions"),
        ("i-stall", "instruction stalls"),
        ("icache_stall_cycles", "instruction stalls"),
        ("ICACHE_16B.IFDATA_STALL", "instruction stalls"),
        ("IC_DEP_STALL", "instruction stalls"),
        ("stalled-cycles-frontend", "instruction stalls"),
        ("stalled-cycles-backend", "data stalls"),
        ("l1d_stall", "data stalls"),
        ("dispatch-stall", "stalls"),
        ("l2_data_stall", "stalls"),
        ("stalls", "stalls"),
        ("instruction_or_data_stall", "stalls"),
        ("L1-icache-load-misses", "other"),
        ("branches", "other"),
        ("usec", "duration"),
        ("elapsed_us", "duration"),
        ("at_us", "time"),
        ("where", "place"),
        ("execution", "execution"),
        # A time of stalls, ratios, and what has a word only within another.
        ("stall_ns", None),
        ("instructions per cycle", None),
        ("stall %", None),
        ("installs", None),
        ("bicycles", None),
        ("high_water_us", None),
        ("", None),
    ],
)
def test_a_heading_is_known_by_its_words(heading: str, expected: str | None) -> None:
    assert role(heading) == expected


def test_of_several_columns_of_cycles_the_first_counts() -> None:
    columns = name_columns(["cycles", "user_cycles", "duration_us", "duration_ns"])
    assert columns is not None
    assert [column and column.role for column in columns] == ["cycles", "other", "duration", None]


def test_a_users_table_is_read_as_it_is(tmp_path: Path) -> None:
    data = read(tmp_path, USERS + '1.5,30,20,10,"f, g"\n2,40,21,12.0,h\n')
    assert data.numbers["duration_ns"].tolist() == [1.5, 2]
    assert data.numbers["l1i_stall"].tolist() == [10, 12]
    assert data.texts["where"].names == ("f, g", "h")
    assert [column.unit for column in data.columns] == ["ns", "", "", "", ""]
    assert pair_marks("t", data) is None


@pytest.mark.parametrize("between", [";", "\t", ",", ", "])
def test_cells_may_be_separated_as_in_any_table(between: str, tmp_path: Path) -> None:
    text = between.join(["name", "cycles", "insn"]) + "\n" + between.join(["a", "9", "3"]) + "\n"
    data = read(tmp_path, text)
    assert data.numbers["insn"].tolist() == [3]
    assert "'name'" in data.lacks[-1]


def test_between_blanks_every_heading_is_known(tmp_path: Path) -> None:
    assert read(tmp_path, "usec ccnt i-stall\n96 35641 26480\n").n == 1
    line = refused(tmp_path, "The cycles of it\nwere counted\n")
    assert "is no table of numbers" in line
    line = refused(tmp_path, "cycles instructions\nwere counted twice\n")
    assert "is no table of numbers: line 2 has 3 cells, line 1 has 2" in line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"cycles": 500, "insn": 7}\n', "JSON of an unknown tool"),
        ("[500, 7, 'cycles']\n", "choose one with --column (1 to 3)"),
        ("<cycles,insn>\n1,2\n", "choose one with --column"),
        ("Well, you wrote of the cycles of that function,\nand why,\n", "other commas in quotes"),
    ],
)
def test_other_text_with_such_words_is_no_table_of_executions(
    text: str, says: str, tmp_path: Path
) -> None:
    line = refused(tmp_path, text)
    assert says in line
    assert "heading in line" not in line


def test_what_a_tool_printed_of_such_words_is_read_as_its_own(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text(
        " Performance counter stats for 'count,cycles' (5 runs):\n\n"
        "     1,234.50 msec task-clock      #  0.9 CPUs utilized   ( +-  1.20% )\n\n"
        "     1.234567 +- 0.000012 seconds time elapsed  ( +-  0.10% )\n"
    )
    with pytest.raises(InputError, match="has 'task-clock', 'time elapsed': choose one with"):
        read_importable(file)


def test_a_unit_is_of_a_time_without_one(tmp_path: Path) -> None:
    data = read(tmp_path, "duration,cycles\n5,9\n", "us")
    assert data.columns[0].unit == "us"
    assert "--unit is of a duration or time" in refused(tmp_path, "cycles,insn\n5,9\n", "us")


def test_a_column_alone_is_numbers_as_before(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("cycles,insn\n5,9\n6,9\n")
    (entry,) = read_importable(file, "cycles", "")
    assert isinstance(entry.data, Table)
    assert entry.data.values == (5, 6)
    file.write_text("cycles\n5\n6\n")
    with pytest.raises(InputError, match="use --column 'cycles'"):
        read_importable(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cycles,insn\n", "has no rows below its heading in line 1"),
        ("cycles,insn\n1,nan\n", "line 2: 'nan' is not a number ('insn')"),
        ("cycles,insn\n1,inf\n", "'inf' is not a number"),
        ("cycles,insn\n1,1e999\n", "is not a number"),
        ("cycles,insn\n1,x\n", "'x' is not a number"),
        ("cycles,insn\n1,<not counted>\n", "'<not counted>' is not a number"),
        ("cycles,insn\n1,\n", "line 2: 'insn' is empty: leave the row out, or the column"),
        ("cycles,insn\n1,2\n1,-5\n", "line 3: 'insn' -5 is negative, and no counter is"),
        ("cycles,insn\n1,2.5\n", "'insn' 2.5 is no whole number"),
        ("cycles,insn\n1,9007199254740994\n", "is beyond 2^53"),
        ("cycles,insn\n1,1e99\n", "is beyond 2^53"),
        ("elapsed_us,cycles\n-1,2\n", "'elapsed_us' -1 is negative, and no duration is"),
        ("cycles,insn\n1,2,3\n", "line 2 has 3 cells, line 1 has 2"),
        ("cycles,insn\n1\n", "line 2 has 1 cell, line 1 has 2"),
        ("insn,cycles,insn\n1,2,3\n", "line 1: 2 columns are called 'insn': give each a name"),
        ("cycles,l1d_stall,l1d_stall\n1,2,3\n", "line 1: 2 columns are called 'l1d_stall'"),
        ("cycles,l1d_stall,l1d\x01_stall,l1d\x02_stall\n1,2,3,4\n", "are called 'l1d?_stall'"),
        ("cycles,where\n1," + "x" * 201 + "\n", "has 201 characters; 200 are the most"),
        ("cycles,insn\n1," + "9" * 70_000 + "\n", "line 2 is too long"),
        ("cycles," + ",".join(f"stall_{n}" for n in range(40)) + "\n", "32 are the most"),
        ("cycles,where\n" + "".join(f"1,f{n}\n" for n in range(1001)), "1,000 different places"),
    ],
)
def test_a_table_that_cannot_be_is_refused_in_one_line(
    text: str, says: str, tmp_path: Path
) -> None:
    assert says in refused(tmp_path, text)


def test_more_rows_than_are_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.recording.imported.executions.read.MOST_VALUES", 3)
    assert read(tmp_path, "cycles,insn\n" + "1,1\n" * 3).n == 3
    assert "has more than 3 lines" in refused(tmp_path, "cycles,insn\n" + "1,1\n" * 4)


def marks(*rows: str, heading: str = "where,cycles,insn") -> str:
    return heading + "\n" + "".join(f"{row}\n" for row in rows)


def test_two_offsets_of_one_symbol_are_marks(tmp_path: Path) -> None:
    text = marks("f+0x40,10,1", "f+0x80,15,3", "f+0x40,20,5", "f+0x80,20,6")
    pairs = pair_marks("t", read(tmp_path, text))
    assert pairs is not None
    assert (pairs.first, pairs.second) == ("f+0x40", "f+0x80")
    assert pairs.first_rows.tolist() == [0, 2]
    assert pairs.second_rows.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("places", "are_marks"),
    [
        (("f+0x40/0x1f0", "f+0x80/0x1f0"), True),
        (("start", "end"), True),
        (("Entry", "Exit"), True),
        (("f+0x40", "g+0x80"), False),
        (("f", "g"), False),
        (("f+0x40", "f+0x80", "f+0xc0"), False),
    ],
)
def test_other_places_are_labels(places: tuple[str, ...], are_marks: bool, tmp_path: Path) -> None:
    rows = [f"{place},{n},{n}" for n, place in enumerate(places * 2)]
    pairs = pair_marks("t", read(tmp_path, marks(*rows)))
    assert (pairs is not None) == are_marks


def test_rows_of_an_execution_may_lie_apart(tmp_path: Path) -> None:
    text = marks("a,7,p,10,1", "b,8,p,20,1", "b,8,q,29,4", "a,7,q,15,3",
                 heading="cpu,execution,where,cycles,insn")  # fmt: skip
    pairs = pair_marks("t", read(tmp_path, text))
    assert pairs is not None
    assert pairs.first_rows.tolist() == [0, 1]
    assert pairs.second_rows.tolist() == [3, 2]
    assert (pairs.first, pairs.second) == ("p", "q")


def test_an_execution_with_one_row_is_an_execution(tmp_path: Path) -> None:
    text = marks("7,10,1", "8,20,1", heading="execution,cycles,insn")
    assert pair_marks("t", read(tmp_path, text)) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (marks("f+0x4,1,1", "f+0x8,2,2", "f+0x4,3,3"), "line 4: a mark at 'f+0x4' without its"),
        (marks("f+0x4,1,1", "f+0x4,2,2", "f+0x8,3,3"), "line 3: a mark at 'f+0x4' without its"),
        (marks("f+0x4,1,1", "f+0x8,2,0"), "line 3: 'insn' falls from 1 to 0 between the marks"),
        (
            marks("f+0x4,5,1,1", "f+0x8,4,2,2", heading="where,at_us,cycles,insn"),
            "'at_us' falls from 5 to 4 between the marks of an execution: the second comes later",
        ),
        (
            marks("7,1,1", "7,2,2", "8,3,3", heading="id,cycles,insn"),
            "line 4: 'id' has this value in 1 of the rows",
        ),
    ],
)
def test_marks_without_a_pair_are_refused(text: str, says: str, tmp_path: Path) -> None:
    assert says in refused(tmp_path, text)


@pytest.mark.parametrize("name", ["lite-tracer-marks.csv", "do-local-timer-pmu.csv"])
def test_what_is_kept_of_executions_is_what_was_read(name: str, tmp_path: Path) -> None:
    (entry,) = read_importable(CORPUS / name)
    before = entry.data
    assert isinstance(before, Executions)
    (made,) = write_imported(tmp_path / "r", [entry])
    after = read_imported(made).data
    assert isinstance(after, Executions)
    assert after.columns == before.columns
    assert after.lacks == before.lacks
    assert set(after.numbers) == set(before.numbers)
    for column, values in before.numbers.items():
        assert np.array_equal(after.numbers[column], values)
    for column, texts in before.texts.items():
        assert after.texts[column].names == texts.names
        assert np.array_equal(after.texts[column].codes, texts.codes)


def test_names_that_act_are_kept_as_names_that_do_not(tmp_path: Path) -> None:
    text = (
        'x\x1b[31m cycles,"<script>alert(1)</script> insn",where\n1,2,\x1b]0;a\x07\n3,4,\u202eb\n'
    )
    data = read(tmp_path, text)
    names = [column.name for column in data.columns]
    assert names == ["x?[31m cycles", "<script>alert(1)</script> insn", "where"]
    assert data.texts["where"].names == ("?]0;a?", "?b")


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("cycles", [1.0, float("nan")], "cycles is not a number"),
        ("cycles", [1.0, -1.0], "cycles is negative"),
        ("cycles", [1.0, 0.5], "cycles is no whole number"),
        ("cycles", [1.0, 1e300], "cycles is beyond 2^53"),
        ("where", ["f", "x" * 201], "where has a text that no import writes"),
        ("where", ["f", "\x1b"], "where has a text that no import writes"),
        ("where", ["f+0x4", "f+0x8"], None),
        ("cycles", [1, 2], "it has the columns"),
    ],
)
def test_a_damaged_recording_is_refused(
    column: str, values: list[object], says: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("cycles,where\n1,f\n2,f\n")
    (made,) = write_imported(tmp_path / "r", read_importable(file))
    table = pq.read_table(made / "samples.parquet")
    columns = {name: table[name] for name in table.column_names} | {column: pa.array(values)}
    pq.write_table(pa.table(columns), made / "samples.parquet")
    if says is None:
        assert isinstance(read_imported(made).data, Executions)
        return
    with pytest.raises(RecordingError, match=says.replace("^", r"\^")):
        read_imported(made)


def kept(tmp_path: Path) -> Path:
    """Return a recording of three rows."""
    file = tmp_path / "t.csv"
    file.write_text("cycles,where\n1,f\n2,g\n3,f\n")
    (made,) = write_imported(tmp_path / "r", read_importable(file))
    return made


def test_a_long_text_that_is_there_often_takes_no_memory(tmp_path: Path) -> None:
    """Each of its rows by itself: 20 GB."""
    made, rows = kept(tmp_path), 20_000
    place = pa.DictionaryArray.from_arrays(pa.array([0] * rows), ["x" * 1_000_000])
    table = pa.table({"cycles": pa.array([1.0] * rows), "where": place}).replace_schema_metadata()
    pq.write_table(table, made / "samples.parquet", compression="zstd", store_schema=False)
    about = made / "import.json"
    about.write_text(about.read_text().replace('"rows": 3', f'"rows": {rows}'))
    with pytest.raises(RecordingError, match="a text that no import writes"):
        read_imported(made)


def test_rows_of_impossible_size_are_not_read(tmp_path: Path) -> None:
    made = kept(tmp_path)
    table = pa.table({"cycles": [1.0] * 3, "where": ["x" * 10_000_000] * 3})
    pq.write_table(table, made / "samples.parquet", compression="zstd")
    with pytest.raises(RecordingError, match="bytes in its rows"):
        read_imported(made)


def test_a_column_that_is_there_twice_is_damage(tmp_path: Path) -> None:
    made = kept(tmp_path)
    columns = [pa.array([1.0] * 3), pa.array(["f"] * 3), pa.array(["f"] * 3)]
    pq.write_table(pa.table(columns, ["cycles", "where", "where"]), made / "samples.parquet")
    with pytest.raises(RecordingError, match="it has the columns"):
        read_imported(made)


def places(codes: list[int], names: list[str]) -> Executions:
    """Return executions at places as a Parquet file may have them."""
    columns = [Column("cycles", "cycles"), Column("where", "place")]
    place = pa.DictionaryArray.from_arrays(pa.array(codes, "int32"), names)
    table = pa.table({"cycles": [float(code) for code in codes], "where": place})
    return read_columns(Path("r"), table, columns, (), "t")


def test_places_are_in_the_order_of_the_rows_however_they_are_stored() -> None:
    texts = places([2, 3, 1], ["unused", "f", "g", "f"]).texts["where"]
    assert texts.names == ("g", "f")
    assert texts.codes.tolist() == [0, 1, 1]


def test_a_recording_of_more_places_than_are_imported_is_damaged() -> None:
    names = [f"f{number}" for number in range(1001)]
    assert places(list(range(1000)), names).n == 1000
    with pytest.raises(RecordingError, match="more than 1000 places"):
        places(list(range(1001)), names)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"role": "cycles"', '"role": "place"', "its columns are not those of executions"),
        ('"role": "cycles"', '"role": "zzz"', "is damaged"),
        ('"name": "cycles"', '"name": "cyc\\u001bles"', "its columns are not those"),
        ('"name": "cycles"', '"name": "where"', "its columns are not those"),
        ('"rows": 2', '"rows": 3', "they are of different imports"),
        ('"rows": 2', '"rows": null', "executions without values"),
        ('"rows": 2', '"rows": 0', "executions without values"),
    ],
)
def test_a_damaged_list_of_columns_is_refused(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("cycles,where\n1,f\n2,f\n")
    (made,) = write_imported(tmp_path / "r", read_importable(file))
    text = (made / "import.json").read_text()
    assert old in text
    (made / "import.json").write_text(text.replace(old, new))
    with pytest.raises(RecordingError, match=says):
        read_imported(made)
