"""What terminal and page show of a section: its account, its classes, its locks."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from report_examples import HOSTILE
from rich.cells import cell_len
from rich.console import Console
from section_journals import Execution, result

from section_examples import MUTEX, SPIN, WRITE, Example, executions, floor, lock, recorded
from whylate.report.page.latency import render_html
from whylate.report.page.sections import longer_executions
from whylate.report.terminal.latency import print_summary
from whylate.wire.constants import ExecutionPart, NameTable
from whylate.wire.messages import Message, Name, SectionResult


def printed(example: Example, width: int = 90) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    print_summary(example.summary, console)
    return out.getvalue()


def one_line(text: str) -> str:
    return " ".join(text.split())


def page(example: Example) -> str:
    return render_html(example.summary, example.manifest, example.series)


def shown_in(example: Example) -> list[str]:
    """Return the text of the terminal and that of the page, without its tags, each in a line."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", page(example)))
    return [one_line(printed(example)), one_line(text)]


EVERYTHING = (
    "2,400 entries = 400 returned + 1 in flight at the end + 2 left without a return + 3 nested "
    "too deep + 1,994 without room"
)
WITH_HOOKS = (
    "takes 362 ns (after the run 371 ns): that is in every duration; a call takes 1.73 µs longer "
    "with the hooks"
)


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (result(400), "400 entries = 400 returned"),
        (result(400, in_flight=1), "401 entries = 400 returned + 1 in flight at the end"),
        (result(400, left=2), "402 entries = 400 returned + 2 left without a return"),
        (result(400, too_deep=3), "403 entries = 400 returned + 3 nested too deep"),
        (result(400, no_room=4), "404 entries = 400 returned + 4 without room"),
        (
            result(400, in_flight=1, left=2, too_deep=3, no_room=1_994, unmatched=9, missed=9),
            EVERYTHING,
        ),
        (result(400, left=2, entries=401), "401 entries ≠ 400 returned + 2 left without a return"),
    ],
)
def test_every_entry_is_accounted_for_in_one_sentence(
    tmp_path: Path, account: SectionResult, said: str
) -> None:
    for text in shown_in(recorded(tmp_path / "r", account=account)):
        assert f"{said} timed by fentry" in text


@pytest.mark.parametrize(
    ("floors", "said"),
    [
        ([], "timed by fentry"),
        (
            [floor(0, 362)],
            "timed by fentry, by which an empty section takes 362 ns: that is in every duration",
        ),
        (
            [floor(0, 362, with_ns=3_000, without_ns=1_270), floor(1, 371)],
            WITH_HOOKS,
        ),
        (
            [floor(0, 0, executions=0)],
            "how long an empty section takes is not known: the probe gave no reason",
        ),
        (
            [floor(0, 0, executions=0, error=2, text="no empty \x1b[1mfunction")],
            "how long an empty section takes is not known: no empty ?[1mfunction",
        ),
        ([floor(0, 362), floor(1, 0, executions=0, error=5)], "takes 362 ns: that is in every"),
    ],
)
def test_the_floor_is_said_where_it_is_known(
    tmp_path: Path, floors: list[Message], said: str
) -> None:
    for text in shown_in(recorded(tmp_path / "r", *floors)):
        assert said in text
        assert ("empty section" in text) == bool(floors)


