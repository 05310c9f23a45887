"""`whylate import`, and how the other verbs treat imported recordings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import starts
from whylate.cli import whylate

IMPORTED = Path(__file__).parents[1] / "recording" / "imported"


def run(*words: object) -> Result:
    """Call a verb; what it raises is what `main` prints as one line."""
    return CliRunner().invoke(whylate, [str(word) for word in words], env={"COLUMNS": "80"})


def imported(name: str, to: Path) -> Path:
    assert run("import", IMPORTED / name, "-o", to).exit_code == 0
    return to


def printed(result: Result) -> str:
    """Return what was printed, without the breaks of lines."""
    return " ".join(result.stdout.split())


def complaint(*words: object) -> tuple[int, str]:
    """Return the exit status and the one line that names the mistake."""
    done = starts.run(
        [sys.executable, "-m", "whylate", *map(str, words)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = [
        line for line in done.stderr.splitlines() if line and not line.startswith(("Usage", "Try"))
    ]
    assert len(lines) == 1, done.stderr
    return done.returncode, lines[0]


def test_a_file_becomes_a_recording_below_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("import", IMPORTED / "rtla_over.txt")
    (made,) = (tmp_path / "recordings").iterdir()
    assert made.name.endswith("-rtla_over.txt")
    assert printed(result).endswith("rtla_over.txt: rtla timerlat, 20,002 activations")


def test_several_files_become_numbered_recordings(tmp_path: Path) -> None:
    files = [IMPORTED / "rtla_over.txt", IMPORTED / "rtla_docs.txt"]
    result = run("import", *files, "-o", tmp_path / "r", "--json")
    document = json.loads(result.stdout)
    assert document["format"] == "whylate-imports"
    assert [Path(made["recording"]).name for made in document["recordings"]] == ["1", "2"]
    assert [made["source"] for made in document["recordings"]] == [file.name for file in files]
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["1", "2"]


def test_one_bad_file_of_several_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("no number\n")
    code, line = complaint("import", IMPORTED / "rtla_over.txt", tmp_path / "bad",
                           "-o", tmp_path / "r")  # fmt: skip
    assert code == 2
    assert "line 1: 'no number' is not a number; nor is it a file of cyclictest" in line
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    code, line = complaint("import", tmp_path / "none", "-o", tmp_path / "r")
    assert code == 2
    assert "No such file" in line


@pytest.mark.parametrize("verb", [["import", "-o"], ["report"], ["compare"], ["bound"]])
def test_a_name_that_no_file_can_have_is_one_line(verb: list[str]) -> None:
    others: dict[str, list[object]] = {"import": [IMPORTED / "rtla_over.txt"], "compare": ["."]}
    last = others.get(verb[0], [])
    said = complaint(*verb, "x" * 300, *last)[1]
    assert "File name too long" in said or "more than 200 bytes" in said


@pytest.mark.parametrize(
    ("words", "lacks"),
    [
        (["bound"], "how rare a late one is: no verdict; whylate measure"),
        (["bound", "--claim", "over(1ms)<1/1h"], "how rare a late one is"),
        (["explain"], "what ran while an activation was late: whylate measure"),
        (["diff", "."], "of which activation: whylate compare"),
    ],
)
def test_what_it_lacks_is_refused_and_the_way_out_is_printed(
    words: list[str], lacks: str, tmp_path: Path
) -> None:
    made = imported("rtla_over.txt", tmp_path / "r")
    code, line = complaint(*words, made)
    assert code == 3
    assert "was imported (rtla timerlat) and lacks" in line
    assert lacks in line


def test_a_directory_of_them_is_refused_too(tmp_path: Path) -> None:
    run("import", IMPORTED / "rtla_over.txt", IMPORTED / "rtla_docs.txt", "-o", tmp_path / "r")
    assert complaint("bound", tmp_path / "r")[0] == 3


def test_report_prints_what_is_known_and_what_is_not(tmp_path: Path) -> None:
    text = printed(run("report", imported("cyclictest_histogram.txt", tmp_path / "r")))
    assert "cyclictest · cyclictest_histogram.txt" in text
    assert "1,000 activations = 912 seen + 88 beyond the histogram's end" in text
    assert "p50 p90 p99 max mean" in text
    assert "36 µs 57 µs ≥ 59 µs 777 µs" in text
    assert "p99.9 needs 10 activations beyond it, that is 10,000 activations" in text
    assert "No intervals: the order in which its latencies came is not known" in text
    assert "missing activations that were missed during a stall" in text


def test_report_of_a_summary_has_no_quantile(tmp_path: Path) -> None:
    result = run("report", imported("xenomai_quoted.txt", tmp_path / "r"), "--json")
    document = json.loads(result.stdout)
    assert document["format"] == "whylate-import-summary"
    assert document["activations"] is None
    assert document["latency_ns"]["p50"]["value"] is None
    assert document["latency_ns"]["max"]["value"] == 95_665
    assert all(figure["low"] is None for figure in document["latency_ns"].values())


def test_quantiles_are_of_latencies_in_order_of_size(tmp_path: Path) -> None:
    result = run("report", imported("cyclictest_samples.txt", tmp_path / "r"), "--json")
    document = json.loads(result.stdout)["latency_ns"]
    assert (document["p50"]["value"], document["max"]["value"]) == (28_000, 74_000)


def test_report_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("3\n1\n2\n")
    run("import", tmp_path / "n", "-o", tmp_path / "r", "--unit", "MB/s")
    text = printed(run("report", tmp_path / "r"))
    assert "3 values, MB/s" in text
    assert "smallest median mean largest sd 1 2 2 3 1" in text


def test_report_of_numbers_says_what_their_file_lacks(tmp_path: Path) -> None:
    (tmp_path / "n").write_text(
        " Performance counter stats for 'x' (5 runs):\n\n"
        "     1,234.50 msec task-clock      #  0.9 CPUs utilized   ( +-  1.20% )\n\n"
        "     1.234567 +- 0.000012 seconds time elapsed  ( +-  0.10% )\n"
    )
    run("import", tmp_path / "n", "-o", tmp_path / "r", "--column", "task-clock")
    text = printed(run("report", tmp_path / "r"))
    assert "1 value of task-clock, msec" in text
    assert "missing the values of the 5 runs: perf prints their mean" in text


@pytest.mark.parametrize(
    ("name", "limit", "verdict", "why", "status"),
    [
        ("cyclictest_histogram.txt", "p99<50us", "fail", "p99 is at least 59 µs", 1),
        ("cyclictest_histogram.txt", "max<100us", "fail", "The largest latency is 777 µs", 1),
        # It is 36 µs: lower than the limit, and never by so much that it passes.
        ("cyclictest_histogram.txt", "p50<1ms", "no verdict", "missed during a stall", 3),
        ("jitterdebugger.json", "p50<1ms", "no verdict", "beyond the histogram's end", 3),
        # Of all of its activations half are at 36 µs or above, and a few less above it.
        ("cyclictest_histogram.txt", "p50<36us", "no verdict", "too near to tell", 3),
        ("cyclictest_histogram.txt", "p99.9<1us", "no verdict", "10,000 activations", 3),
        ("rtla_docs.txt", "max<1ms", "no verdict", "no run can prove a maximum", 3),
        ("rtla_docs.txt", "max<58us", "fail", "58 µs", 1),
        ("rtla_docs.txt", "max<=58us", "no verdict", "no run can prove a maximum", 3),
        ("rtla_docs.txt", "over(1ms)<1/1h", "no verdict", "when it came", 3),
        ("xenomai_quoted.txt", "p99<1ms", "no verdict", "kept no latency but the largest", 3),
    ],
)
def test_a_limit_can_be_broken_and_is_never_shown_to_be_kept(
    name: str, limit: str, verdict: str, why: str, status: int, tmp_path: Path
) -> None:
    made = imported(name, tmp_path / "r")
    result = run("report", made, "--require", limit, "--json")
    assert result.exit_code == status
    (requirement,) = json.loads(result.stdout)["requirements"]
    assert requirement["verdict"] == verdict
    assert why in requirement["why"]
    assert f"{verdict} {limit}" in printed(run("report", made, "--require", limit))


@pytest.mark.parametrize("option", ["--output", "--bencher", "--lava", "--kcidb"])
def test_what_takes_intervals_is_no_option_for_it(option: str, tmp_path: Path) -> None:
    made = imported("rtla_over.txt", tmp_path / "r")
    words = [option] if option == "--lava" else [option, str(tmp_path / "x")]
    if option == "--kcidb":
        words += ["--build", "me:1"]
    result = run("report", made, *words)
    assert result.exit_code == 2
    assert f"{option} is not for imported recordings" in result.stderr
    assert not (tmp_path / "x").exists()


def test_the_completion_offers_it() -> None:
    environment = {"_WHYLATE_COMPLETE": "bash_complete", "COMP_WORDS": "whylate imp",
                   "COMP_CWORD": "1"}  # fmt: skip
    assert "import" in run_completion(environment)
    environment |= {"COMP_WORDS": "whylate import --", "COMP_CWORD": "2"}
    assert "--column" in run_completion(environment)


def run_completion(environment: dict[str, str]) -> str:
    return CliRunner().invoke(whylate, [], prog_name="whylate", env=environment).stdout
