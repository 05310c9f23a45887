"""No file of cyclictest is read as better than its run was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from imported_text import read, refused, unfolded

HERE = Path(__file__).parent
HISTOGRAM = (HERE / "cyclictest_histogram.txt").read_text()
SAMPLES = (HERE / "cyclictest_samples.txt").read_text()


def line(pid: int, cycles: int, largest: int, thread: int = 0, smallest: int = 16) -> str:
    return (
        f"T:{thread:2d} ({pid:5d}) P:80 I:1000 C:{cycles:7d} "
        f"Min:{smallest:7d} Act:{21:5d} Avg:{20:5d} Max:{largest:8d}\n"
    )


@pytest.mark.parametrize(
    "end",
    [
        "000042 0000",
        "# Total:",
        "# Min Latencies:",
        "# Max Latencies: 0077",
        "# Histogram Overflows:",
        "# Histogram Overflows: 0003",
        "# Histogram Overflows: 00038",
        "# Histogram Overflows: 00038 0005",
    ],
)
def test_a_histogram_that_was_cut_is_refused(end: str, tmp_path: Path) -> None:
    cut = HISTOGRAM[: HISTOGRAM.index(end.partition(":")[0])] + end
    refused(tmp_path, cut, "the histogram is incomplete")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Max Latencies: 00777 00082", "Max Latencies: 00777 00058"),
        ("Max Latencies: 00777 00082", "Max Latencies: 00777 00059"),
        ("Max Latencies: 00777 00082", "Max Latencies: 00777"),
        ("Max Latencies: 00777 00082", "Max Latencies: 00777 00082 00777"),
        ("Overflows: 00038 00050", "Overflows: 00038 00000"),
        ("Overflows: 00038 00050", "Overflows: 00038"),
        ("Total: 000000462 000000450", "Total: 000000450 000000462"),
        ("# Avg Latencies: 00035 00042\n", ""),
        ("# Avg Latencies: 00035 00042", "# Avg Latencies: 00035"),
        ("000042 000007	000014\n", "000042 000007	000014\n000042 000000	000000\n"),
        ("# Histogram\n", "# Histogram\n000070 000001	000000\n# Histogram\n"),
        ("000042 000007	000014", "000042 000007"),
        # Without the sums the averages show that rows are missing, where none is beyond the end.
        ("# Total: 000000462 000000450\n# Min", "# Avg Latencies: 00035 00042\n# Min"),
    ],
)
def test_a_histogram_that_contradicts_itself_is_refused(old: str, new: str, tmp_path: Path) -> None:
    assert old in HISTOGRAM
    refused(tmp_path, HISTOGRAM.replace(old, new), "the histogram is incomplete")


def test_a_histogram_without_overflow_has_its_largest_latency_in_it(tmp_path: Path) -> None:
    text = HISTOGRAM.replace("00038 00050", "00000 00000")
    (found,) = read(tmp_path, text.replace("00777 00082", "00059 00059"))
    assert (found.max_ns, found.overflow) == (59_000, 0)
    for largest in ("00058 00059", "00059 00058", "00059 00060"):
        refused(tmp_path, text.replace("00777 00082", largest), "the histogram is incomplete")


def test_a_histogram_without_its_heading_is_whole_or_refused(tmp_path: Path) -> None:
    bare = HISTOGRAM.replace("# Histogram\n", "")
    (found,) = read(tmp_path, bare)
    assert (found.max_ns, found.overflow) == (777_000, 88)
    refused(tmp_path, bare[: bare.index("# Total")], "incomplete")


def test_columns_of_long_numbers_are_not_of_cyclictest(tmp_path: Path) -> None:
    assert read(tmp_path, "100000 123456\n100001 123457\n") == []
    assert read(tmp_path, "012345 123456\n") == []


BARE = HISTOGRAM.replace("# Histogram\n", "")


@pytest.mark.parametrize(
    ("runs", "largest_us"),
    [
        ([line(100, 1000, 60), line(200, 1000, 9056), line(300, 1000, 58)], [60, 9056, 58]),
        ([line(8, 9, 60), line(9, 9, 71, 1), line(8, 9, 59), line(9, 9, 58, 1)], [71, 59]),
        # In a container each has the same pid.
        ([line(8, 1000, 60), line(8, 1000, 61)], [60, 61]),
        ([line(8, 1000, 60), line(9, 1001, 61)], [60, 61]),
        ([line(8, 1000, 9056), line(8, 1001, 58)], [9056, 58]),
        ([line(8, 1000, 58), line(8, 900, 9056)], [58, 9056]),
        ([line(8, 1000, 58), line(8, 1001, 9056, smallest=17)], [58, 9056]),
        ([HISTOGRAM, HISTOGRAM], [777, 777]),
        ([HISTOGRAM, BARE], [777, 777]),
        ([line(8, 1000, 778), HISTOGRAM], [778, 777]),
        ([HISTOGRAM, line(8, 1000, 5)], [777, 5]),
        ([SAMPLES, SAMPLES], [74, 74]),
        ([SAMPLES, line(8, 1000, 75)], [74, 75]),
        ([HISTOGRAM, "       0:       0:     778\n"], [777, 778]),
        ([SAMPLES, HISTOGRAM, line(8, 1000, 75)], [74, 777, 75]),
    ],
)
def test_several_runs_in_a_file_are_as_many_runs(
    runs: list[str], largest_us: list[int], tmp_path: Path
) -> None:
    found = read(tmp_path, "".join(runs))
    assert [run.max_ns for run in found] == [us * 1000 for us in largest_us]


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([HISTOGRAM, BARE[14 * 100 :]], "incomplete"),
        ([HISTOGRAM, HISTOGRAM[: len(HISTOGRAM) // 2]], "incomplete"),
        ([SAMPLES, "       0:      10:      27\n"], "cycle 10 of thread 0 after cycle 29"),
        ([line(8, 1000, 60), line(9, 1000, 9056, 1).replace("   21", "      21").replace(
            "   20", "      20")], "threads in µs and threads in ns.*csplit -z"),
    ],
)  # fmt: skip
def test_pieces_of_several_runs_are_refused(runs: list[str], says: str, tmp_path: Path) -> None:
    refused(tmp_path, "".join(runs), says)


def test_what_it_prints_while_it_runs_is_one_run(tmp_path: Path) -> None:
    live = [
        line(0, 0, 0, smallest=1_000_000) + line(0, 0, 0, 1, smallest=1_000_000),
        line(28_672, 9, 79) + line(28_673, 6, 104, 1),
        line(28_672, 9, 79) + line(28_673, 16, 122, 1),
        line(28_672, 30, 87, smallest=15) + line(28_673, 26, 203, 1),
    ]
    text = "".join(f"\x1b[4Apolicy: fifo: loadavg: 2.95\n\n{one}" for one in live)
    (found,) = read(tmp_path, text)
    assert found.max_ns == 203_000
    (found,) = read(tmp_path, line(0, 0, 0) + line(28_672, 30, 700) + HISTOGRAM)
    assert found.overflow == 88


def test_a_line_that_a_mail_wrapped_is_read_and_one_that_was_cut_is_refused(
    tmp_path: Path,
) -> None:
    first, second = line(8, 300, 56), line(9, 209, 84, 1)
    for at in (" Max:", "     84", "Avg:"):
        mail = first + second.replace(at, "\n" + at)
        (found,) = read(tmp_path, "".join(f">>> {one}\r\n" for one in mail.splitlines()))
        assert found.max_ns == 84_000
    for cut in (second[:-2], second[:-8], second[:-20], second[:-20] + "\n" + first):
        refused(tmp_path, first + cut, "is an incomplete line of cyclictest")


NANOSECONDS = line(8, 300, 56_790).replace("   21", "   21433").replace("   20", "   20002")


def test_the_unit_is_seen_by_both_columns(tmp_path: Path) -> None:
    (found,) = read(tmp_path, NANOSECONDS)
    assert (found.max_ns, found.average_ns) == (56_790, 20_002)
    (found,) = read(tmp_path, NANOSECONDS.replace("   21433", "12345678"))
    assert (found.max_ns, found.average_ns) == (56_790, 20_002)
    (found,) = read(tmp_path, line(8, 300, 12_345_678).replace("   21", "12345678"))
    assert (found.max_ns, found.average_ns) == (12_345_678_000, 20_000)


@pytest.mark.parametrize(
    "text",
    [
        " ".join(NANOSECONDS.split()),
        " ".join(line(8, 300, 56).split()),
        # Four digits of -N look like five that were filled up.
        " ".join(NANOSECONDS.replace("21433", "2143").replace("20002", "2000").split()),
        NANOSECONDS.replace("   21433", "12345678").replace("   20002", "12345678"),
    ],
)
def test_a_summary_that_lost_its_blanks_does_not_say_its_unit(text: str, tmp_path: Path) -> None:
    refused(tmp_path, text, "does not show its unit")


def test_a_time_of_day_is_no_thread_and_no_cycle(tmp_path: Path) -> None:
    log = "".join(f"10:{minute:02}:15 135\n" for minute in range(30))
    assert read(tmp_path, log) == []
    assert read(tmp_path, log.replace(" ", "        ")) == []
    assert read(tmp_path, "".join(f"10:01:      {n}\n" for n in range(15, 20))) == []
    assert read(tmp_path, "".join(f"10:      {n}:15\n" for n in range(15, 20))) == []
    (found,) = read(tmp_path, log + line(8, 300, 56))
    assert (found.latency_ns, found.max_ns) == (None, 56_000)


def test_samples_that_lost_their_blanks_take_a_line_of_cyclictest(tmp_path: Path) -> None:
    collapsed = "".join(f"{' '.join(one.split())}\n" for one in SAMPLES.splitlines())
    (found,) = read(tmp_path, collapsed)
    assert (len(unfolded(found)), found.max_ns) == (30, 74_000)
    bare = "".join(one for one in collapsed.splitlines(keepends=True) if one.startswith("0:"))
    assert read(tmp_path, bare) == []
    # Less what stands before the first column they are still as wide as it prints them.
    (found,) = read(tmp_path, "".join(f"> {one.strip()}\n" for one in SAMPLES.splitlines()[4:]))
    assert found.max_ns == 74_000


@pytest.mark.parametrize("command", ["signaltest -t 2", "/usr/bin/oslat cyclictest", "", None])
def test_json_of_other_tools_of_rt_tests_is_refused(command: str | None, tmp_path: Path) -> None:
    document = json.loads((HERE / "cyclictest.json").read_text())
    document["cmdline:"] = command
    if command is None:
        del document["cmdline:"]
    refused(tmp_path, json.dumps(document), "of rt-tests only cyclictest is read")


def test_json_may_name_the_path_of_cyclictest_and_must_not_contradict_itself(
    tmp_path: Path,
) -> None:
    text = (HERE / "cyclictest.json").read_text()
    (found,) = read(tmp_path, text.replace('"cyclictest ', '"/usr/local/bin/cyclictest '))
    assert found.max_ns == 3_492_000
    document = json.loads(text)
    for one in document["thread"].values():
        one["max"] = 40
    refused(tmp_path, json.dumps(document), "the histogram is incomplete")


def test_a_third_thread_is_no_column_of_all_threads(tmp_path: Path) -> None:
    lines = []
    for one in HISTOGRAM.splitlines():
        more = {"# T": " 000000000", "# M": " 09000", "# H": " 00005", "000": "\t000000"}
        lines.append(one + (more.get(one[:3], "") if one[-1:].isdecimal() else ""))
    refused(tmp_path, "\n".join(lines), "it has 3 columns and 2 averages")


#: As rt-tests 2.8 and later print it.
NEW = """\
# Histogram
000003 000004\t000001
000005 000002\t000000
000009 000000\t000001
# Min Latencies: 00003 00003
# Avg Latencies: 00003 00006
# Max Latencies: 00005 00009
# Histogram Overflows: 00000 00000
# Histogram Overflow at cycle number:
# Thread 0:
# Thread 1:
"""


def test_rows_that_no_thread_has_are_left_out_since_2_8(tmp_path: Path) -> None:
    (found,) = read(tmp_path, NEW)
    assert unfolded(found) == [3_000] * 5 + [5_000] * 2 + [9_000]
    assert (found.max_ns, found.overflow, found.average_cut_ns) == (9_000, 0, 0)
    assert found.average_ns == pytest.approx(34 / 8 * 1000)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("000003 000004\t000001\n", ""),
        ("000005 000002\t000000\n", ""),
        ("000009 000000\t000001\n", ""),
        ("# Avg Latencies: 00003 00006\n", ""),
        ("# Avg Latencies: 00003 00006\n", "# Avg Latencies: 00003\n"),
        ("Overflows: 00000 00000", "Overflows: 00000 00001"),
    ],
)
def test_a_row_that_is_missing_since_2_8_shows(old: str, new: str, tmp_path: Path) -> None:
    assert old in NEW
    refused(tmp_path, NEW.replace(old, new), "the histogram is incomplete")


def test_since_2_8_a_histogram_may_have_a_sum_and_an_overflow(tmp_path: Path) -> None:
    rows = [
        f"{text}\t{sum(map(int, text.split()[1:])):06d}" if text.startswith("0") else text
        for text in NEW.splitlines()
    ]
    summed = "\n".join(rows).replace("00005 00009", "00005 00009 00009")
    (found,) = read(tmp_path, summed.replace("Overflows: 00000", "Overflows: 00000 00000"))
    assert found.n == 8
    over = NEW.replace("00005 00009", "00005 00077").replace("00003 00006", "00003 00065")
    (found,) = read(tmp_path, over.replace("Overflows: 00000 00000", "Overflows: 00000 00010"))
    assert (found.overflow, found.max_ns, found.n) == (10, 77_000, 18)
    # (6 * 3 + 12 * 65) / 18, and each average may be up to 1 µs more.
    assert found.average_ns == pytest.approx(44_333.33, abs=0.01)
    assert found.average_cut_ns == 1_000


def test_of_2009_to_2011_there_are_no_averages(tmp_path: Path) -> None:
    old = "".join(
        text.replace("Latencies", "Latencys") + ("\t\n" if text[:1] == "0" else "\n")
        for text in HISTOGRAM.splitlines()
        if not text.startswith(("# Min", "# Avg", "# /dev"))
    )
    (found,), (plain,) = read(tmp_path, old), read(tmp_path, HISTOGRAM)
    assert unfolded(found) == unfolded(plain)
    assert (found.max_ns, found.overflow, found.average_ns) == (777_000, 88, None)
    refused(
        tmp_path,
        old[: old.index("# Max")] + "# Max Latency: 59 / 60\n",
        "before July 2009.*its tail is not known",
    )


@pytest.mark.parametrize("before", ["    ", "\t", "> ", ">> > ", "  > ", "        "])
@pytest.mark.parametrize("text", [HISTOGRAM, SAMPLES, line(8, 1000, 60), NEW])
def test_text_out_of_a_mail_is_read_as_it_was(before: str, text: str, tmp_path: Path) -> None:
    pasted = "".join(f"{before}{one}\n" for one in text.splitlines())
    fenced = f"What we see:\n\n```text\n{text}```\n~~~\n"
    (plain,) = read(tmp_path, text)
    for found in [*read(tmp_path, pasted), *read(tmp_path, fenced)]:
        assert (found.n, found.max_ns, found.average_ns) == (
            plain.n, plain.max_ns, plain.average_ns,
        )  # fmt: skip


@pytest.mark.parametrize("largest", [10**19, 10**400], ids=["an integer", "beyond floats"])
def test_a_latency_of_centuries_is_damage(tmp_path: Path, largest: int) -> None:
    document = json.loads((HERE / "cyclictest.json").read_text())
    document["thread"]["1"]["max"] = largest
    refused(tmp_path, json.dumps(document), "is damaged: it has")
