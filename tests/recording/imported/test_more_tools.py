"""What the corpus has no file of: each text here is made up, as the tool's source prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from imported_text import read, refused, unfolded

from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import Table, read_table
from whylate.recording.imported.read import read_runs
from whylate.recording.imported.write import read_importable

WINDOW = """\
hwlatdetect:  test duration 60 seconds
   detector: tracer
   parameters:
        Latency threshold: 10us
        Sample window:     1000000us
        Sample width:      500000us
     Non-sampling period:  500000us
        Output File:       None

Starting test
test finished
Max Latency: {largest}
Samples recorded: {n}
Samples exceeding threshold: {n}
"""


def test_hwlatdetect_knows_only_what_is_above_its_threshold(tmp_path: Path) -> None:
    (none,) = read(tmp_path, WINDOW.format(largest="Below threshold", n=0))
    assert (none.max_ns, none.n) == (None, None)
    assert "gaps up to the threshold of 10 µs" in none.lacks
    assert any("50 % of the time" in text for text in none.lacks)
    samples = (
        "ts: 1787951679.284904730, inner:17, outer:1, cpu:0\n"
        "ts: 1787951680.284904730, inner:11, outer:12\n"
    )
    (some,) = read(tmp_path, WINDOW.format(largest="17us", n=2) + samples)
    assert unfolded(some) == [12_000, 17_000]
    assert some.max_ns == 17_000
    refused(tmp_path, WINDOW.format(largest="16us", n=2) + samples, "pieces of several runs")
    refused(tmp_path, WINDOW[: WINDOW.index("Max Lat")], "incomplete")


def schbench(runtime: int, largest: int, end: str = "current rps: 1\n") -> str:
    return (
        f"Wakeup Latencies percentiles (usec) runtime {runtime} (s) "
        f"({runtime * 1000} total samples)\n"
        f"\t  50.0th: 8          (1 samples)\n\t* 99.0th: 20         (1 samples)\n"
        f"\t  min=1, max={largest}\n"
        f"RPS percentiles (requests) runtime {runtime} (s) (3 total samples)\n"
        f"\t* 50.0th: 6984       (2 samples)\n\t  min=1, max=9999\n{end}"
    )


def test_of_schbenchs_interim_results_the_last_counts(tmp_path: Path) -> None:
    end = "average rps: 1\n"
    one = schbench(10, 50) + schbench(20, 70) + schbench(30, 90, end)
    (found,) = read(tmp_path, one)
    assert (found.max_ns, found.activations) == (90_000, 30_000)
    assert dict(found.quantiles_ns) == {"p50": 8_000, "p99": 20_000}
    assert [run.max_ns for run in read(tmp_path, one + schbench(10, 40, end))] == [90_000, 40_000]
    refused(tmp_path, one.replace("min=1, max=90", ""), "they are incomplete")


TOP = """\
                                     Timer Latency
  0 00:00:{seconds:02d}   |          IRQ Timer Latency ({unit})        |         Thread Timer Latency ({unit})
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
  0 #{n}     |        0         0         0         3 |        1         1         7        {most}
  1 #{n}     |        0         0         0         3 |        -         -         -         -
