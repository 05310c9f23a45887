"""No file of Xenomai's latency is read as better than its run was."""

from __future__ import annotations

from pathlib import Path

import pytest
from imported_text import read, refused

from whylate.recording.imported.model import ImportedRun

RTT = "RTT|  00:00:{:02d}  (periodic user-mode task, 1000 us period, priority 99)\n"
END = "---|-----------|-----------|-----------|--------|------|-------------------------\n"


def second(largest: float, worst: float, overruns: int = 0, switches: int = 0) -> str:
    return (
        f"RTD|{1.2:11.3f}|{4.5:11.3f}|{largest:11.3f}|{overruns:8d}|{switches:6d}|"
        f"{0.9:11.3f}|{worst:11.3f}\n"
    )


def end(largest: float, overruns: int = 0, switches: int = 0) -> str:
    return (
        f"{END}RTS|{0.9:11.3f}|{4.5:11.3f}|{largest:11.3f}|{overruns:8d}|{switches:6d}|"
        "    00:10:00/00:10:00\n"
    )


def maxima(runs: list[ImportedRun]) -> list[float]:
    return [round((one.max_ns or 0) / 1000, 3) for one in runs]


def test_an_excerpt_knows_the_worst_before_it_and_not_how_it_ended(tmp_path: Path) -> None:
    (found,) = read(tmp_path, second(88.0, 512.667, 2, 7) + second(89.667, 512.667, 3, 9))
    assert maxima([found]) == [512.667]
    assert found.overruns == 3
    lacks = "; ".join(found.lacks)
    assert "how the run ended" in lacks
    assert "9 mode switches" in lacks
    (found,) = read(tmp_path, second(88.0, 88.0) + end(88.0))
    assert "how the run ended" not in "; ".join(found.lacks)


@pytest.mark.parametrize(
    ("text", "worst"),
    [
        (RTT.format(1) + second(987.667, 987.667) + RTT.format(1) + second(9, 9) + end(9),
         [987.667, 9]),
        (RTT.format(22) + second(9, 99) + RTT.format(43) + second(9, 99) + RTT.format(1)
         + second(9, 99), [99, 99]),
        (second(9, 99) + RTT.format(1) + second(99, 99), [99, 99]),
        (RTT.format(43) + second(9, 9) + RTT.format(43) + second(9, 9), [9, 9]),
        (RTT.format(43) + second(9, 9) + end(9) + second(9, 9) + RTT.format(22) + second(9, 9),
         [9, 9]),
        (second(99, 99) + second(9, 9), [99, 9]),
        (second(9, 9, 3) + second(9, 9, 2), [9, 9]),
        (second(99, 99) + end(9), [99, 9]),
        (second(9, 9, 3) + end(9, 2), [9, 9]),
        (second(9, 9) + end(9) + second(8, 8) + end(8), [9, 8]),
        (RTT.format(1) + second(9, 9) + RTT.format(22) + second(10, 10) + end(10), [10]),
    ],
)  # fmt: skip
def test_no_run_hides_another(text: str, worst: list[float], tmp_path: Path) -> None:
    assert maxima(read(tmp_path, text)) == worst
    assert maxima(read(tmp_path, "".join(f"> {one}\r\n" for one in text.splitlines()))) == worst


def test_a_line_that_a_mail_wrapped_is_whole(tmp_path: Path) -> None:
    for at in range(4, 75):
        for line, worst in ((second(88.0, 512.667, 2, 7), 512.667), (end(88.25, 2, 7), 88.25)):
            last = line.splitlines()[-1]
            if not last[at].isspace():
                continue
            mail = f"> {last[:at].rstrip()}\n> {last[at:].lstrip()}\n>\n"
            (found, other) = read(tmp_path, mail + end(9.0))
            assert maxima([found, other]) == [worst, 9]
            assert found.overruns == 2
            assert "7 mode switches" in found.lacks[-1]


@pytest.mark.parametrize("cut", [5, 17, 29, 40, 47, 50, 57, 62, 66, 78])
def test_a_line_that_was_cut_is_refused(cut: int, tmp_path: Path) -> None:
    line = second(88.0, 512.667)[:cut]
    for after in ("", "\n", "\n\n", "\n" + second(8, 9), "\nIt went on.\n", "\n" + "x" * 300):
        refused(tmp_path, second(8, 9) + line + after, "is an incomplete line of Xenomai's latency")


def test_a_sum_that_was_cut_is_refused_unless_only_its_time_is_missing(tmp_path: Path) -> None:
    line = end(987.667, 1, 2)[len(END) :]
    for cut in (5, 20, 35, 40, 45, 54):
        refused(tmp_path, line[:cut] + "\n" + end(9), "is an incomplete line")
    assert maxima(read(tmp_path, line[:57] + "\n" + end(9))) == [987.667, 9]


def test_lines_of_an_old_xenomai_have_no_mode_switches(tmp_path: Path) -> None:
    seconds = "RTD|       1.500|       4.500|       8.000|       3|       0.900|      12.000\n"
    (found,) = read(tmp_path, seconds)
    assert (maxima([found]), found.overruns) == ([12], 3)
    (found,) = read(
        tmp_path, "RTS|       1.500|       4.500|      13.000|       3|    00:00:10/00:00:10\n"
    )
    assert (maxima([found]), found.overruns) == ([13], 3)


def test_rtais_nanoseconds_are_refused(tmp_path: Path) -> None:
    rtai = "RTD|     -29712|     -29837|       2522|      41225|      45325|          0\n"
    refused(tmp_path, rtai, "is RTAI's, which is not read")
    refused(tmp_path, second(8, 9) + rtai, "is RTAI's, which is not read")


def test_what_switchtest_counts_beside_it_is_no_latency(tmp_path: Path) -> None:
    switches = "RTT|  00:00:01\nRTH|---------cpu|ctx switches|-------total\n"
    switches += "RTD|           0|         568|         568\n"
    assert read(tmp_path, switches) == []
    text = RTT.format(1) + second(8, 99) + switches + second(8, 99) + end(99)
    assert maxima(read(tmp_path, text)) == [99]
