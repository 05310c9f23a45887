"""Executions that have a row for taking long alone: stored, shown, and in no other figure."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from rich.console import Console
from section_journals import DRAWN, MOVED, Execution, bins, result, rows, section_journal

from section_examples import Example, executions, recorded, started
from whylate.recording.finish import finish
from whylate.recording.reader import open_recording
from whylate.report.page.latency import render_html
from whylate.report.terminal.latency import print_summary
from whylate.summary.model import KeptFigures

#: Among those of section_examples, each of another length: the longest of all is not drawn.
APART = [
    Execution(302, 1_000_000 + 2_000_000 * number, 20_000 + number, flags=MOVED * (number % 2),
              parts=(0, 0, 19_000, 0, 0))
    for number in range(30)
]  # fmt: skip


def together() -> list[Execution]:
    return sorted([*executions(), *APART], key=lambda each: each.begin_ns + each.duration_ns)


def example(directory: Path) -> Example:
    return recorded(directory, ran=together(), one_in=8, keep_above_ns=4_000)


def kept_of(made: Example) -> KeptFigures:
    assert made.section.kept is not None
    return made.section.kept


def shown_in(made: Example) -> list[str]:
    """Return the text of the terminal and that of the page, without its tags, each in a line."""
    out = io.StringIO()
    print_summary(made.summary, Console(file=out, width=110, color_system=None))
    page = render_html(made.summary, made.manifest, made.series)
    text = html.unescape(re.sub(r"<[^>]*>", " ", page))
    return [" ".join(out.getvalue().split()), " ".join(text.split())]


def test_every_other_figure_is_as_it_would_be_without_them(tmp_path: Path) -> None:
    with_them = example(tmp_path / "with")
    without = recorded(tmp_path / "without", one_in=8)
    assert with_them.manifest.problems == []
    first, second = with_them.summary, without.summary
    assert first.together.latency_ns == second.together.latency_ns
    assert first.together.expected == second.together.expected == 400
    assert first.per_thread == second.per_thread
    assert with_them.section.longer == replace(
        without.section.longer,
        # Their places among those that are kept are others.
        classes=[
            replace(each, number=other.number)
            for each, other in zip(
                without.section.longer.classes if without.section.longer else [],
                with_them.section.longer.classes if with_them.section.longer else [],
                strict=True,
            )
        ],
    )  # type: ignore[type-var]


def test_they_have_a_file_of_their_own(tmp_path: Path) -> None:
    example(tmp_path / "r")
    apart = pq.read_table(tmp_path / "r" / "longer.parquet")
    assert apart["latency_ns"].to_pylist() == [each.duration_ns for each in APART]
    assert apart["slept_ns"].to_pylist() == [19_000] * 30
    drawn = pq.read_table(tmp_path / "r" / "samples.parquet")
    # Both have the numbers that the probe gave, so that each execution is in one of them.
    numbers = apart["activation"].to_pylist() + drawn["activation"].to_pylist()
    assert sorted(numbers) == list(range(430))


def test_the_longest_are_of_both(tmp_path: Path) -> None:
    kept = kept_of(example(tmp_path / "r"))
    assert (kept.above_ns, kept.apart, kept.dropped) == (4_000, 30, 0)
    assert [(each.duration_ns, each.is_drawn) for each in kept.longest] == [
        (20_029 - number, False) for number in range(20)
    ]
    first = kept.longest[0]
    assert (first.began_ns, first.cpu, first.pid) == (59_000_000, 0, 302)
    assert first.parts["asleep"] == 19_000
    few = recorded(
        tmp_path / "few", ran=[*executions()[:20], Execution(9, 90_000_000, 5_000, flags=0)],
        one_in=8, keep_above_ns=4_000,
    )  # fmt: skip
    assert [(each.duration_ns, each.is_drawn) for each in kept_of(few).longest[:3]] == [
        (11_000, True),
        (5_000, False),
        (1_000, True),
    ]


def test_terminal_and_page_say_which_figures_they_are_in(tmp_path: Path) -> None:
    made = example(tmp_path / "r")
    for text in shown_in(made):
        assert (
            "Every execution above 4 µs is kept; 30 have a row for that alone, and no part in any "
            "figure but this table." in text
        )
        assert "20.03 µs 59 ms 0 302 – – 19 µs – no" in text
        assert "only 1 of 8 executions has a row; the longest that is kept took 20.0 µs" in text
    one = recorded(
        tmp_path / "one", ran=[*executions(), Execution(9, 900_000_000, 5_000, flags=0)],
        one_in=8, keep_above_ns=4_000,
    )  # fmt: skip
    assert all("1 has a row for that alone" in text for text in shown_in(one))
    none = recorded(tmp_path / "none", one_in=8, keep_above_ns=4_000)
    assert all("none has a row for that alone" in text for text in shown_in(none))


def test_rows_that_were_lost_are_named(tmp_path: Path) -> None:
    made = together()
    section_journal(
        tmp_path / "r", rows(made), bins([*made, *made[:3]]), result(433), seen=[430], dropped=[3],
        started=started(one_in=8), keep_above_ns=4_000,
    )  # fmt: skip
    manifest = finish(tmp_path / "r")
    assert manifest.problems == []
    (account,) = manifest.cpus
    assert (account.expected, account.seen, account.dropped) == (403, 400, 3)


def test_without_a_limit_there_is_no_file_and_no_table(tmp_path: Path) -> None:
    made = recorded(tmp_path / "r", one_in=8)
    assert made.section.kept is None
    assert not (tmp_path / "r" / "longer.parquet").exists()
    assert all("is kept" not in text for text in shown_in(made))


@pytest.mark.parametrize("flags", [0, MOVED])
def test_what_was_not_drawn_is_in_no_sample_where_no_limit_was_asked_for(
    tmp_path: Path, flags: int
) -> None:
    ran = [Execution(1, 1_000 * number, 100, flags=DRAWN) for number in range(50)]
    made = recorded(tmp_path / "r", ran=[*ran, Execution(1, 60_000, 9_000, flags=flags)])
    assert made.summary.together.latency_ns["max"].value == 100
    assert made.summary.together.expected == 50


def test_a_recording_whose_file_of_them_is_gone_says_so(tmp_path: Path) -> None:
    example(tmp_path / "r")
    (tmp_path / "r" / "longer.parquet").unlink()
    recording = open_recording(tmp_path / "r")
    assert recording.executions is not None
    with pytest.raises(Exception, match=r"longer\.parquet"):
        recording.executions.longest(3)


def test_parts_that_are_rare_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    with_fault = Execution(302, 5_000_000, 30_000, flags=0, parts=(0, 0, 0, 0, 2, 29_000))
    ran = sorted([*together(), with_fault], key=lambda each: each.begin_ns + each.duration_ns)
    faulted = recorded(tmp_path / "faulted", ran=ran, one_in=8, keep_above_ns=4_000)
    for text in shown_in(example(tmp_path / "r")):
        assert "page fault" not in text
    for text in shown_in(faulted):
        assert re.search(r"page fault *drawn", text)
        assert re.search(r"30 µs .* 29 µs *no", text)
        assert "steal" not in text
