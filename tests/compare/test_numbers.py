"""Files of numbers, and what is said of them: the published tables among them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from whylate.cli import whylate
from whylate.recording.foreign.model import ForeignError
from whylate.recording.foreign.numbers import read_boxes, read_table

DATA = Path(__file__).with_name("published")


def compare(*words: object) -> dict[str, object]:
    """Return what `whylate compare --json` says."""
    result = CliRunner().invoke(whylate, ["compare", *(str(word) for word in words), "--json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


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
        ("fast\n", None, "line 1: 'fast' is no number"),
        ("1\nnan\n", None, "line 2: 'nan' is no number"),
        ("1\n2 x\ny 3\n", None, "line 3: 'y' is no number"),
        ("a,b\n1,2\n", None, "choose one with --column ('a', 'b')"),
        ("a,b\n1,2\n", "c", "has no column 'c': it has 'a', 'b'"),
        ("a,b\n1,\n", "b", "line 2: '' is no number"),
    ],
)
def test_what_is_no_number_is_named_with_its_line(
    tmp_path: Path, text: str, column: str | None, says: str
) -> None:
    with pytest.raises(ForeignError) as error:
        read_table(write(tmp_path / "f", text), column)
    assert says in str(error.value)


def test_lmbenchs_lat_ctx_has_values_by_processes(tmp_path: Path) -> None:
    file = write(tmp_path / "x", '> "size=0k ovr=2.02\n> 20 10.13\n> 20 10.10\n> 24 11.00\n')
    assert read_table(file, "20").values == (10.13, 10.10)
    with pytest.raises(ForeignError, match="has '20', '24': choose one with --column"):
        read_table(file)


def test_perf_stat_has_values_by_event(tmp_path: Path) -> None:
    lines = "1.70,msec,task-clock,13.94%,1696322,100.00,0.398,CPUs utilized\n"
    lines += "49,,page-faults,0.00%,1696322,100.00,35.351,K/sec\n"
    file = write(tmp_path / "x", lines + lines.replace("1.70", "1.80"))
    assert read_table(file, "task-clock").values == (1.7, 1.8)
    assert read_table(file, "page-faults").values == (49.0, 49.0)
    not_counted = write(tmp_path / "y", "<not counted>,,cycles,0.00%,0,0.00,,\n")
    with pytest.raises(ForeignError, match="'<not counted>' is no number"):
        read_table(not_counted)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ForeignError, match="No such file"):
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
    suite = Xml.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 (our own)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "worse" in (failure.get("message") or "")


def test_what_has_no_verdict_has_not_passed(tmp_path: Path) -> None:
    from xml.etree import ElementTree as Xml

    file = write(tmp_path / "a", "1\n2\n")
    CliRunner().invoke(whylate, ["compare", str(file), str(file), "--junit", str(tmp_path / "x")])
    suite = Xml.parse(tmp_path / "x").getroot()  # noqa: S314 (our own)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
