"""`whylate explain --import`: what a person sees of another tool's trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import starts

DATA = Path(__file__).parents[1] / "recording/traces/data"


def explain(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return starts.run(
        [sys.executable, "-m", "whylate", "explain", *arguments],
        input=given, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_answer_names_the_trace_the_threads_and_the_missing_data() -> None:
    done = explain("--import", str(DATA / "trace-cmd.txt"), "--threshold", "50us", "--worst", "2")
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.decode().split())
    assert "ftrace text: 600 events of 1 CPUs" in shown
    assert "named as those of a program that measures latency" in shown
    assert "thread python3" in shown
    assert "lock:contention_*: waiting for a lock counts as the context that waits" in shown
    assert "a wakeup ends when the CPU is given to the thread" in shown


def test_a_pipe_is_read_as_a_file_is_and_json_has_the_same_figures() -> None:
    path = DATA / "perf.txt"
    arguments = ("--comm", "cyclictest", "--threshold", "20us", "--json")
    by_name = json.loads(explain("--import", str(path), *arguments).stdout)
    by_pipe = json.loads(explain("--import", "-", *arguments, given=path.read_bytes()).stdout)
    assert by_name == by_pipe
    assert by_name["explained"]
    assert abs(sum(cause["located_share"] for cause in by_name["causes"]) - 1) < 1e-9
    trace = by_name["trace"]
    assert trace["layout"] == "perf script text"
    assert {thread["name"] for thread in trace["threads"]} == {"cyclictest"}
    assert any("lock:contention" in missing["what"] for missing in trace["lacks"])


def test_an_episode_of_a_latency_tracer_has_nothing_to_compare_with() -> None:
    done = explain("--import", str(DATA / "pc-rt-wakeup_rt.txt"), "--worst", "1")
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.decode().split())
    assert "wakeup_rt: 48.12 ms on CPU 0, migration/0" in shown
    assert "nothing to compare with" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--import", "/nonexistent"], "cannot be read: No such file"),
        (["--import", str(DATA)], "is a directory"),
        (["--import", "/bin/true"], "is no text"),
        (["--import", str(DATA / "pc-rt-events.txt")], "choose one with --comm NAME or --pid N"),
        (["--import", str(DATA / "perf.txt"), "recordings/x"], "give a RECORDING, or a trace"),
        (["recordings/x", "--comm", "a"], "--comm and --pid are for traces"),
        ([], "give a RECORDING, or a trace"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], message: str) -> None:
    done = explain(*arguments)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_a_name_without_wakeups_is_not_explained() -> None:
    done = explain("--import", str(DATA / "perf.txt"), "--comm", "nobody")
    assert done.returncode == 3
    assert "no wakeup of the chosen threads is in the trace" in done.stdout.decode()


def test_control_characters_of_a_trace_are_escaped() -> None:
    hostile = (DATA / "ftrace.txt").read_bytes().replace(b"python3", b"\x1b[2J\x07py")
    for arguments in ([], ["--json"]):
        done = explain("--import", "-", "--threshold", "20us", "--worst", "5",
                       "--comm", "cyclictest", *arguments, given=hostile)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in done.stdout
        assert b"\x07" not in done.stdout


@pytest.mark.parametrize("how", [["--import"], []])
def test_a_name_that_no_file_can_have_is_one_line(how: list[str]) -> None:
    done = explain(*how, "x" * 300)
    assert done.returncode == 2
    assert b"File name too long" in done.stderr
    assert done.stderr.count(b"\n") == 1
