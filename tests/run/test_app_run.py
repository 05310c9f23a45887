"""`whylate measure` of programs on this machine, with programs that know when they were due."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import starts
from c_programs import FLAGS
from whylate.causes.answer import explain_recording
from whylate.causes.window.pieces import cut_window
from whylate.recording.reader import Recording, open_recording
from whylate.recording.recorder.windows import read_windows
from whylate.recording.samples import CpuSamples
from whylate.wire.app_samples import ORIGINS

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

#: A thread that waits at a pipe, into which the other writes every 2 ms.
WAITER = """
import os, threading, time
there, here = os.pipe()
def wait():
    while os.read(there, 1) == b"x":
        pass
thread = threading.Thread(target=wait)
thread.start()
for _ in range(300):
    time.sleep(0.002)
    os.write(here, b"x")
os.write(here, b".")
thread.join()
"""


def measured(directory: Path, *arguments: str) -> tuple[dict[str, Any], Recording]:
    """Measure, and return the JSON that was printed and the recording."""
    done = starts.run(
        [sys.executable, "-m", "whylate", "measure", "--json",
         "-o", str(directory), *arguments],
        capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return json.loads(done.stdout), open_recording(directory)


def woken(recording: Recording) -> dict[int, dict[str, NDArray[Any]]]:
    """Return due times, latencies and origins of each thread."""
    result: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for cpu_series in recording.samples:
        assert cpu_series.woken is not None
        columns = (
            cpu_series.woken.pid,
            cpu_series.due_ns,
            cpu_series.latency_ns,
            cpu_series.woken.origin,
        )
        for pid, due, latency, origin in zip(*(c.tolist() for c in columns), strict=True):
            for name, value in (("due", due), ("latency", latency), ("origin", ORIGINS[origin])):
                result[pid][name].append(value)
    return {
        pid: {name: np.array(values) for name, values in columns.items()}
        for pid, columns in result.items()
    }


@pytest.fixture(scope="module")
def pacer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pacer")
    source = Path(__file__).with_name("pacer.c")
    subprocess.run(["cc", *FLAGS, "-pthread", str(source), "-o", str(folder / "pacer")], check=True)
    return folder / "pacer"


@pytest.fixture(scope="module", params=["bpf", "tracefs"])
def paced(
    request: pytest.FixtureRequest, pacer: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Recording, dict[int, NDArray[np.int64]]]:
    """Return the run of a program that ends by itself, and its own log.

    The log of each thread is an array (deadlines, 2): when it was due, ns, and 1 where that was
    still to come when the thread went to sleep.
    """
    if request.param == "bpf" and not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("this kernel has no BTF")
    folder = tmp_path_factory.mktemp("paced")
    log = folder / "log"
    result = measured(
        folder / "r",
        "--for",
        "60s",
        "--recorder",
        request.param,
        # Where it idles, not every kernel lets tracefs see what is switched to.
        "--load",
        f"memory:{os.cpu_count()}",
        "--",
        str(pacer),
        str(log),
    )
    report = result[1].manifest.recorder
    assert report is not None
    assert report.engine == request.param
    if any(item.code == "hides-idle" for item in result[1].manifest.problems):
        assert result[0]["trust"] == "no verdict"
        pytest.skip("this kernel does not trace switches from the idle thread")
    own: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for line in log.read_text().splitlines():
        pid, due_ns, ahead = map(int, line.split())
        own[pid].append((due_ns, ahead))
    return *result, {pid: np.array(deadlines) for pid, deadlines in own.items()}


def test_each_thread_was_due_when_it_says_itself(paced: Any) -> None:
    _, recording, own = paced
    assert len(own) == 2
    for pid, deadlines in own.items():
        due_ns, ahead = deadlines.T
        thread = woken(recording)[pid]
        timed = np.sort(thread["due"][thread["origin"] == "timer"])
        # To the nanosecond. A deadline that had passed already is none that was slept to: on a
        # busy machine those are most of them.
        assert np.isin(timed, due_ns).all()
        assert np.unique(timed).size == timed.size > ahead.sum() / 2 > 0


def test_the_account_closes_and_the_threads_are_named(paced: Any) -> None:
    output, recording, own = paced
    manifest = recording.manifest
    assert not [item.text for item in manifest.problems if item.fatal]
    assert manifest.app_end is not None
    assert (manifest.app_end.status, manifest.app_end.signal) == (7, 0)
    assert manifest.state == "complete"
    for account, cpu_series in zip(manifest.cpus, recording.samples, strict=True):
        assert account.expected == account.seen + account.dropped
        assert account.seen == cpu_series.latency_ns.size
    names = {item.pid: item.name for item in manifest.threads}
    assert {names[pid] for pid in own} == {"pacer", "wl-fast"}
    assert {item["pid"] for item in output["per_thread"]} == set(woken(recording))
    assert sum(item["seen"] for item in output["per_thread"]) == output["seen"]


def test_what_was_recorded_is_explained_by_the_same_accounting(paced: Any) -> None:
    _, recording, own = paced
    windows = list(read_windows(recording.directory))
    assert windows
    rows: dict[tuple[int, int], tuple[int, int, int]] = {}
    for cpu_series in recording.samples:
        rows |= rows_of(cpu_series)
    for window in windows:
        assert rows[window.cpu, window.activation] == (
            window.pid, window.due_ns, window.latency_ns
        )  # fmt: skip
        pieces = cut_window(window)
        assert sum(piece.length_ns for piece in pieces) == max(window.latency_ns, 0)
    assert {window.pid for window in windows} <= set(woken(recording))
    result = explain_recording(recording)
    assert result.population is not None
    assert sum(item.share for item in result.population.causes) == pytest.approx(1)
    assert all(story.thread for story in result.worst)
    assert set(own) & {story.window.pid for story in result.worst}


def rows_of(cpu_series: CpuSamples) -> dict[tuple[int, int], tuple[int, int, int]]:
    assert cpu_series.woken is not None
    columns = cpu_series.activation, cpu_series.woken.pid, cpu_series.due_ns, cpu_series.latency_ns
    return {
        (cpu_series.cpu, number): (pid, due, latency)
        for number, pid, due, latency in zip(*(c.tolist() for c in columns), strict=True)
    }


def test_a_thread_that_waits_at_a_pipe_is_due_when_it_is_written_to(tmp_path: Path) -> None:
    _, recording = measured(tmp_path / "r", "--for", "60s", "--", sys.executable, "-c", WAITER)
    threads = woken(recording)
    by_origin = {
        origin: max(threads, key=lambda pid: (threads[pid]["origin"] == origin).sum())
        for origin in ("timer", "thread")
    }
    assert by_origin["timer"] != by_origin["thread"]
    waiter = threads[by_origin["thread"]]
    assert (waiter["origin"] == "thread").sum() > 200
    assert (waiter["latency"] >= 0).all()


def test_a_run_without_a_thread_of_that_name_has_no_verdict(tmp_path: Path) -> None:
    output, recording = measured(tmp_path / "r", "--for", "1s", "--comm", "wl-nobody")
    assert output["verdict"] == "no verdict"
    (reason,) = output["trust_reasons"]
    assert reason.startswith("No wakeup of threads named wl-nobody was recorded: is it the right")
    assert recording.manifest.state == "complete"


def test_a_program_that_is_not_there_leaves_no_recording(tmp_path: Path) -> None:
    done = starts.run(
        [sys.executable, "-m", "whylate", "measure", "-o",
         str(tmp_path / "r"), "--", "/nowhere/prog"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "whylate: the program cannot be run: No such file or directory"
    )
    assert list(tmp_path.iterdir()) == []
