"""Where executions were seen in their own code: from journals written by hand to tables."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from section_examples import Example, path, recorded
from whylate.report.page.latency import render_html
from whylate.report.terminal.latency import print_summary
from whylate.summary.model import PathsFigures
from whylate.wire.messages import SectionPath

OUTER = ("vfs_read+0x9", "ksys_read+0x1")


def sample(*callers: str, longer: int = 1, control: int = 0, lost: int = 0) -> SectionPath:
    return path(*callers, longer=longer, control=control, lost=lost, sampled=1)


def samples_of(example: Example) -> PathsFigures:
    assert example.section.samples is not None
    assert example.section.paths is None
    return example.section.samples


def shown_in(made: Example) -> list[str]:
    out = io.StringIO()
    print_summary(made.summary, Console(file=out, width=100, color_system=None))
    page = re.sub(r"<[^>]*>", " ", render_html(made.summary, made.manifest, made.series))
    return [" ".join(text.split()) for text in (out.getvalue(), html.unescape(page))]


def recorded_with(directory: Path, *samples: SectionPath) -> Example:
    return recorded(directory, sample(longer=0), *samples)


def test_the_outermost_function_of_the_longer_path_is_named(tmp_path: Path) -> None:
    made = recorded_with(
        tmp_path / "r",
        sample("loop+0x1", "slow_path+0x2", *OUTER, longer=30),
        sample("leaf+0x7", "loop+0x3", "slow_path+0x2", *OUTER, longer=8),
        sample("copy+0x1", *OUTER, longer=12, control=200),
        sample("loop+0x1", "copy+0x5", *OUTER, longer=2, control=60),
    )
    samples = samples_of(made)
    assert (samples.longer, samples.control) == (52, 260)
    # Callers of the section are the same of all, and no part of it.
    assert samples.paths[0].callers == ["loop", "slow_path", "vfs_read"]
    differing = samples.differing
    assert differing is not None
    assert (differing.name, differing.longer, differing.control) == ("slow_path", 38, 0)
    assert 0.4 < differing.low < 38 / 52 < differing.high < 0.95
    for text in shown_in(made):
        assert "Where 52 executions that took longer than 2 µs and 260 of the others were" in text
        assert "in slow_path more often: 73.1 % of them and 0.0 % of the others" in text
        assert "seen in" in text
        assert re.search(r"57.7 % *0.0 % *30 .* loop ← slow_path ← vfs_read", text)


@pytest.mark.parametrize(
    "samples",
    [
        # The same places, whatever it takes.
        [sample("copy+0x1", *OUTER, longer=50, control=500)],
        # Too few to say so.
        [sample("slow+0x1", *OUTER, longer=2), sample("copy+0x1", *OUTER, longer=9, control=99)],
        # None to compare with.
        [sample("slow+0x1", *OUTER, longer=50)],
        [],
    ],
)
def test_no_function_is_named_that_may_not_differ(
    tmp_path: Path, samples: list[SectionPath]
) -> None:
    made = recorded_with(tmp_path / "r", *samples)
    assert samples_of(made).differing is None
    for text in shown_in(made):
        assert "In no function longer executions surely were more often." in text


def test_samples_and_paths_of_one_run_are_two_tables(tmp_path: Path) -> None:
    made = recorded(
        tmp_path / "r",
        path(longer=0), path("ends+0x1", longer=3),
        sample(longer=0), sample("seen+0x1", longer=2, control=1),
    )  # fmt: skip
    assert made.section.paths is not None
    assert made.section.samples is not None
    assert [each.callers for each in made.section.paths.paths] == [["ends"]]
    assert [each.callers for each in made.section.samples.paths] == [["seen"]]


def test_more_samples_than_executions_returned_are_a_fatal_problem(tmp_path: Path) -> None:
    made = recorded_with(tmp_path / "r", sample("f+0x1", longer=1, control=1_000))
    (problem,) = [each for each in made.manifest.problems if each.fatal]
    assert "1001 have a path of 400" in problem.text
