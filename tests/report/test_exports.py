"""Summaries for test farms and trackers: nothing that has no verdict has passed there."""

from __future__ import annotations

import re
from dataclasses import replace

import benchmark_examples
import msgspec
import pytest
from report_examples import cpu_samples, summary_of

from whylate.recording.workloads.command import CommandPoint
from whylate.report.exports.trackers import Kernel, bencher, kcidb, lava, of_benchmark, of_latencies
from whylate.summary.benchmarks.model import Measured
from whylate.summary.benchmarks.summarizer import Measurement
from whylate.summary.model import Requirement, Summary, Trust
from whylate.summary.workloads.command import CommandSummarizer

KERNEL = Kernel("lab", "lab:v6.18")


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summary_of([cpu_samples(0, 20_000)])


@pytest.fixture(scope="module")
def distrusted(summary: Summary) -> Summary:
    return msgspec.structs.replace(summary, trust=Trust("no verdict", ["lost"]), requirements=[])


def test_kcidb_has_a_test_for_each_statistic_and_limit(summary: Summary) -> None:
    found = kcidb(of_latencies(summary), KERNEL)
    assert found["version"] == {"major": 5, "minor": 3}
    tests = {one["path"]: one for one in found["tests"]}
    p99 = tests["whylate.wakeup.p99"]
    assert p99["status"] == "DONE"
    assert p99["number"]["unit"] == "s"
    assert 5e-6 < p99["number"]["value"] < 1e-4
    assert tests["whylate.wakeup.max"]["misc"]["at_least"]
    # A dot would be another level of the tree.
    assert "whylate.wakeup.p99_9" in tests
    limits = {path: one["status"] for path, one in tests.items() if "require" in path}
    assert sorted(limits.values()) == ["DONE", "FAIL", "PASS"]
    assert all(one["id"].startswith("lab:") and one["build_id"] == "lab:v6.18"
               for one in found["tests"])  # fmt: skip
    assert len({one["id"] for one in found["tests"]}) == len(found["tests"])
    # Sent again it is the same; of another build it is another test.
    assert kcidb(of_latencies(summary), KERNEL) == found
    other = kcidb(of_latencies(summary), Kernel("lab", "lab:v6.19"))
    assert not {one["id"] for one in other["tests"]} & {one["id"] for one in found["tests"]}


def test_bencher_has_values_with_their_intervals(summary: Summary) -> None:
    found = bencher(of_latencies(summary))
    p50 = found["bench-imx6 wakeup p50"]["latency"]
    assert p50["lower_value"] < p50["value"] < p50["upper_value"]


def test_an_interval_without_an_upper_end_is_none_in_bencher(summary: Summary) -> None:
    found = of_latencies(summary)
    (p50, *_) = (one for one in found.metrics if one.name == "p50")
    (metric,) = bencher(replace(found, metrics=[replace(p50, high=None)])).values()
    assert set(metric["latency"]) == {"value"}


def test_a_lower_bound_is_no_measurement(summary: Summary) -> None:
    found = of_latencies(summary)
    assert [one.name for one in found.metrics if one.at_least] == ["max"]
    assert not [name for name in bencher(found) if name.endswith(" max")]
    line = "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=wakeup-max RESULT=unknown>"
    assert [one for one in lava(found) if "-max " in one] == [line]


#: Each pair was one name once.
ALIKE = [
    ("p99<50us", "p99<=50us"),
    ("x" * 120 + "1", "x" * 120 + "2"),
    ("a b", "a_b"),
    ("a.b", "a b"),
    ("a\nb", "a b"),
    ("µ", "ß"),
    ("_a", "a"),
]


