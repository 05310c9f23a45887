"""What other tools wrote is read whole or refused, and what it lacks is known."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from imported_text import unfolded

from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.read import read_runs

HERE = Path(__file__).parent


def read(name: str) -> ImportedRun:
    (found,) = read_runs(HERE / name)
    return found


def lacks(found: ImportedRun) -> str:
    return "; ".join(found.lacks)


def test_cyclictests_summary_has_a_mean_and_a_maximum() -> None:
    found = read("cyclictest_summary.txt")
    assert found.latency_ns is None
    assert found.max_ns == 84_000
    assert found.average_ns == pytest.approx((300 * 20 + 209 * 43) / 509 * 1000)
    assert "missed during a stall" in lacks(found)


def test_cyclictests_histogram_knows_what_it_dropped() -> None:
    found = read("cyclictest_histogram.txt")
    assert len(unfolded(found)) == 462 + 450
    assert found.overflow == 38 + 50
    assert found.max_ns == 777_000
    assert unfolded(found)[-1] == 59_000
    assert "beyond the histogram" in lacks(found)


def test_cyclictests_json_does_not_say_what_it_dropped_and_it_is_found() -> None:
    found = read("cyclictest.json")
    assert len(unfolded(found)) + found.overflow == 1000
    assert found.overflow > 0
    assert found.max_ns == 3_492_000


def test_cyclictests_samples_are_in_order() -> None:
    found = read("cyclictest_samples.txt")
    assert found.latency_ns is not None
    assert found.ordered
    assert len(unfolded(found)) == 30


def test_jitterdebuggers_results_are_read() -> None:
    found = read("jitterdebugger.json")
    assert found.tool == "jitterdebugger"
    assert len(unfolded(found)) + found.overflow == 990 + 981
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
    first, second = read_runs(file)
    assert (first.average_ns, first.max_ns, first.overruns) == (16_472.0, 93_579.0, 0)
    assert second.overruns == 3
    assert "3 overruns" in lacks(second)
    assert "2 mode switches" in lacks(second)


def test_rtlas_histogram_is_that_of_the_thread() -> None:
    found = read("rtla_docs.txt")
    assert len(unfolded(found)) == 5 * 600_002
    assert (found.overflow, found.max_ns) == (0, 58_000)
    assert (unfolded(found)[0], unfolded(found)[-1]) == (1_000, 58_000)
    # Its averages are cut to whole µs: 4.6 of them together, and the histogram has more.
    assert found.average_ns == pytest.approx(5_201.45, abs=0.01)
    assert found.average_cut_ns == 0
    assert "timerlat leaves them out" in lacks(found)


def test_rtlas_histogram_is_that_of_user_space_where_it_came_there() -> None:
    found = read("rtla_user.txt")
    assert len(unfolded(found)) == 600_001 + 2 * 600_000
    assert (unfolded(found)[0], found.max_ns) == (2_000, 19_000)
    stopped = read("rtla_stopped.txt")
    assert unfolded(stopped) == [21_000]
    assert (stopped.max_ns, stopped.average_ns) == (21_000, 21_000)


def test_rtla_knows_what_lies_beyond_its_histogram() -> None:
    found = read("rtla_over.txt")
    assert unfolded(found) == [18_000] * 2 + [19_000] * 2
    assert (found.overflow, found.max_ns) == (19_998, 450_000)
    assert "beyond the histogram" in lacks(found)


def wrapped(text: str, width: int) -> str:
    """Return a text as a mail program wraps and quotes it."""
    lines = []
    for line in text.splitlines():
        rest = line
        while len(rest) > width:
            cut = rest.rindex(" ", 0, width + 1)
            lines.append(rest[:cut].rstrip())
            rest = rest[cut:].lstrip()
        lines.append(rest)
    return "".join(f">>> {line}\n" for line in lines)


@pytest.mark.parametrize("name", ["rtla_docs.txt", "rtla_user.txt", "rtla_over.txt"])
@pytest.mark.parametrize("width", [30, 72])
def test_rtlas_table_is_read_out_of_a_mail_that_wrapped_it(
    tmp_path: Path, name: str, width: int
) -> None:
    mail = tmp_path / "mail"
    mail.write_text(wrapped((HERE / name).read_text(), width))
    (found,), plain = read_runs(mail), read(name)
    assert np.array_equal(found.latency_ns, plain.latency_ns)  # type: ignore[arg-type]
    assert (found.overflow, found.max_ns, found.average_ns) == (
        plain.overflow, plain.max_ns, plain.average_ns,
    )  # fmt: skip


def test_rtla_in_nanoseconds_without_its_summary_and_with_lost_events(tmp_path: Path) -> None:
    text = (HERE / "rtla_over.txt").read_text().replace("microseconds (us)", "nanoseconds (ns)")
    file = tmp_path / "x"
    file.write_text(
        text[: text.index("  count:")] + "12 (0.06%) events missed, results might not be accurate\n"
    )
    (found,) = read_runs(file)
    assert found.latency_ns is not None
    assert (found.latency_ns.max(), found.overflow, found.max_ns) == (19, 19_998, None)
    assert "12 (0.06%) events that were lost" in lacks(found)


def test_rtla_without_threads_is_late_by_its_interrupts(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "Index   IRQ-000   IRQ-001\n2             7         1\nover:         0         0\n"
    )
    (found,) = read_runs(file)
    assert found.latency_ns is not None
    # Its one row may be of a bucket of 2 µs.
    assert unfolded(found) == [3_000] * 8


def test_a_count_of_nine_digits_leaves_no_blank(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "# Time unit is microseconds (us)\nIndex   Thr-000\n3             7 \n"
        "over:100000000 \ncount:100000007 \nmax:       900 \n"
    )
    (found,) = read_runs(file)
    assert found.overflow == 100_000_000


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        ("  Index   IRQ-000   Thr-000   IRQ-001   Thr-001\n", "without --no-header"),
        ("  Index", "without --no-index"),
        ("  over:      9973      9998      9848     10000\n", "no row"),
    ],
)
def test_rtlas_table_without_what_explains_it_is_refused(
    tmp_path: Path, cut: str, says: str
) -> None:
    file = tmp_path / "x"
    file.write_text((HERE / "rtla_over.txt").read_text().replace(cut, ""))
    with pytest.raises(InputError, match=says):
        read_runs(file)


def test_cyclictests_column_of_all_threads_is_not_counted_again(tmp_path: Path) -> None:
    """--histofall: print_hist() adds a column to the rows, the totals, maxima and overflows."""
    lines = []
    for line in (HERE / "cyclictest_histogram.txt").read_text().splitlines():
        words = line.split() or [""]
        if re.fullmatch(r"\d{6}", words[0]):
            of_all = f"\t{int(words[1]) + int(words[2]):06d}"
        elif line.startswith(("# Total", "# Histogram Overflows:")):
            of_all = f" {int(words[-2]) + int(words[-1]):09d}"
        elif line.startswith("# Max Latencies"):
            of_all = f" {max(int(words[-2]), int(words[-1])):05d}"
        else:
            of_all = ""
        lines.append(line + of_all)
    file = tmp_path / "all"
    file.write_text("\n".join(lines))
    (found,), plain = read_runs(file), read("cyclictest_histogram.txt")
    assert np.array_equal(found.latency_ns, plain.latency_ns)  # type: ignore[arg-type]
    assert (found.overflow, found.max_ns, found.average_ns) == (
        plain.overflow, plain.max_ns, plain.average_ns,
    )  # fmt: skip


def test_cyclictests_json_says_where_it_is_in_nanoseconds(tmp_path: Path) -> None:
    file = tmp_path / "x"
    text = (HERE / "cyclictest.json").read_text()
    file.write_text(text.replace('"resolution_in_ns": 0', '"resolution_in_ns": 1'))
    (found,) = read_runs(file)
    assert found.max_ns == 3_492


def test_cyclictests_summary_shows_by_its_columns_where_it_is_in_nanoseconds(
    tmp_path: Path,
) -> None:
    file = tmp_path / "x"
    file.write_text(
        "T: 0 (14950) P:80 I:1000 C:    300 Min:  16021 Act:   21433 Avg:   20002 Max:   56790\n"
    )
    (found,) = read_runs(file)
    assert (found.max_ns, found.average_ns) == (56_790, 20_002)


def test_cyclictests_samples_keep_their_order_and_may_stand_beside_counts_of_smis(
    tmp_path: Path,
) -> None:
    file = tmp_path / "x"
    file.write_text("".join(f"       0:{n:8d}:{late:8d}{0:8d}\n" for n, late in
                            enumerate([40, 27, 0, 90, 28])))  # fmt: skip
    (found,) = read_runs(file)
    assert unfolded(found) == [40_000, 27_000, 0, 90_000, 28_000]
    assert found.ordered


def test_the_largest_of_several_are_no_samples(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("".join(f"       0:{n:8d}:{40 + n:8d}\n" for n in (1, 2, 5, 6, 8)))
    with pytest.raises(InputError, match="--oscope"):
        read_runs(file)


def test_old_results_of_jitterdebugger_are_in_microseconds_and_new_ones_say_it(
    tmp_path: Path,
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text(
        '{"version": 1, "cpu": {"0": {"histogram": {"3": 2, "5": 1}, "count": 3, "min": 3, '
        '"max": 5, "avg": 3.67}}}'
    )
    (found,) = read_runs(old)
    assert found.max_ns == 5_000
    assert "missed during a stall" in lacks(found)
    text = (HERE / "jitterdebugger.json").read_text()
    new.write_text(text.replace('"resolution_in_ns": 1000', '"resolution_in_ns": 1'))
    (found,) = read_runs(new)
    assert found.max_ns == 3_670
    assert "missed during a stall" not in lacks(found)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("cyclictest_histogram.txt", "# Total: 000000462", "# Total: 000000463", "incomplete"),
        ("rtla_over.txt", "count:    10001     10001", "count:    10001     10002", "incomplete"),
        ("cyclictest.json", '"cycles": 500', '"cycles": "many"', "is not the JSON of cyclictest"),
        ("jitterdebugger.json", '"count":', '"number":', "is not the JSON of jitterdebugger"),
        ("jitterdebugger.json", '"max": 3670', '"max": 1e999', "invalid time or count"),
        ("xenomai_quoted.txt", "58.521", "9" * 400 + ".000", "invalid time"),
        ("cyclictest_summary.txt", "Max:      56", f"Max: {'9' * 5000}", "invalid time"),
        ("cyclictest.json", '"17": 3', '"99999999999999999999": 3', "incomplete"),
        ("cyclictest.json", '"17": 3', '"17": -3', "invalid time"),
    ],
)
def test_what_is_damaged_is_refused(
    tmp_path: Path, name: str, old: str, new: str, says: str
) -> None:
    file = tmp_path / name
    text = (HERE / name).read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=says):
        read_runs(file)


@pytest.mark.parametrize("text", ["", "1\n2\n", "{}", "{", '{"thread": []}', "\xff" * 50])
def test_what_is_of_no_tool_is_nobodys(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x"
    file.write_text(text)
    assert read_runs(file) == []


def test_a_pipe_is_refused_for_it_can_be_read_but_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        read_runs(tmp_path / "pipe")
