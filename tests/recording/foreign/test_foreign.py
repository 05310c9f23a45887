"""What other tools wrote is read whole or refused, and what it lacks is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.recording.foreign.model import ForeignError, ForeignRun
from whylate.recording.foreign.read import read_foreign

HERE = Path(__file__).parent


def read(name: str) -> ForeignRun:
    (found,) = read_foreign(HERE / name)
    return found


def lacks(found: ForeignRun) -> str:
    return "; ".join(found.lacks)


def test_cyclictests_summary_has_a_mean_and_a_maximum() -> None:
    found = read("cyclictest_summary.txt")
    assert found.latency_ns is None
    assert found.max_ns == 84_000
    assert found.average_ns == pytest.approx((300 * 20 + 209 * 43) / 509 * 1000)
    assert "missed during a stall" in lacks(found)


def test_cyclictests_histogram_knows_what_it_dropped() -> None:
    found = read("cyclictest_histogram.txt")
    assert found.latency_ns is not None
    assert found.latency_ns.size == 462 + 450
    assert found.overflow == 38 + 50
    assert found.max_ns == 777_000
    assert found.latency_ns[-1] == 59_000
    assert "beyond the histogram" in lacks(found)


def test_cyclictests_json_does_not_say_what_it_dropped_and_it_is_found() -> None:
    found = read("cyclictest.json")
    assert found.latency_ns is not None
    assert found.latency_ns.size + found.overflow == 1000
    assert found.overflow > 0
    assert found.max_ns == 3_492_000


def test_cyclictests_samples_are_in_order() -> None:
    found = read("cyclictest_samples.txt")
    assert found.latency_ns is not None
    assert found.ordered
    assert found.latency_ns.size == 30


def test_jitterdebuggers_results_are_read() -> None:
    found = read("jitterdebugger.json")
    assert found.tool == "jitterdebugger"
    assert found.latency_ns is not None
    assert found.latency_ns.size + found.overflow == 990 + 981
    assert found.max_ns == 3_670_000


def test_xenomais_lines_are_read_out_of_a_mail() -> None:
    found = read("xenomai_quoted.txt")
    assert found.tool == "Xenomai latency"
    assert found.max_ns == pytest.approx(95_665)
    assert 58_000 < (found.average_ns or 0) < 60_000


def test_each_of_xenomais_sums_is_a_run_with_its_overruns_and_switches(tmp_path: Path) -> None:
    file = tmp_path / "mail"
    file.write_text(
        "> RTH|----lat min|----lat avg|----lat max|-overrun|---msw|\n"
        "> RTS|      0.996|     16.472|     93.579|       0|     0|\n> 03:12:12/03:12:12\n>\n"
        "> RTS|     -0.146|      9.265|     60.964|       3|     2|    08:11:29/08:11:29\n"
    )
    first, second = read_foreign(file)
    assert (first.average_ns, first.max_ns, first.overruns) == (16_472.0, 93_579.0, 0)
    assert second.overruns == 3
    assert "3 overruns" in lacks(second)
    assert "2 mode switches" in lacks(second)


def test_rtlas_histogram_is_that_of_the_thread() -> None:
    found = read("rtla_timerlat.txt")
    assert found.latency_ns is not None
    assert found.latency_ns.size == 1990
    assert found.overflow == 10
    assert found.max_ns == 104_000
    assert set(found.latency_ns.tolist()) == {3_000, 7_000}


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("cyclictest_histogram.txt", "# Total: 000000462", "# Total: 000000463", "not whole"),
        ("rtla_timerlat.txt", "count:     1000      1000", "count:     1000      1001", "whole"),
        ("cyclictest.json", '"cycles": 500', '"cycles": "many"', "no JSON that cyclictest writes"),
        ("jitterdebugger.json", '"count":', '"number":', "no JSON that jitterdebugger writes"),
    ],
)
def test_what_is_damaged_is_refused(
    tmp_path: Path, name: str, old: str, new: str, says: str
) -> None:
    file = tmp_path / name
    text = (HERE / name).read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ForeignError, match=says):
        read_foreign(file)


@pytest.mark.parametrize("text", ["", "1\n2\n", "{}", "{", '{"thread": []}', "\0\xff" * 50])
def test_what_is_of_no_tool_is_nobodys(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x"
    file.write_text(text)
    assert read_foreign(file) == []