@pytest.mark.parametrize("names", ALIKE)
def test_names_that_differ_stay_apart(summary: Summary, names: tuple[str, str]) -> None:
    found = of_latencies(summary)
    metrics = [replace(found.metrics[0], name=name) for name in names]
    limits = [Requirement(name, "pass", "") for name in names]
    made = replace(found, metrics=metrics, requirements=limits)
    tests = kcidb(made, KERNEL)["tests"]
    assert len({one["id"] for one in tests}) == len({one["path"] for one in tests}) == 4
    assert len({line.split("TEST_CASE_ID=")[1].split()[0] for line in lava(made)}) == 4
    assert len(bencher(made)) == 2
    # A name is called the same, whatever stands beside it.
    alone = [bencher(replace(made, metrics=[one])) for one in metrics]
    assert {**alone[0], **alone[1]} == bencher(made)


def test_a_directory_that_is_no_utf_8_has_an_id(summary: Summary) -> None:
    made = replace(of_latencies(summary), key="runs/\udcff")
    assert kcidb(made, KERNEL)["tests"][0]["id"].startswith("lab:")


def test_lava_reads_every_line(summary: Summary) -> None:
    signal = re.compile(
        r"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=[A-Za-z0-9_-]+ RESULT=(pass|fail|skip|unknown)"
        r"( MEASUREMENT=-?\d+ UNITS=ns)?>"
    )
    lines = list(lava(of_latencies(summary)))
    found = [signal.fullmatch(line) for line in lines]
    assert all(found)
    results = [match[1] for match in found if match is not None and "require" in match[0]]
    assert results == ["pass", "fail", "unknown"]


def test_what_cannot_be_trusted_has_not_passed(distrusted: Summary) -> None:
    assert {one["status"] for one in kcidb(of_latencies(distrusted), KERNEL)["tests"]} == {"ERROR"}
    assert bencher(of_latencies(distrusted)) == {}
    assert all("RESULT=unknown" in line for line in lava(of_latencies(distrusted)))


def test_a_boards_name_cannot_forge_a_result(summary: Summary) -> None:
    forged = msgspec.structs.replace(
        summary, board="x>\n<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=all RESULT=pass>", workload="w> x"
    )
    assert all(line.count("<LAVA") == 1 and "\n" not in line for line in lava(of_latencies(forged)))
    assert all("\n" not in name for name in bencher(of_latencies(forged)))


def test_trials_go_out_by_the_main_figure_of_each_point() -> None:
    found = of_benchmark(
        msgspec.structs.replace(benchmark_examples.memory(), trust=Trust("ok", []))
    )
    tests = {one["path"]: one for one in kcidb(found, KERNEL)["tests"]}
    # The one that was refused has none.
    assert len(tests) == 11
    one = tests["whylate.memory.copy_1_MiB_random_source"]
    assert one["number"] == {"value": 26e9, "unit": "B/s", "prefix": "metric"}
    metrics = bencher(found)
    assert all(set(value) == {"gb-per-s"} for value in metrics.values())
    lines = list(lava(found))
    assert "TEST_CASE_ID=memory-set_4_MiB RESULT=pass MEASUREMENT=19 UNITS=GB/s" in "".join(lines)
    assert "\x1b" not in "".join(lines) + "".join(metrics)


def test_seconds_are_nanoseconds_to_bencher() -> None:
    measurement = Measurement({"wall_s": Measured(9.5, 9.0, 10.0)})
    command = CommandPoint(("make",))
    point = CommandSummarizer.present("wall time", command, 6, 6, measurement)
    made = msgspec.structs.replace(
        benchmark_examples.memory(), workload="cmd", points=[point], trust=Trust("ok", [])
    )
    (metric,) = bencher(of_benchmark(made)).values()
    assert metric == {"latency": {"value": 9.5e9, "lower_value": 9e9, "upper_value": 1e10}}


def test_benchmarks_without_a_verdict_have_not_passed() -> None:
    found = of_benchmark(benchmark_examples.memory())
    assert bencher(found) == {}
    assert {one["status"] for one in kcidb(found, KERNEL)["tests"]} == {"ERROR"}
    assert all("RESULT=unknown" in line for line in lava(found))
