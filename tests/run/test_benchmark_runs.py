"""The workloads switch, memory, clock and cmd on this machine: what must hold anywhere."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import starts
from processes import children_of
from whylate.recording.reader import open_recording

pytestmark = pytest.mark.machine

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="frames and tracepoints are root's to see")
X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="tlb:tlb_flush is of x86")
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SHORT = ["--rounds", "2", "--repetitions", "2"]


def command(directory: Path, benchmark: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "whylate", "bench", benchmark, "-o", str(directory), *words]


def measured(directory: Path, benchmark: str, *words: str, status: int = 0) -> dict[str, Any]:
    """Measure, and return the JSON that was printed."""
    done = starts.run(
        command(directory, benchmark, "--json", *words),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def points(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in document["points"]}


@ROOT
def test_page_frames_are_one_of_the_zero_page_and_as_many_as_pages_once_written(
    tmp_path: Path,
) -> None:
    result = points(
        measured(tmp_path / "r", "memory", "--ops", "copy", "--sizes", "4M",
                 "--source", "untouched,zeros,random", "--block", "2ms", *SHORT)
    )  # fmt: skip
    frames = {name: (item["frames"], item["backing"]) for name, item in result.items()}
    assert frames == {
        "copy 4 MiB, untouched source": (1, "zero page"),
        "copy 4 MiB, zeros source": (1024, "small pages"),
        "copy 4 MiB, random source": (1024, "small pages"),
    }
    assert result["copy 4 MiB, untouched source"]["note"] == "write bandwidth (zero page)"
    assert all(item["target_backing"] == "small pages" for item in result.values())


@ROOT
@pytest.mark.skipif(
    not THP.exists() or "[never]" in THP.read_text(), reason="no transparent huge pages here"
)
def test_huge_pages_are_proved_and_the_system_is_left_as_it_was(tmp_path: Path) -> None:
    before = {path: path.read_text() for path in THP.parent.glob("*") if path.is_file()}
    result = points(
        measured(tmp_path / "r", "memory", "--ops", "copy,set,latency", "--sizes",
                 "4M", "--source", "untouched,random", "--pages", "thp", "--block", "2ms", *SHORT)
    )  # fmt: skip
    assert result["copy 4 MiB, untouched source"]["frames"] == 512
    assert result["copy 4 MiB, untouched source"]["backing"] == "huge zero page"
    assert result["copy 4 MiB, random source"]["backing"] == "transparent huge pages"
    assert result["set 4 MiB"]["backing"] == "transparent huge pages"
    assert result["latency 4 MiB"]["ns_per_read"]["value"] > 0
    assert before == {path: path.read_text() for path in before}


def test_every_way_of_reading_and_writing_gives_a_rate(tmp_path: Path) -> None:
    result = points(
        measured(tmp_path / "r", "memory", "--ops", "copy,set,read", "--routine",
                 "libc,plain", "--sizes", "64k", "--block", "1ms", *SHORT)
    )  # fmt: skip
    assert len(result) == 6
    assert all(item["gb_per_s"]["value"] > 0.01 for item in result.values())


@pytest.mark.parametrize("over", ["pipe", "eventfd", "futex", "socketpair"])
@pytest.mark.parametrize("kind", ["process", "thread"])
def test_a_pinned_ring_switches_at_every_hop(tmp_path: Path, over: str, kind: str) -> None:
    result = points(
        measured(tmp_path / "r", "switch", "--tasks", "1,3", "--over", over,
                 "--kind", kind, "--block", "5ms", *SHORT)
    )  # fmt: skip
    ring, alone = result["3 tasks"], result["1 task"]
    # A task that something else keeps from its CPU switches once more.
    assert 0.9 < ring["switches"] / ring["hops"] < 1.5
    # The difference of two short times may be of either sign on a busy machine.
    assert ring["ns_per_hop"]["value"] > 0
    assert math.isfinite(ring["ns_per_switch"]["value"])
    assert alone["switches"] < 0.5 * alone["hops"]
    assert "ns_per_switch" not in alone


@ROOT
@X86
def test_the_seventh_process_has_no_identifier_left(tmp_path: Path) -> None:
    result = points(
        measured(tmp_path / "r", "switch", "--tasks", "4,7", "--block", "20ms",
                 "--rounds", "3", "--repetitions", "1")
    )  # fmt: skip
    # Beside other work a task is switched away from and back to, which flushes nothing.
    assert result["4 tasks"]["flushes_per_switch"] < 0.2
    assert result["7 tasks"]["flushes_per_switch"] > 0.4
    threads = points(
        measured(tmp_path / "t", "switch", "--tasks", "7", "--kind", "thread",
                 "--block", "20ms", "--rounds", "3", "--repetitions", "1")
    )  # fmt: skip
    # One address space needs one identifier.
    assert threads["7 tasks"]["flushes_per_switch"] < 0.2


def test_a_clock_is_read_and_never_goes_backwards(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "clock", "--clocks", "monotonic,process-cputime", "--via",
        "libc,syscall", "--threads", "1,2", "--block", "5ms", *SHORT,
    )  # fmt: skip
    result = points(document)
    assert all(item["ns_per_call"]["value"] > 0 for item in result.values())
    monotonic = [item for name, item in result.items() if name.startswith("monotonic")]
    assert all(item["backward_steps"] == 0 and item["checks"] > 0 for item in monotonic)
    cpu = result["process-cputime, 1 thread, by libc"]
    # Two threads' CPU times say nothing of each other, and reading them is a system call.
    assert cpu["backward_steps"] is None
    assert cpu["system_call"] is True
    assert result["monotonic, 1 thread, by syscall"]["system_call"] is True


def test_the_times_of_an_emulated_device_are_drawn_anew_in_each_trial(tmp_path: Path) -> None:
    """What 30 services of exponential times take spreads; the same 30 always take the same."""
    measured(
        tmp_path / "r", "clock", "--via", "device", "--service", "1ms", "--think",
        "1us", "--threads", "1", "--rounds", "30", "--repetitions", "1", "--block", "30ms",
    )  # fmt: skip
    rows = open_recording(tmp_path / "r").repetitions
    calls = rows.column("calls")
    assert rows.n == len(set(rows.column("turn").tolist())) == 30
    # Of a Poisson count the variance is its mean.
    assert calls.var() > 0.3 * calls.mean()


def test_strict_reads_of_a_shared_device_are_never_older_than_their_calls(tmp_path: Path) -> None:
    result = points(
        measured(tmp_path / "r", "clock", "--via", "device", "--service", "20us", "--remedy",
                 "direct,relaxed,strict,locked", "--threads", "2,8", "--block", "20ms", *SHORT)
    )  # fmt: skip
    assert len(result) == 8
    for name, item in result.items():
        assert min(item["ages"], item["checks"]) > 0, name
        if "relaxed" not in name:
            assert item["stale"] == 0, name
            assert item["backward_steps"] == 0, name
        assert ("times_direct" in item) is ("direct" not in name)


def test_bulk_work_delays_signals_by_its_chunks_and_the_tuner_keeps_the_cost(
    tmp_path: Path,
) -> None:
    document = measured(
        tmp_path / "r", "bulk", "--chunk", "64,all,tuned", "--rounds", "6", "--repetitions", "1",
        "--block", "60ms",
    )  # fmt: skip
    result = points(document)
    assert set(result) == {"chunks of 64", "all at once", "the tuner's chunks"}
    for item in result.values():
        assert 0 < item["p50_ns"]["value"] <= item["most_ns"]
        assert item["delays"] > 0
        # At most 300 delays come in a repetition.
        assert "p99_ns" not in item
    assert result["chunks of 64"]["work_ns"]["value"] > result["all at once"]["work_ns"]["value"]
    tuned = result["the tuner's chunks"]
    assert tuned["chunk"] > 1
    assert tuned["line_ns"] > 0
    tunings = [turn.tuning for turn in open_recording(tmp_path / "r").manifest.turns]
    tuned_turns = [tuning for tuning in tunings if tuning is not None and tuning.choice]
    # A chunk that is given needs no costs.
    assert len(tuned_turns) == 6
    for tuning in tuned_turns:
        line_ns = tuning.item_ps / 1e3
        # At most 14 % dearer, with a margin for rounding; a line less would cost more than that.
        assert tuning.gap_ns / (tuning.chunk * line_ns) <= 0.141
        assert tuning.gap_ns / (tuning.chunk * line_ns) > 0.139 * (1 - 1 / tuning.chunk)
    assert {finding["code"] for finding in document["findings"]} >= {"tuner"}


def test_a_command_is_timed_and_its_number_found(tmp_path: Path) -> None:
    script = "sleep 0.05; echo took 12.5 ms >&2"
    result = points(
        measured(tmp_path / "r", "cmd", "--rounds", "6", "--value",
                 r"took ([\d.]+)", "--unit", "ms", "--", "sh", "-c", script)
    )  # fmt: skip
    (item,) = result.values()
    assert item["value"] == {"value": 12.5, "low": 12.5, "high": 12.5}
    assert 0.05 < item["wall_s"]["value"] < 5
    assert item["cpu_s"]["value"] < item["wall_s"]["value"]


def test_what_a_command_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    marker = "31.4159"
    script = f"setsid sleep {marker} & echo done"
    began = time.monotonic()
    measured(tmp_path / "r", "cmd", "--rounds", "2", "--", "sh", "-c", script, status=0)
    assert time.monotonic() - began < 25
    ran = subprocess.run(["pgrep", "-f", f"sleep {marker}"], capture_output=True, check=False)
    assert not ran.stdout


def test_a_command_has_an_end_though_what_it_started_writes_for_ever(tmp_path: Path) -> None:
    script = "yes & sleep 0.1; echo over"
    document = measured(tmp_path / "r", "cmd", "--rounds", "2", "--", "sh", "-c", script)
    assert points(document)["wall time"]["wall_s"]["value"] >= 0.1
    assert not _pids("yes")


@ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_who_is_shown_no_frames_is_told_so_however_large_the_buffer(tmp_path: Path) -> None:
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin",
         *command(tmp_path / "r", "memory", "--json", "--ops", "copy",
                  "--sizes", "32M", "--source", "random,untouched", "--block", "2ms", *SHORT)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    result = points(json.loads(done.stdout))
    written = result["copy 32 MiB, random source"]
    assert (written["backing"], written["frames"]) == ("small pages", None)
    # Of what was never written nobody knows then what is copied.
    assert "only root can see" in result["copy 32 MiB, untouched source"]["refused"]


def test_a_command_that_fails_has_no_verdict_and_keeps_what_there_is(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "cmd", "--rounds", "9", "--", "sh", "-c",
        f"test -e {tmp_path}/once && exit 7; touch {tmp_path}/once", status=3,
    )  # fmt: skip
    assert document["verdict"] == "no verdict"
    assert "status 7, and was not run again" in document["trust_reasons"][0]
    recording = open_recording(tmp_path / "r")
    assert recording.repetitions.n == 2
    assert [item.text for item in recording.manifest.problems if item.fatal] == []


REFUSED = [
    (["memory", "--ops", "copy", "--sizes", "4T"], "MiB of free memory"),
    (["memory", "--sizes", "2G", "--pages", "hugetlb"], "not reserved"),
    (["cmd", "--", "/no/such/program"], "cannot run /no/such/program"),
    (["switch", "--tasks", "4000", "--set-size", "1G"], "MiB of free memory"),
    (["memory", "--counters", "r1ffff:u"], "r1ffff:u cannot be counted"),
    (["clock", "--via", "hpet"], "/dev/hpet"),
]  # fmt: skip


def _has_pid_limits_of_its_own() -> bool:
    """Whether a namespace has a pid_max of its own (Linux 6.14), so that we may set it."""
    release = [int(n) for n in os.uname().release.split("-")[0].split(".")[:2]]
    return os.geteuid() == 0 and release >= [6, 14] and shutil.which("unshare") is not None


@pytest.mark.skipif(not _has_pid_limits_of_its_own(), reason="no limit on processes of our own")
def test_more_tasks_than_processes_are_allowed_cost_the_others_nothing(tmp_path: Path) -> None:
    words = command(tmp_path / "r", "switch", "--json", "--tasks",
                    "2,1000", "--block", "2ms", *SHORT)  # fmt: skip
    limited = f"echo 600 > /proc/sys/kernel/pid_max; {shlex.join(words)}; echo; pgrep -c ."
    before = Path("/proc/sys/kernel/pid_max").read_text()
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", limited],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    output, left = done.stdout.rsplit("\n", 2)[:2]
    result = points(json.loads(output))
    assert re.search(r"only \d+ of 1000 tasks could be started", result["1000 tasks"]["refused"])
    # Those that had been started are gone before the next ring is.
    assert result["2 tasks"]["ns_per_hop"]["value"] > 0
    # The shell, and pgrep does not count itself.
    assert int(left) == 1
    assert Path("/proc/sys/kernel/pid_max").read_text() == before


@pytest.mark.parametrize(("words", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_a_board_cannot_do_is_one_line_and_leaves_nothing(
    tmp_path: Path, words: list[str], why: str
) -> None:
    if "hpet" in words and Path("/dev/hpet").exists():
        pytest.skip("this machine has one")
    done = starts.run(
        command(tmp_path / "r", *words),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in (2, 3)
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_point_that_cannot_be_had_costs_the_others_nothing(tmp_path: Path) -> None:
    document = measured(
        tmp_path / "r", "memory", "--ops", "set", "--sizes", "64k,4T", "--block",
        "1ms", *SHORT, status=3,
    )  # fmt: skip
    result = points(document)
    assert result["set 64 KiB"]["gb_per_s"]["value"] > 0
    assert "MiB of free memory" in result["set 4 TiB"]["refused"]
    assert document["trust"] == "no verdict"


def test_software_events_are_counted_beside_the_time(tmp_path: Path) -> None:
    result = points(
        measured(tmp_path / "r", "cmd", "--rounds", "2", "--counters",
                 "page-faults,task-clock", "--", "true")
    )["wall time"]  # fmt: skip
    assert result["counts"]["page-faults"]["value"] > 10
    assert result["counts"]["task-clock"]["value"] > 10_000


def test_ctrl_c_ends_a_trial_at_once_and_keeps_those_before(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path / "r", "cmd", "--rounds", "50", "--", "sh", "-c",
                "sleep 0.2; test -e /no || sleep 0.1"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        time.sleep(4)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert process.returncode == 3, errors
    recording = open_recording(tmp_path / "r")
    assert recording.manifest.state == "interrupted"
    assert 1 <= recording.repetitions.n < 50


def test_a_probe_that_is_killed_takes_its_trial_along(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path / "r", "cmd", "--rounds", "3", "--", "sh", "-c",
                "sleep 27.1828"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 20
        while not (result := _pids("sleep 27.1828")) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert result
        (probe,) = children_of(process.pid)
        os.kill(probe, signal.SIGKILL)
        process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while _pids("sleep 27.1828") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _pids("sleep 27.1828")
    assert open_recording(tmp_path / "r").manifest.state == "cut"


def _pids(line: str) -> list[str]:
    result = subprocess.run(
        ["pgrep", "-f", f"^{line}$"], capture_output=True, text=True, check=False
    )
    return result.stdout.split()


def test_a_copy_of_a_run_of_a_command_is_no_second_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        measured(tmp_path / name, "cmd", "--rounds", "2", "--", "true")
    shutil.copytree(tmp_path / "a", tmp_path / "c")

    def compared(first: str, second: str) -> tuple[int, str]:
        done = starts.run(
            [sys.executable, "-m", "whylate", "compare", tmp_path / first, tmp_path / second],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, " ".join(done.stderr.split())

    status, printed = compared("a", "c")
    assert (status, "one and the same run" in printed) == (2, True)
    status, printed = compared("a", "b")
    assert "one and the same run" not in printed
