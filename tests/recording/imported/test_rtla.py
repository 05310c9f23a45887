"""No file of rtla timerlat hist is read as better than its run was."""

from __future__ import annotations

import time
from pathlib import Path

import imported_text
import pytest
from imported_text import refused, unfolded

from whylate.recording.imported.model import ImportedRun
from whylate.recording.imported.read import read_runs

HERE = Path(__file__).parent
OVER = (HERE / "rtla_over.txt").read_text()
DOCS = (HERE / "rtla_docs.txt").read_text()


def read(tmp_path: Path, text: str) -> ImportedRun:
    (found,) = imported_text.read(tmp_path, text)
    return found


def table(rows: dict[int, int], over: int = 0, summary: tuple[int, int] | None = None) -> str:
    lines = [f"{index:<6d}{count:9d} " for index, count in rows.items()]
    lines.append(f"over: {over:9d} ")
    if summary is not None:
        average, largest = summary
        lines += [f"count:{sum(rows.values()) + over:9d} ", f"min:  {1:9d} "]
        lines += [f"avg:  {average:9d} ", f"max:  {largest:9d} "]
    return "# Time unit is microseconds (us)\nIndex   Thr-000\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        OVER + OVER.replace("  # RTLA timerlat histogram\n", ""),
        # --no-header, and a file that was put together of pieces.
        OVER + OVER[OVER.index("  6    ") :],
        OVER[: OVER.index("  ALL:")] + OVER[OVER.index("  6    ") :],
        OVER.replace("  7  ", "  6  "),
        OVER.replace("  count:", "  max:          6        18         8        19\n  count:", 1),
    ],
)
def test_several_histograms_are_refused(text: str, tmp_path: Path) -> None:
    refused(tmp_path, text, "several histograms of rtla without a title between them: split it")


def test_several_histograms_with_their_titles_are_as_many_runs(tmp_path: Path) -> None:
    first, second, third = imported_text.read(tmp_path, OVER + DOCS + OVER)
    assert (first.n, second.n, third.n) == (20_002, 5 * 600_002, 20_002)
    assert (first.max_ns, second.max_ns) == (450_000, 58_000)
    nanoseconds = DOCS.replace("microseconds (us)", "nanoseconds (ns)")
    first, second = imported_text.read(tmp_path, nanoseconds + OVER)
    assert (first.max_ns, second.max_ns) == (58, 450_000)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  max:        428       450       341       371\n", ""),
        ("  max:        428       450       341       371\n", "  max:        428       450\n"),
        ("max:        428       450       341", "max:        428        18       341"),
        (
            "  18            0         2        26         0",
            "  18            0         2        26",
        ),
    ],
)
def test_a_histogram_that_was_cut_is_refused(old: str, new: str, tmp_path: Path) -> None:
    assert old in OVER
    refused(tmp_path, OVER.replace(old, new), "incomplete")


def test_without_its_summary_a_row_that_was_cut_is_refused(tmp_path: Path) -> None:
    bare = OVER[: OVER.index("  count:")]
    assert read(tmp_path, bare).overflow == 19_998
    refused(tmp_path, bare.replace("         1\n  over", "\n  over"), "3 of 4 columns")
    refused(tmp_path, bare.rstrip()[:-6], "3 of 4 columns")


def test_a_latency_is_not_taken_for_the_beginning_of_its_bucket(tmp_path: Path) -> None:
    found = read(tmp_path, table({0: 2, 20: 3, 40: 1}, 0, (18, 44)))
    assert unfolded(found) == [19_000] * 2 + [39_000] * 3 + [44_000]
    assert "a bucket of up to 20 µs" in "; ".join(found.lacks)
    found = read(tmp_path, table({0: 2, 20: 3, 40: 1}))
    assert found.latency_ns is not None
    assert found.latency_ns.max() == 59_000


def test_one_bucket_is_known_by_the_largest_in_it(tmp_path: Path) -> None:
    found = read(tmp_path, table({0: 4}, 0, (3, 7)))
    assert unfolded(found) == [7_000] * 4
    assert "a bucket of up to 8 µs" in "; ".join(found.lacks)
    refused(tmp_path, table({0: 4}), "how wide its buckets are")
    found = read(tmp_path, table({0: 4}, 0, (0, 0)))
    assert unfolded(found) == [0] * 4


@pytest.mark.parametrize("name", ["rtla_docs.txt", "rtla_user.txt", "rtla_stopped.txt"])
def test_buckets_of_one_unit_are_exact(name: str) -> None:
    (found,) = read_runs(HERE / name)
    assert "bucket" not in "; ".join(found.lacks)


def test_a_heading_of_many_lines_takes_no_long_time(tmp_path: Path) -> None:
    lines = "".join(f"IRQ-{cpu:03d}\n" for cpu in range(1, 20_000))
    began = time.monotonic()
    refused(tmp_path, "Index IRQ-000\n" + lines, "no row")
    # It took more than a minute when each line was joined to all before.
    assert time.monotonic() - began < 20
    refused(tmp_path, "Index IRQ-000\n" + "IRQ-001\n" * 30_000, "more than 24,576 columns")


@pytest.mark.parametrize("row", ["20", "127"])
@pytest.mark.parametrize("second", ["1", "10"])
def test_a_histogram_beyond_its_own_maximum_is_refused(
    row: str, second: str, tmp_path: Path
) -> None:
    text = (
        "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n"
        f"Index   CPU-000\n0           40\n{second:8}     2\n{row:8}    7\n"
        "over:        0\ncount:      49\nmin:         0\navg:         3\nmax:         9\n"
    )
    refused(tmp_path, text, "is damaged: its histogram has latencies beyond its maximum")
