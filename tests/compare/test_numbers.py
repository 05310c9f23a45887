"""Files of numbers, and what is said of them: the published tables among them."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from whylate.cli import whylate
from whylate.recording.errors import RecordingError
from whylate.recording.imported.ministat import read_boxes
from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import read_table

DATA = Path(__file__).with_name("published")


def compare(*words: object) -> dict[str, object]:
    """Return what `whylate compare --json` says."""
    result = CliRunner().invoke(whylate, ["compare", *(str(word) for word in words), "--json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def refused(*words: object) -> tuple[int, str]:
    """Return the exit status of `whylate compare`, and its one line."""
    result = CliRunner().invoke(whylate, ["compare", *(str(word) for word in words)])
    if isinstance(result.exception, RecordingError):
        # main() writes it, with this status.
        return 2, str(result.exception)
    assert isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.stderr.split())


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_numbers_stand_one_a_line_with_comments(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "# ten runs\n1.5\n\n 2e3 # late\n-3\n")
    assert read_table(file).values == (1.5, 2000.0, -3.0)


def test_a_column_is_chosen_by_number_or_by_heading(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", "a 1 10\nb 2 20\n")
    assert read_table(plain, "3").values == (10.0, 20.0)
    table = write(tmp_path / "t.csv", 'name,"lat (us)",x\nbase,1.5,2\nnew,2.5,3\n')
    found = read_table(table, "lat (us)")
    assert found.values == (1.5, 2.5)
    assert found.factors[1] == {"name": "new", "x": "3"}


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", None, "has no numbers"),
        ("fast\n", None, "line 1: 'fast' is not a number"),
        ("1\nnan\n", None, "line 2: 'nan' is not a number"),
        ("1\n2 x\ny 3\n", None, "line 2 has 2 cells, line 1 has 1"),
        ("a,b\n1,2\n", None, "choose one with --column ('a', 'b')"),
        ("a,b\n1,2\n", "c", "has no column 'c': it has 'a', 'b'"),
        ("a,b\n1,\n", "b", "line 2: '' is not a number"),
    ],
)
def test_what_is_no_number_is_named_with_its_line(
    tmp_path: Path, text: str, column: str | None, says: str
) -> None:
    with pytest.raises(InputError) as error:
        read_table(write(tmp_path / "f", text), column)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("13,6104\n13,6246\n", None, "choose one with --column (1 to 2), or write a decimal point"),
        ("1,234\n2,345\n", None, "or write a decimal point"),
        ("13\n13,6\n", None, "line 2: '13,6' is not a number: write a decimal point"),
        ("name;lat\nA;13,6\n", "lat", "line 2: '13,6' is not a number: write a decimal point"),
        ("name\tlat\nA\t13,65\n", "lat", "line 2: '13,65' is not a number: write a decimal point"),
        ("name lat\nfoo 1,234\n", "lat", "line 2: '1,234' is not a number: write a decimal point"),
        ("foo 1,234\nbar 2,345\n", "2", "line 1 may be a heading or values"),
        ("A;13,6\nB;13.7\n", "2", "line 1: '13,6' is not a number"),
        ("name,x,lat\na,1,2,5\n", "lat", "line 2 has 4 cells, line 1 has 3: write a decimal point"),
        ("name,x,lat\na,5\n", "x", "line 2 has 2 cells, line 1 has 3"),
        ("1\n1_5\n", None, "line 2: '1_5' is not a number"),
        ("1\n1'500\n", None, "nothing between thousands"),
        ("1\n1e150\n", None, "line 2: '1e150' is not a number in the range: 1e-100 is the least"),
        ("1\n-1e-200\n", None, "line 2: '-1e-200' is not a number in the range"),
        ("1\n2#3\n", None, "line 2: '2#3' is not a number"),
        # Cyclictest's histogram without its marks: its bins are no values.
        ("000000 000005\n000001 000003\n", None, "several columns: choose one"),
        ("000000\t000005\n000001\t000003\n", None, "several columns: choose one"),
    ],
)  # fmt: skip
def test_no_number_is_read_as_another_one(
    tmp_path: Path, text: str, column: str | None, says: str
) -> None:
    with pytest.raises(InputError) as error:
        read_table(write(tmp_path / "f", text), column)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_comment_begins_a_line_or_follows_a_blank_and_not_in_quotes(tmp_path: Path) -> None:
    file = write(tmp_path / "f", 'name,lat\n"a # b",1 # late\nc#1,2\n\t# nothing\n"d",3\t#4\n')
    found = read_table(file, "lat")
    assert found.values == (1.0, 2.0, 3.0)
    assert [row["name"] for row in found.factors] == ["a # b", "c#1", "d"]


@pytest.mark.parametrize(
    "text",
    [
        'a;b;lat\n1,5;"x;y";7.5\n;;8.5\n',
        "a\tb\tlat\n1,5\tx y\t7.5\n\t\t8.5\n",
        "\ta\tb\tlat\n\t1\t2\t7.5\n\t\t\t8.5\n",
        'a, b, "lat"\n"1,5", "x", 7.5\n, , 8.5\n',
        "  a  b lat\n 1\t2 7.5\n3 4 8.5 \n",
    ],
)
def test_a_file_has_one_kind_of_delimiter(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "f", text)
    assert read_table(file, "lat").values == (7.5, 8.5)
    assert read_table(file, "3").values == (7.5, 8.5)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("nan\n1\n2\n", None, "line 1: 'nan' is not a number"),
        ("inf\n1\n2\n", "inf", "line 1: 'inf' is a number, not a heading"),
        ("1e999\n1\n2\n", None, "line 1: '1e999' is not a number"),
        ("1_5\n1\n", "1", "line 1: '1_5' is not a number"),
        ("1.5\n2\n3\n", "1.5", "line 1: '1.5' is a number, not a heading"),
        ("timeout\n1\n2\n", None, "is not a number: if it is the heading, use --column 'timeout'"),
        ("timeout\n1\n2\n", "1", "line 1: 'timeout' is not a number"),
        ("timeout,1\n5,2\n", "1", "line 1: 'timeout' is not a number"),
        ("12ms,A\n13,B\n", "1", "line 1: '12ms' is not a number"),
        ("N/A,A\n13,B\n", "1", "line 1: 'N/A' is not a number"),
        ("name,50\nA,1\nB,2\n", "2", "line 1 may be a heading or values"),
        (",0\n0,1.5\n1,2.5\n", "2", "line 1 may be a heading or values"),
        ("lat,lat\n1,2\n", "lat", "line 1: 2 columns are called 'lat': choose it by its number"),
        ("lat,max\n", "lat", "has no numbers below its headings"),
        ("1\n2\n", "9" * 5000, "has no column '999"),
    ],
)  # fmt: skip
def test_no_first_value_is_lost_as_a_heading(
    tmp_path: Path, text: str, column: str | None, says: str
) -> None:
    with pytest.raises(InputError) as error:
        read_table(write(tmp_path / "f", text), column)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "column", "name", "values"),
    [
        ("lat\n1\n2\n", "lat", "lat", (1.0, 2.0)),
        ("name,lat\nA,1\nB,2\n", "2", "lat", (1.0, 2.0)),
        ("x,50\n5,1\n6,2\n", "2", "50", (1.0, 2.0)),
        ("x,50\n5,1\n6,2\n", "50", "50", (1.0, 2.0)),
        ("lat,lat\n1,2\n", "2", "lat", (2.0,)),
        ("1,\n2,\n", "1", "", (1.0, 2.0)),
        ("1,nan\n2,3\n", "1", "", (1.0, 2.0)),
    ],
)
def test_a_heading_is_known_where_a_column_is_chosen(
    tmp_path: Path, text: str, column: str, name: str, values: tuple[float, ...]
) -> None:
    found = read_table(write(tmp_path / "f", text), column)
    assert (found.name, found.values) == (name, values)


def test_lmbenchs_lat_ctx_has_values_by_processes_and_size(tmp_path: Path) -> None:
    file = write(tmp_path / "x", '> "size=0k ovr=2.02\n> 20 10.13\n> 20 10.10\n> 24 11.00\n')
    assert read_table(file, "20").values == (10.13, 10.10)
    assert read_table(file, "20").name == "20 size=0k"
    with pytest.raises(InputError, match="has '20 size=0k', '24 size=0k': choose one"):
        read_table(file)
    sizes = write(tmp_path / "y", '"size=0k ovr=2.02\n20 10.13\n\n"size=16k ovr=2.1\n20 14.2\n')
    assert read_table(sizes, "20 size=16k").values == (14.2,)
    with pytest.raises(InputError, match="has '20 size=0k', '20 size=16k': choose one"):
        read_table(sizes, "20")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('"size=0k ovr=2.02\n20 10,13\n', "line 2: '20 10,13' is not a row of lat_ctx"),
        ('"size=0k ovr=2.02\n20 10.1\n20 10.2 x\n', "line 3: '20 10.2 x' is not a row"),
        ('"size=0k ovr=2.02\n', "has no numbers"),
    ],
)
def test_each_row_of_lat_ctx_is_one(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_table(write(tmp_path / "x", text))


def test_perf_stat_has_values_by_event(tmp_path: Path) -> None:
    lines = "1.70,msec,task-clock,13.94%,1696322,100.00,0.398,CPUs utilized\n"
    lines += "49,,page-faults,0.00%,1696322,100.00,35.351,K/sec\n"
    file = write(tmp_path / "x", lines + lines.replace("1.70", "1.80"))
    assert read_table(file, "task-clock").values == (1.7, 1.8)
    assert read_table(file, "page-faults").values == (49.0, 49.0)
    not_counted = write(tmp_path / "y", "<not counted>,,cycles,0.00%,0,0.00,,\n")
    with pytest.raises(InputError, match="'<not counted>' is not a number"):
        read_table(not_counted)


def test_a_line_with_a_metric_alone_belongs_to_the_event_above(tmp_path: Path) -> None:
    event = "5,,cycles,1001,100.00,,\n"
    file = write(tmp_path / "x", event + ",,,,,0.5,stalled cycles per insn\n" + event)
    assert read_table(file).values == (5.0, 5.0)


def test_a_table_is_not_taken_for_perf_stat(tmp_path: Path) -> None:
    table = write(tmp_path / "x", "run,board,variant,lat,max\n1,a,old,2,3\n2,a,new,4,5\n")
    found = read_table(table, "lat")
    assert (found.tool, found.name, found.values) == ("numbers", "lat", (2.0, 4.0))
    assert [row["variant"] for row in found.factors] == ["old", "new"]
    empty = write(tmp_path / "z", ",,,1,2\n,,,3,4\n")
    assert read_table(empty, "4").values == (1.0, 3.0)


@pytest.mark.parametrize(
    "row",
    ["old,us,lat,1000,50", "1,fast,lat,1000,50", "1,us,3,1000,50", "1,us,lat,10.5,50",
     "1,us,lat,1000,yes", "1,us,lat,5%,50"],
)  # fmt: skip
def test_a_row_that_is_not_of_perf_stat_in_one_cell_is_of_a_table(tmp_path: Path, row: str) -> None:
    assert read_table(write(tmp_path / "x", "1,us,lat,1000,50\n")).tool == "perf stat"
    with pytest.raises(InputError, match="several columns"):
        read_table(write(tmp_path / "y", f"{row}\n{row}\n"))


def test_counts_of_parts_of_a_run_are_refused(tmp_path: Path) -> None:
    lines = "     1.0010,1.70,msec,task-clock,1001,100.00,0.398,CPUs utilized\n"
    file = write(tmp_path / "x", lines + "     1.0010,<not counted>,,cycles,0,0.00,,\n")
    with pytest.raises(InputError, match=r"is of perf stat -I, .*: count each run"):
        read_table(file, "cycles")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_table(tmp_path / "none")


def test_the_box_of_ministat_gives_its_interval_also_from_a_mail(tmp_path: Path) -> None:
    box = write(
        tmp_path / "box",
        ">>     N           Min           Max        Median           Avg        Stddev\n"
        ">> x  10          3.57          3.59         3.585         3.584   0.006992059\n"
        ">> +  10           2.9          2.91          2.91         2.908  0.0042163702\n"
        ">> Difference at 95.0% confidence\n",
    )
    assert len(read_boxes(box)) == 2
    found = compare(box)
    student = found["student"]
    assert isinstance(student, dict)
    assert 100 * student["relative"] == pytest.approx(-18.86, abs=0.005)
    assert 100 * student["relative_half_width"] == pytest.approx(0.15, abs=0.005)
    assert (found["verdict"], found["within"]) == ("no verdict", "better")


BOX = "x 10 3.57 3.59 3.585 3.584 0.007\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOX + BOX.replace("x", "+") + BOX, "line 3 is a second row x: put each"),
        (BOX + "+ " + "9" * 5000 + " 1 2 1 1 0.5\n", "line 2 cannot be compared: it takes 2 to"),
        (BOX + "+ 1 1 1 1 1 0\n", "line 2 cannot be compared"),
        (BOX + "+ 0 1 1 1 1 0\n", "line 2 cannot be compared"),
        (BOX + "+ 3 1 2 1 1e999 0.5\n", "line 2 cannot be compared"),
        (BOX + "+ 3 1 2 1 1 1e200\n", "line 2 cannot be compared"),
        (BOX + "+ 3 1 1 1 1 -nan\n* 3 1 1 1 1 1\n", "line 2 cannot be compared"),
    ],
)
def test_a_box_that_cannot_be_compared_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    code, line = refused(write(tmp_path / "box", text))
    assert code == 2
    assert says in line


#: Two files, and what ministat (FreeBSD's, of Debian 12's package) says of them.
ELEVEN = """13.6104 13.6246 13.6099 13.5609 13.6272 13.6134 13.5839 13.6174 13.6109 13.6088
13.6009"""
NINE = "10.1109 10.0853 10.0967 10.0904 10.112 10.1008 10.0942 10.0844 10.0949"


def test_of_files_students_interval_is_ministats(tmp_path: Path) -> None:
    files = [write(tmp_path / name, "\n".join(text.split()))
             for name, text in (("a", ELEVEN), ("b", NINE))]  # fmt: skip
    found = compare(*files)
    student = found["student"]
    assert isinstance(student, dict)
    # -3.50959 +/- 0.0147264, -25.794% +/- 0.108233%, (Student's t, pooled s = 0.0155945)
    assert student["difference"] == pytest.approx(-3.50959, abs=5e-6)
    # Its table has Student's t to three decimals.
    assert student["half_width"] == pytest.approx(0.0147264, rel=1e-4)
    assert 100 * student["relative"] == pytest.approx(-25.794, abs=5e-4)
    assert 100 * student["relative_half_width"] == pytest.approx(0.108233, rel=1e-4)
    assert student["pooled_sd"] == pytest.approx(0.0155945, abs=5e-8)


def test_values_that_differ_in_their_last_digits_keep_their_spread(tmp_path: Path) -> None:
    """Of these files ministat says 3 +/- 0, pooled s = 0; of others like them, -nan."""
    ones = [1e9 + k for k in (-1, 1) * 6]
    found = compare(
        write(tmp_path / "a", "\n".join(f"{one:.1f}" for one in ones)),
        write(tmp_path / "b", "\n".join(f"{one + 3:.1f}" for one in ones)),
        "--independent",
    )
    student = found["student"]
    assert isinstance(student, dict)
    assert student["difference"] == pytest.approx(3)
    # Of 12 values of plus and minus one the standard deviation is sqrt(12 / 11).
    assert student["pooled_sd"] == pytest.approx(math.sqrt(12 / 11))
    assert found["verdict"] == "worse"
    assert "3e-07 % higher" in str(found["why"])


def lat_ctx(folder: Path, asid: str) -> Path:
    """Write the eleven repetitions of one invocation with or without ASIDs, one a line."""
    rows = [line.split(",") for line in (DATA / "asid_lat_ctx.csv").read_text().splitlines()]
    values = [row[4] for row in rows if row[1] == asid and row[2].startswith("run ")]
    assert len(values) == 11
    return write(folder / asid, "\n".join(values))


def test_repetitions_of_one_invocation_hold_within_its_boot_alone(tmp_path: Path) -> None:
    found = compare(lat_ctx(tmp_path, "without"), lat_ctx(tmp_path, "with"))
    assert (found["verdict"], found["within"], found["scope"]) == ("no verdict", "better", "boot")
    assert "boot several times" in str(found["why"])


def test_rows_are_chosen_by_what_stands_beside_them(tmp_path: Path) -> None:
    file = DATA / "asid_lat_ctx.csv"
    words = ["--column", "microseconds", "--by", "asid", "--where"]
    found = compare(file, *words, "statistic=run *")
    assert (found["verdict"], found["within"], found["scope"]) == ("no verdict", "worse", "boot")
    # The rows with ASIDs come first.
    by_files = compare(lat_ctx(tmp_path, "with"), lat_ctx(tmp_path, "without"))
    assert found["student"] == by_files["student"]
    narrow = compare(file, *words, "statistic=run *", "--where", "statistic=*1")
    assert narrow["first"]["runs"] == 2  # type: ignore[index]
    for pattern, says in (("nope=1", "has no column 'nope'"), ("asid=no", "has no row whose asid")):
        code, line = refused(file, *words, pattern)
        assert (code, says in line) == (2, True)
    code, line = refused(file, *words, "asid")
    assert (code, "write it like" in line) == (2, True)


def test_values_that_are_runs_of_their_own_have_a_verdict(tmp_path: Path) -> None:
    found = compare(lat_ctx(tmp_path, "without"), lat_ctx(tmp_path, "with"), "--independent")
    assert found["verdict"] == "better"
    worse = compare(
        lat_ctx(tmp_path, "without"), lat_ctx(tmp_path, "with"), "--independent",
        "--higher-is-better",
    )  # fmt: skip
    assert worse["verdict"] == "worse"


PAIRS = ("board", "l2_cache_rev", "load")


def test_three_pairs_of_averages_decide_nothing_and_are_shown() -> None:
    found = compare(DATA / "imx6_latency.csv", "--column", "lat_avg_us", "--by", "l2_lock",
                    "--pair", ",".join((*PAIRS, "write_allocate")))  # fmt: skip
    assert found["verdict"] == "no verdict"
    assert found["smallest_p"] == 0.25
    pairs = found["pairs"]
    assert isinstance(pairs, list)
    changes = [100 * (theirs / ours - 1) for _, ours, theirs in pairs]
    assert changes == pytest.approx([-28.9, -28.1, -34.5], abs=0.05)


def test_pairs_of_another_factor_decide_nothing_either() -> None:
    found = compare(DATA / "imx6_latency.csv", "--column", "lat_avg_us", "--by", "write_allocate",
                    "--pair", ",".join((*PAIRS, "l2_lock")))  # fmt: skip
    assert found["verdict"] == "no verdict"
    assert "6 pairs are the least" in str(found["why"])


def test_no_maximum_of_a_single_run_is_compared() -> None:
    found = compare(DATA / "imx6_latency.csv", "--column", "lat_max_us", "--by", "l2_lock",
                    "--pair", ",".join((*PAIRS, "write_allocate")))  # fmt: skip
    assert found["verdict"] == "no verdict"
    assert found["pairs"] == []
    assert found["statistics"][0]["ratio"] is None  # type: ignore[index]


def test_a_row_that_lacks_the_group_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "lat,variant\n1,old\n2,new\n3\n")
    code, line = refused(file, "--column", "lat", "--by", "variant")
    assert (code, "line 4 has 1 cell, line 1 has 2" in line) == (2, True)


def test_groups_by_a_heading_that_two_columns_have_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "lat,variant,variant\n1,old,new\n2,new,old\n")
    code, line = refused(file, "--column", "lat", "--by", "variant")
    assert (code, "has no column 'variant', or several" in line) == (2, True)


EVENT = "5,,{},1001,100.00,,\n"
CTX = '"size={} ovr=2\n{} 10.1\n{} 10.2\n'


@pytest.mark.parametrize(
    ("ours", "theirs", "column", "says"),
    [
        ("x,lat_us\n1,5\n", "x,lat_ns\n1,6\n", "2", "has 'lat_us' and"),
        (EVENT.format("cycles"), EVENT.format("instructions"), None, "has 'instructions'"),
        (CTX.format("0k", 20, 20), CTX.format("0k", 24, 24), None, "has '24 size=0k'"),
        (CTX.format("0k", 20, 20), CTX.format("16k", 20, 20), "20", "has '20 size=16k'"),
        (EVENT.format("cycles"), "1\n2\n", None, "is a file of perf stat and"),
    ],
)
def test_values_of_other_names_or_tools_are_not_compared(
    tmp_path: Path, ours: str, theirs: str, column: str | None, says: str
) -> None:
    files = [write(tmp_path / name, text) for name, text in (("a", ours), ("b", theirs))]
    words = [] if column is None else ["--column", column]
    again = write(tmp_path / "again", ours)
    assert refused(files[0], again, *words)[0] == 3
    # Within a side as between them.
    for sides in (files, [files[0], files[1], ":", files[1]]):
        code, line = refused(*sides, *words)
        assert code == 2
        assert says in line


def test_a_file_without_a_heading_is_compared_under_the_name_of_the_other(tmp_path: Path) -> None:
    plain = write(tmp_path / "a", "1 5\n2 6\n")
    named = write(tmp_path / "b", "x lat\n1 5\n2 6\n")
    for sides in ((plain, named), (named, plain)):
        found = compare(*sides, "--column", "2")
        assert found["statistics"][0]["name"] == "lat"  # type: ignore[index]


def test_values_about_a_thousand_million_keep_their_digits(tmp_path: Path) -> None:
    low = write(tmp_path / "a", "\n".join(str(10**9 + n % 3 - 1) for n in range(9)))
    high = write(tmp_path / "b", "\n".join(str(10**9 + n % 3 + 2) for n in range(9)))
    found = compare(low, high, "--independent")
    student = found["student"]
    assert isinstance(student, dict)
    assert student["difference"] == pytest.approx(3)
    assert student["half_width"] == pytest.approx(0.8654, abs=1e-3)
    assert found["verdict"] == "worse"


def test_recordings_and_files_are_not_mixed(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "1\n2\n")
    result = CliRunner().invoke(whylate, ["compare", str(file), str(tmp_path)])
    assert result.exit_code == 2
    assert "cannot be compared" in result.stderr


def test_a_verdict_can_fail_a_pipeline(tmp_path: Path) -> None:
    low = write(tmp_path / "a", "\n".join(map(str, range(10, 20))))
    high = write(tmp_path / "b", "\n".join(map(str, range(30, 40))))
    words = ["compare", str(low), str(high), "--independent"]
    assert CliRunner().invoke(whylate, words).exit_code == 0
    assert CliRunner().invoke(whylate, [*words, "--fail-on", "worse"]).exit_code == 1
    assert CliRunner().invoke(whylate, ["compare", str(low), str(high)]).exit_code == 3


def test_markdown_and_junit_say_the_same_and_nothing_in_a_name_acts(tmp_path: Path) -> None:
    from xml.etree import ElementTree as Xml

    low = write(tmp_path / "a|<b>", "\n".join(map(str, range(10, 20))))
    high = write(tmp_path / "b", "\n".join(map(str, range(30, 40))))
    words = ["compare", str(low), str(high), "--independent", "--markdown",
             "--junit", str(tmp_path / "junit.xml"), "--fail-on", "worse"]  # fmt: skip
    result = CliRunner().invoke(whylate, words)
    assert result.exit_code == 1
    assert result.stdout.startswith("**B is worse**: value is")
    assert r"a\|\<b\>" in result.stdout
    # ministat's answer is beside it.
    assert "Student's t: \\+20 ± 2.8" in result.stdout
    suite = Xml.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 (our own)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "worse" in (failure.get("message") or "")
    out = suite.findtext("testcase/system-out") or ""
    assert "Student's t: +20 ± 2.8" in out


def test_what_has_no_verdict_has_not_passed(tmp_path: Path) -> None:
    from xml.etree import ElementTree as Xml

    files = [str(write(tmp_path / name, "1\n2\n")) for name in ("a", "b")]
    CliRunner().invoke(whylate, ["compare", *files, "--junit", str(tmp_path / "x")])
    suite = Xml.parse(tmp_path / "x").getroot()  # noqa: S314 (our own)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def test_a_file_compared_with_itself_or_a_copy_shows_nothing(tmp_path: Path) -> None:
    numbers = "\n".join(map(str, range(10, 22)))
    file, copy = (write(tmp_path / name, numbers) for name in ("a", "b"))
    for words in ([file, file], [file, copy], [file, copy, "--independent"]):
        code, line = refused(*words)
        assert (code, "one and the same run" in line) == (2, True)


def test_a_name_that_is_no_file_is_told_first(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "1\n2\n")
    code, line = refused(file, tmp_path / "nope")
    assert (code, "nope: No such file" in line) == (2, True)
    os.mkfifo(tmp_path / "pipe")
    code, line = refused(file, tmp_path / "pipe")
    assert (code, "neither a file nor a directory" in line) == (2, True)


def test_groups_of_values_are_told_in_their_unit(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    two = [*rng.normal(10, 0.05, 8), *rng.normal(20, 0.05, 4)]
    one = rng.normal(10, 0.05, 12)
    files = [write(tmp_path / name, "\n".join(map(str, values)))
             for name, values in (("a", two), ("b", one))]  # fmt: skip
    found = compare(*files, "--independent", "--unit", "MB/s")
    (told,) = [text for text in found["cautions"] if "two groups" in text]  # type: ignore[attr-defined]
    assert "near 9.9" in told or "near 10.0" in told
    assert "MB/s" in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--same", "p50:10%"], "what is compared is called 'lat_max'"),
        (["--same", "lat_max:10%"], "never shown to be the same"),
        (["--same", "lat_max:10%", "--same", "lat_max:20%"], "two margins for one statistic"),
        (["--by", "lat_max", "--baseline", "x"], "--baseline is another"),
    ],
)
def test_a_margin_is_for_what_is_compared(tmp_path: Path, words: list[str], says: str) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("lat_max\n" + "\n".join(str(5 + n % 3) for n in range(12)))
    sides = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    found = CliRunner().invoke(whylate, ["compare", *sides, "--column", "lat_max", *words])
    assert found.exit_code != 0
    assert says in f"{found.output} {found.exception}"


def test_a_file_of_a_side_counts_once(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("5\n6\n7\n8\n")
    sides = [*[str(tmp_path / "a.txt")] * 2, ":", str(tmp_path / "b.txt")]
    found = CliRunner().invoke(whylate, ["compare", *sides])
    assert found.exit_code != 0
    assert "one and the same" in f"{found.output} {found.exception}"


def test_what_a_mail_says_above_lat_ctx_is_no_row_of_it(tmp_path: Path) -> None:
    rows = ['"size=0k ovr=2.02', "20 10.1", "20 10.3", "", '"size=16k ovr=2', "20 12.5"]
    quoted = "".join(f"> {row}\n" for row in rows)
    mail = f"On Mon, 5 Nov, Joe wrote:\n> I ran it, twice\n{quoted}"
    table = read_table(write(tmp_path / "mail", mail), "20 size=0k")
    assert table.values == (10.1, 10.3)
    # Below its first heading every line is one of its own.
    text = '"size=0k ovr=2.02\n20 10.1\nand then\n'
    with pytest.raises(InputError, match="line 3: 'and then' is not a row"):
        read_table(write(tmp_path / "b", text), "20 size=0k")
