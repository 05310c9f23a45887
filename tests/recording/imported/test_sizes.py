"""However long a run was, its file takes little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from imported_text import refused, unfolded

from whylate.recording.imported import lines
from whylate.recording.imported.read import read_runs
from whylate.recording.imported.recording import read_imported
from whylate.recording.imported.rows import number
from whylate.recording.imported.write import read_importable, write_imported

#: What is promised, on a machine that is not busy with other tests.
MOST_S, MOST_MB = 1.0, 300.0
#: A test machine may be slower by this.
SLOWER = 3.0


def histogram(scale: int) -> str:
    """Return what cyclictest prints of 10,000 million activations, scaled."""
    rows = [(us, 10**10 * us // 5050 * scale // 100) for us in range(1, 101)]
    total = sum(count for _, count in rows)
    mean = sum(us * count for us, count in rows) // total
    body = "".join(f"{us:06d} {count:06d}\n" for us, count in rows)
    return (f"# Histogram\n{body}# Total: {total:09d}\n# Min Latencies: 00001\n"
            f"# Avg Latencies: {mean:05d}\n# Max Latencies: 00100\n"
            "# Histogram Overflows: 00000\n")  # fmt: skip


#: ru_maxrss has the peak of the process that started it, too: VmHWM is its own.
WATCHED = """
import atexit, runpy, sys
from pathlib import Path

def report():
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(line for line in lines if line.startswith("VmHWM:")).split()[1], file=sys.stderr)

atexit.register(report)
runpy.run_module("whylate", run_name="__main__", alter_sys=True)
"""


def measured(*words: object) -> tuple[float, float, int]:
    """Return the CPU time, the peak of memory (MiB), and the status of a command."""
    command = [sys.executable, "-c", WATCHED, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        peak_kib = process.stderr.read().splitlines()[-1]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, int(peak_kib) / 1024, process.returncode


def test_ten_thousand_million_activations_take_no_time_and_no_memory(tmp_path: Path) -> None:
    for name, scale in (("a.txt", 100), ("b.txt", 99)):
        (tmp_path / name).write_text(histogram(scale))
    (run,) = read_runs(tmp_path / "a.txt")
    assert run.n is not None
    assert run.n > 9_990_000_000
    # The first call also fills the caches of the machine.
    assert measured("import", tmp_path / "a.txt", "-o", tmp_path / "r")[2] == 0
    for words, status in (
        (["import", tmp_path / "a.txt", "-o"], 0),
        (["report", tmp_path / "r"], 0),
        (["compare", tmp_path / "a.txt", tmp_path / "b.txt"], None),
        (["bound", tmp_path / "r"], 3),
    ):
        # The shortest of three: a busy machine makes any of them longer.
        calls = [
            measured(*words, *([tmp_path / f"r{n}"] if words[-1] == "-o" else [])) for n in range(3)
        ]
        took, peak_mb, code = min(calls)
        assert status in (None, code), words
        assert took < SLOWER * MOST_S, words
        assert peak_mb < MOST_MB, words


def test_jitterdebuggers_counts_are_not_unfolded(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    cpu = {"histogram": {"3": 8 * 10**8, "5": 1}, "count": 8 * 10**8 + 1, "min": 3, "max": 5,
           "avg": 3.0}  # fmt: skip
    file.write_text(json.dumps({"version": 3, "sysinfo": {}, "cpu": {"0": cpu}}))
    (run,) = read_runs(file)
    assert run.n == 8 * 10**8 + 1
    assert run.counts is not None
    assert run.counts.tolist() == [8 * 10**8, 1]
    (made,) = write_imported(tmp_path / "r", read_importable(file))
    assert read_imported(made).about.rows == 2


def test_a_file_of_many_lines_is_refused_soon_and_the_way_to_cut_it_is_printed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"\n" * (lines.MOST_BYTES - 1))
    began = time.process_time()
    with pytest.raises(Exception, match=r"more than 4,000,000 lines.*split -l 4000000"):
        read_importable(file)
    # It took 150 s.
    assert time.process_time() - began < 20
    with file.open("ab") as more:
        more.write(b"\n" * 2)
    with pytest.raises(Exception, match=r"larger than 256 MiB.*split -C 256m"):
        read_importable(file)


def test_impossible_counts_are_refused(tmp_path: Path) -> None:
    text = histogram(100).replace("000001 1980198", "000001 9" + "0" * 17)
    refused(tmp_path, text, "incomplete|more than 1,000,000,000,000,000 activations")
    for value in ("99999999999999999999", "9" * 400):
        refused(tmp_path, '{"version": 3, "sysinfo": {}, "cpu": {"0": {"histogram": '
                f'{{"{value}": 1}}, "count": 1, "avg": 1, "max": 1}}}}}}',
                "impossible latencies|invalid")  # fmt: skip


def test_what_is_unfolded_is_what_was_counted(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("latency_us,count\n1,2\n3,1\n")
    (run,) = read_runs(file)
    assert unfolded(run) == [1_000, 1_000, 3_000]


@pytest.mark.parametrize("count", [10**15 + 1, 2**53, 2**64])
def test_a_summary_of_impossibly_many_activations_is_refused(count: int, tmp_path: Path) -> None:
    line = f"T: 0 ( 3461) P:99 I:1000 C: {count} Min:      1 Act:    2 Avg:    4 Max:      55\n"
    refused(tmp_path, line, "is damaged: it has an invalid time or count")


def test_a_latency_that_no_clock_has_is_damage(tmp_path: Path) -> None:
    values = enumerate([40, 27, 10**17, 28])
    rows = "".join(f"       0:{cycle:8d}:{us:8d}\n" for cycle, us in values)
    text = f"# /dev/cpu_dma_latency set to 0us\nThread 0 Interval: 1500\n{rows}"
    refused(tmp_path, text, "impossible latencies")


def test_a_number_of_a_hundred_thousand_digits_takes_no_time() -> None:
    began = time.process_time()
    assert number("9" * 100_000 + "x") is None
    assert time.process_time() - began < 1