"""  # noqa: E501 (it is as rtla prints it)


def test_of_rtlas_top_the_last_screen_counts_and_cpus_without_a_thread_do_not(
    tmp_path: Path,
) -> None:
    screens = "\x1b[H\x1b[2J".join(
        TOP.format(seconds=seconds, unit="us", n=1000 * seconds, most=20 + seconds)
        for seconds in (1, 2, 3)
    )
    (found,) = read(tmp_path, screens)
    assert (found.n, found.max_ns, found.average_ns) == (3_000, 23_000, 7_000)
    assert found.average_cut_ns == 1_000
    (found,) = read(tmp_path, TOP.format(seconds=9, unit="ns", n=5, most=22))
    assert found.max_ns == 22
    first = TOP.format(seconds=9, unit="us", n=5, most=22)
    assert len(read(tmp_path, first + first)) == 2
    refused(tmp_path, first.replace("         3 |        1", "           |        1"), "incomplete")


HISTOGRAM = """\
RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst
RTD|      1.200|      2.500|     {most}|       0|     0|      1.200|     {most}
---|--param|----range-|--samples
HSD|    min|   1 -  2 |        1
---|--param|----range-|--samples
HSD|    avg|   1 -  2 |      600
HSD|    avg|   2 -  3 |      300
HSD|    avg|  99 -100 |      100
---|--param|----range-|--samples
HSD|    max|  99 -100 |        1
HSH|--param|--samples-|--average--|---stddev--
HSS|    min|         1|      1.000|      0.000
HSS|    avg|      1000|     11.100|      1.460
HSS|    max|         1|     99.000|      0.000
RTS|      1.200|      2.500|     {most}|       0|     0|    00:01:00/00:01:00
"""


def test_xenomais_last_bucket_has_all_that_is_beyond(tmp_path: Path) -> None:
    (found,) = read(tmp_path, HISTOGRAM.format(most="374.075"))
    assert (found.n, found.overflow, found.max_ns) == (1000, 100, 374_075)
    assert unfolded(found) == [2_000] * 600 + [3_000] * 300
    (found,) = read(tmp_path, HISTOGRAM.format(most=" 99.075"))
    assert (found.overflow, unfolded(found)[-1]) == (0, 100_000)
    cut = HISTOGRAM.format(most="374.075").replace("HSD|    avg|   2 -  3 |      300\n", "")
    refused(tmp_path, cut, "700 of 1000 samples: it is incomplete")


def test_a_line_that_somebody_mistyped_is_read_and_reported(tmp_path: Path) -> None:
    text = "x\nRTD|   4.212|   9.852|  57.243|       0|     0|\n07:07:43/07:07:43\n"
    (found,) = read(tmp_path, text)
    assert (found.max_ns, found.average_ns) == (57_243, 9_852)
    assert any("line 2 is headed RTD" in lack for lack in found.lacks)


def test_fios_bins_are_a_histogram(tmp_path: Path) -> None:
    clat = {"min": 1, "max": 900, "mean": 120.5, "N": 5, "bins": {"100": 4, "896": 1}}
    job = {"jobname": "j", "read": {"clat_ns": clat, "total_ios": 5}}
    (found,) = read(tmp_path, json.dumps({"fio version": "fio-3.36", "jobs": [job]}))
    assert unfolded(found) == [100] * 4 + [896]
    assert (found.name, found.max_ns, found.average_ns) == ("j read", 900, 120.5)
    old = {
        "fio version": "fio-2.2",
        "jobs": [
            {
                "jobname": "j",
                "write": {
                    "clat": {"max": 900, "mean": 120.5, "percentile": {"99.000000": 200}},
                    "total_ios": 5,
                },
            }
        ],
    }
    (found,) = read(tmp_path, json.dumps(old))
    assert (found.max_ns, dict(found.quantiles_ns)) == (900_000, {"p99": 200_000})


def test_fios_last_bin_ends_at_the_largest_latency_or_is_damaged(tmp_path: Path) -> None:
    clat = {"max": 900, "mean": 120.5, "N": 5, "bins": {"100": 4, "904": 1, "9000": 0}}
    job = {"jobname": "j", "read": {"clat_ns": clat, "total_ios": 5}}
    (found,) = read(tmp_path, json.dumps({"fio version": "fio-3.36", "jobs": [job]}))
    assert unfolded(found) == [100] * 4 + [900]
    clat["bins"] = {"100": 4, "920": 1}
    with pytest.raises(InputError, match="beyond its maximum"):
        read(tmp_path, json.dumps({"fio version": "fio-3.36", "jobs": [job]}))


def table(path: Path, text: str, column: str | None = None) -> Table:
    file = path / "x"
    file.write_text(text)
    return read_table(file, column)


def test_hyperfine_has_a_value_for_each_repetition(tmp_path: Path) -> None:
    document = {"results": [
        {"command": "sleep 0.1", "mean": 0.1, "times": [0.101, 0.102]},
        {"command": "make", "mean": 0.1, "times": [1.5], "parameters": {"threads": "4"}},
    ]}  # fmt: skip
    text = json.dumps(document, indent=2)
    found = table(tmp_path, text, "sleep 0.1")
    assert (found.values, found.unit, found.tool) == ((0.101, 0.102), "s", "hyperfine")
    assert table(tmp_path, text, "make threads=4").values == (1.5,)
    with pytest.raises(InputError, match=r"'sleep 0.1', 'make threads=4': choose one"):
        table(tmp_path, text)
    document["results"][1]["times"] = [10**400]
    with pytest.raises(InputError, match="a time of hyperfine is no number"):
        table(tmp_path, json.dumps(document), "make threads=4")
    del document["results"][0]["times"]
    with pytest.raises(InputError, match="no single times of hyperfine"):
        table(tmp_path, json.dumps(document), "sleep 0.1")


def test_other_metrics_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    text = "BenchmarkX-8  100  12.5 ns/op  64 B/op  2 allocs/op\n" * 2
    assert table(tmp_path, text).values == (12.5, 12.5)
    assert (table(tmp_path, text, "BenchmarkX-8 B/op").values,) == ((64.0, 64.0),)
    run = {"name": "BM", "run_type": "iteration", "real_time": 5.0, "cpu_time": 4.0,
           "time_unit": "us"}  # fmt: skip
    mean = {**run, "run_type": "aggregate", "aggregate_name": "mean"}
    text = json.dumps({"benchmarks": [run, run, mean]}, indent=1)
    assert (table(tmp_path, text).values, table(tmp_path, text).unit) == ((5.0, 5.0), "us")
    assert table(tmp_path, text, "BM cpu_time").values == (4.0, 4.0)
    with pytest.raises(InputError, match="ended with an error"):
        table(tmp_path, json.dumps({"benchmarks": [{**run, "error_occurred": True}]}, indent=1))


def test_perf_stats_mean_of_several_runs_is_one_value_that_lacks_the_runs(tmp_path: Path) -> None:
    text = (
        " Performance counter stats for 'x' (5 runs):\n\n"
        "     1,234.50 msec task-clock      #  0.9 CPUs utilized   ( +-  1.20% )\n\n"
        "     1.234567 +- 0.000012 seconds time elapsed  ( +-  0.10% )\n"
    )
    found = table(tmp_path, text, "task-clock")
    assert (found.values, found.unit) == ((1234.5,), "msec")
    assert found.lacks == ("the values of the 5 runs: perf prints their mean",)
    with pytest.raises(InputError, match="of perf stat -I"):
        table(tmp_path, '{"interval" : 1.0, "counter-value" : "5", "unit" : "", "event" : "c"}\n')


def test_a_run_of_several_is_chosen_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        schbench(30, 90).replace("RPS", schbench(30, 50).replace("Wakeup", "Request"), 1)
    )
    (chosen,) = read_importable(file, "request")
    assert chosen.data.max_ns == 50_000  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"no run 'x': it has 'wakeup', 'request'"):
        read_importable(file, "x")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x17\x08Dtracing6\0", "trace-cmd report -t .* explain --import"),
        (b"PERFILE2\0\0", "perf sched timehist -i"),
        (b"\x1f\x8b\x08\0", "zcat"),
        (b"# tracer: nop\n#\n bash-1 [000] d... 1.000000: sched_switch: x\n", "explain --import"),
        (b"[1K, 2K)   12 |@@@@   |\n[2K, 4K)   3 |@   |\n", "whose buckets double"),
        (b"     usecs               : count     distribution\n", "whose buckets double"),
        (b"Running in process mode with 10 groups using 40 fds\nTime: 4.905\n", "grep -h Time:"),
        (b"stress-ng: info:  [2436] cyclic:   mean: 3826.39 ns\n", "cyclictest --json"),
    ],
)
def test_what_is_known_and_not_read_is_refused_with_the_way_out(
    data: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "x"
    file.write_bytes(data)
    with pytest.raises(InputError, match=says) as error:
        read_importable(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "trace"),
    [("timerlat-top-docs.txt", "timerlat-top-docs.txt"), ("", "timerlat_trace.txt")],
)
def test_a_table_that_stopped_names_the_file_that_has_the_cause(
    name: str, trace: str, tmp_path: Path
) -> None:
    file = Path(__file__).parents[1] / "corpus" / "files" / "timerlat-top-docs.txt"
    if not name:
        text = file.read_text()
        file = tmp_path / "table"
        file.write_text(text[: text.index("  ## CPU 23")])
    (run,) = read_runs(file)
    assert any(lack.endswith(f"whylate explain --import {trace}") for lack in run.lacks)