def test_classes_stand_in_a_table_with_the_largest_share_first(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r")
    text = printed(example)
    assert (
        "20 of 400 executions (5.00 %) took longer than twice the median, 2 µs; what they took "
        "beyond the mean of the others: 148 µs" in one_line(text)
    )
    rows = re.findall(r"^(\S.*?)  +(\d+\.\d) %  +\d+\.\d %–\d+\.\d %  +(\d+)  +(\S+ µs) *$", text,
                      re.MULTILINE)  # fmt: skip
    assert rows == [
        ("asleep", "54.1", "8", "11 µs"),
        ("preempted", "32.4", "6", "9 µs"),
        ("waiting for a lock", "10.8", "4", "5 µs"),
        ("unexplained", "2.7", "2", "3 µs"),
    ]
    assert "Not observed" not in text
    cells = re.findall(
        r'<td role="cell" class="number" data-label="(.*?)">(.*?)</td>', page(example)
    )
    longest = [cell for label, cell in cells if label == "longest"]
    assert longest == ["11 µs", "9 µs", "5 µs", "3 µs"]
    shares = [cell for label, cell in cells if label == "located share"]
    assert shares == ["54.1 %", "32.4 %", "10.8 %", "2.7 %"]


def test_the_bar_has_a_part_for_each_class_as_wide_as_its_share(tmp_path: Path) -> None:
    section = longer_executions(recorded(tmp_path / "r").summary)
    assert section is not None
    assert [part.title for part in section.bar] == [
        "asleep: 54.1 %", "preempted: 32.4 %", "waiting for a lock: 10.8 %", "unexplained: 2.7 %",
    ]  # fmt: skip
    assert [part.width for part in section.bar] == [540.5, 324.3, 108.1, 27.0]
    assert [part.x for part in section.bar] == [0.0, 540.5, 864.9, 973.0]
    assert [part.colour for part in section.bar] == ["cause0", "cause1", "cause2", "unexplained"]
    assert [colour for _, colour in section.rows] == [part.colour for part in section.bar]
    assert section.rows[0][0].which == "execution 10 that ended on CPU 0, in thread 301"


def test_what_is_not_observed_is_named(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", parts=int(ExecutionPart.INTERRUPTED))
    for text in shown_in(example):
        assert "on this board: switches, locks, time of page faults, steal." in text
        assert "NMIs are not observed" in text
        assert "asleep" not in text


def test_what_interrupts_are_is_said_only_where_they_are_observed(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", parts=int(ExecutionPart.LOCK))
    for text in shown_in(example):
        assert "on this board: interrupts, switches" in text
        assert "NMIs" not in text


def test_the_share_near_the_most_frequent_duration_is_said(tmp_path: Path) -> None:
    """380 of 400 executions take 1,000 ns, and the longest 11,000 ns."""
    example = recorded(tmp_path / "r")
    said = (
        "95.0 % of executions have 950 ns to 1.05 µs, within 5 % of the most frequent duration, "
        "1 µs (95 % CI "
    )
    assert said in one_line(printed(example))
    assert "; the longest took 11 times as long." in one_line(printed(example))
    page = render_html(example.summary, example.manifest, example.series)
    assert said in one_line(page)
    duration = example.section.duration
    assert duration is not None
    assert (duration.most_frequent, duration.near, duration.largest_ratio) == (1_000, 0.95, 11)
    few = recorded(tmp_path / "few", ran=executions()[:40])
    assert "most frequent" not in printed(few)


def test_where_none_took_longer_that_is_said(tmp_path: Path) -> None:
    ran = [Execution(301, 1_000 * number, 1_000) for number in range(100)]
    example = recorded(tmp_path / "r", ran=ran)
    for text in shown_in(example):
        assert "No execution took longer than twice the median, 2 µs." in text
        assert "located share" not in text


def test_no_execution_at_all_has_a_page_and_no_classes(tmp_path: Path) -> None:
    for text in shown_in(recorded(tmp_path / "r", ran=[])):
        assert "0 entries = 0 returned" in text
        assert "Why some executions took longer" not in text
        assert "longer than twice" not in text


def test_figures_that_are_missing_for_one_reason_have_one_footnote(tmp_path: Path) -> None:
    lines = printed(recorded(tmp_path / "r", ran=[])).splitlines()
    assert [line for line in lines if line.startswith(("¹", "²"))] == [
        "¹ no execution was recorded"
    ]
    (row,) = [line for line in lines if line.startswith("all ")]
    assert row.count("–¹") == 6


def test_of_one_in_n_executions_the_sum_and_the_missing_bound_say_so(tmp_path: Path) -> None:
    for text in shown_in(recorded(tmp_path / "r", one_in=1_600)):
        assert "400 of 1 in 1,600 executions = 400 seen + 0 dropped" in text
        assert (
            "No bound above the largest duration: only 1 of 1,600 executions has a row; all took "
            "less than 11.3 µs." in text
        )


def test_cautions_are_warnings(tmp_path: Path) -> None:
    for text in shown_in(recorded(tmp_path / "r", account=result(400, left=100, missed=7))):
        assert "100 executions (20 %) were left without a return that was seen" in text
        assert "The kernel did not run a hook 7 times" in text


LOCKS = [
    lock("down_write+0x66", "do_renameat2+0x4ff", "x", "y", "z", flags=WRITE, address=0x1234,
         count=1_790, total_ns=2_684_000_000, longest_ns=48_070_000),
    lock("mutex_lock", "a", flags=MUTEX, total_ns=900_000, longest_ns=700_000),
    lock("_raw_spin_lock", "b", flags=SPIN, name="tasklist_lock+0x0", address=5,
         total_ns=800, longest_ns=500),
    lock(flags=0, count=7, total_ns=700, longest_ns=300),
]  # fmt: skip


def lock_rows_of(text: str) -> list[str]:
    """Return the rows of the table of locks, which are not folded at this width."""
    lines = [line.rstrip() for line in text.splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith("waits for"))
    last = next(number for number, line in enumerate(lines) if line.startswith("Waits of"))
    return [re.sub(r"  +", " | ", line) for line in lines[first:last]]


def test_locks_are_told_by_kind_name_and_callers(tmp_path: Path) -> None:
    assert lock_rows_of(printed(recorded(tmp_path / "r", *LOCKS), 160)) == [
        "waits for | waits | total | longest | called from",
        "semaphore for writing 0x1234 | 1,790 | 2.684 s | 48.07 ms | do_renameat2 ← x ← y",
        "mutex (several) | 2 | 900 µs | 700 µs | a",
        "spin lock tasklist_lock | 2 | 800 ns | 500 ns | b",
        "several | 7 | 700 ns | 300 ns | all others",
    ]


def test_the_page_has_all_callers_of_a_lock(tmp_path: Path) -> None:
    section = longer_executions(recorded(tmp_path / "r", *LOCKS).summary)
    assert section is not None
    assert section.locks[0] == (
        "semaphore for writing 0x1234", "1,790", "2.684 s", "48.07 ms",
        "do_renameat2 ← x ← y ← z",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "note"),
    [
        (6, "are not seen."),
        (7, "are not seen. 1 group more is in the output of --json."),
        (46, "are not seen. 40 groups more are in the output of --json."),
    ],
)
def test_of_many_locks_those_with_the_longest_waits_are_shown(
    tmp_path: Path, count: int, note: str
) -> None:
    locks = [lock(f"f{number}", total_ns=1_000 * (number + 1), longest_ns=1_000 * (number + 1))
             for number in range(count)]  # fmt: skip
    example = recorded(tmp_path / "r", *locks)
    rows = lock_rows_of(printed(example, 160))[1:]
    assert [row.split(" | ")[-1] for row in rows] == [f"f{count - 1 - row}" for row in range(6)]
    assert note in one_line(printed(example, 160))
    section = longer_executions(example.summary)
    assert section is not None
    assert len(section.locks) == min(count, 40)
    assert ("6 groups more" in section.locks_note) == (count == 46)


def test_locks_are_shown_where_too_few_executions_have_a_row_for_a_median(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", *LOCKS, ran=executions()[:12])
    assert example.section.longer is None
    for text in shown_in(example):
        assert "do_renameat2 ← x ← y" in text
    assert "Too few executions have a row to say which took longer." in shown_in(example)[1]


def test_without_waits_there_is_no_table_of_locks(tmp_path: Path) -> None:
    for text in shown_in(recorded(tmp_path / "r")):
        assert "Waits of threads while they were in the section" not in text


#: Names that no kernel gives; the last is as long as a message permits, and without a blank.
NAMES = (HOSTILE, "\"'><script>window.hit=1</script>\r\n\x9b31m", "[bold]" + "W" * 4_000)


def hostile(directory: Path) -> Example:
    """Return a recording in which all names are hostile."""
    locks: Sequence[Message] = [
        lock("a", *NAMES, name=name, address=7 + number, flags=1 << number)
        for number, name in enumerate(NAMES)
    ]
    names = [Name(NameTable.PID, 301, HOSTILE)]
    unknown = floor(0, 0, executions=0, error=2, text=HOSTILE)
    return recorded(directory, *names, unknown, *locks, function=HOSTILE, comm=HOSTILE[:15])


@pytest.mark.parametrize("width", [60, 90, 160])
def test_hostile_names_do_nothing_to_a_terminal(tmp_path: Path, width: int) -> None:
    text = printed(hostile(tmp_path / "r"), width)
    # The styles of a terminal without colours, and the board's escapes are none of them.
    own = re.sub(r"\x1b\[[012]m", "", text)
    assert all(character.isprintable() for character in own.replace("\n", ""))
    assert max(cell_len(line) for line in own.splitlines()) <= width


def test_names_are_no_markup_of_a_terminal(tmp_path: Path) -> None:
    text = printed(hostile(tmp_path / "r"), 900)
    assert text.count("[bold red]x[/]") >= 4
    table = text[text.index("waits for") :]
    assert table.count("[bold red]x[/]") == 4  # a lock's name, and a caller in each of three rows
    assert "[bold]WWW" in table


def test_hostile_names_are_text_in_the_page(tmp_path: Path) -> None:
    text = page(hostile(tmp_path / "r"))
    plain = page(recorded(tmp_path / "s", *LOCKS))
    for tag in ("<img", "<b>", "<script"):
        assert text.count(tag) == plain.count(tag)
    assert "&lt;img src=x onerror=" in text
    assert "{{7*7}}" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
