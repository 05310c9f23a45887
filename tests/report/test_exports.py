"""Summaries for test farms and trackers: nothing that has no verdict has passed there."""

from __future__ import annotations

import re

import msgspec
import pytest
from report_examples import cpu_samples, summary_of

from whylate.report.exports import Kernel, bencher, kcidb, lava
from whylate.summary.model import Summary, Trust

KERNEL = Kernel("lab", "lab:v6.18")


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summary_of([cpu_samples(0, 20_000)])


@pytest.fixture(scope="module")
def distrusted(summary: Summary) -> Summary:
    return msgspec.structs.replace(summary, trust=Trust("no verdict", ["lost"]), requirements=[])


def test_kcidb_has_a_test_for_each_statistic_and_limit(summary: Summary) -> None:
    found = kcidb(summary, KERNEL)
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
    assert kcidb(summary, KERNEL) == found
    other = kcidb(summary, Kernel("lab", "lab:v6.19"))
    assert not {one["id"] for one in other["tests"]} & {one["id"] for one in found["tests"]}


def test_bencher_has_values_with_their_intervals(summary: Summary) -> None:
    found = bencher(summary)
    p50 = found["bench-imx6 wakeup p50"]["latency"]
    assert p50["lower_value"] < p50["value"] < p50["upper_value"]
    # An interval without an upper end is none there.
    assert set(found["bench-imx6 wakeup max"]["latency"]) == {"value"}


def test_lava_reads_every_line(summary: Summary) -> None:
    signal = re.compile(
        r"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=[A-Za-z0-9_-]+ RESULT=(pass|fail|skip|unknown)"
        r"( MEASUREMENT=-?\d+ UNITS=ns)?>"
    )
    lines = list(lava(summary))
    found = [signal.fullmatch(line) for line in lines]
    assert all(found)
    results = [match[1] for match in found if match is not None and "require" in match[0]]
    assert results == ["pass", "fail", "unknown"]


def test_what_cannot_be_trusted_has_not_passed(distrusted: Summary) -> None:
    assert {one["status"] for one in kcidb(distrusted, KERNEL)["tests"]} == {"ERROR"}
    assert bencher(distrusted) == {}
    assert all("RESULT=unknown" in line for line in lava(distrusted))


def test_a_boards_name_cannot_forge_a_result(summary: Summary) -> None:
    forged = msgspec.structs.replace(
        summary, board="x>\n<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=all RESULT=pass>", workload="w> x"
    )
    assert all(line.count("<LAVA") == 1 and "\n" not in line for line in lava(forged))
    assert all("\n" not in name for name in bencher(forged))
