"""The page and the terminal say of executions what ran meanwhile, in their own words."""

from __future__ import annotations

import dataclasses
import io

import msgspec
import pytest
from report_examples import recorded_run
from rich.console import Console

from whylate.causes.answer import Answer
from whylate.report.page.latency import render_html
from whylate.report.terminal.causes import print_answer


def of_executions(answer: Answer) -> Answer:
    return dataclasses.replace(answer, counted="executions", quantity="duration")


@pytest.mark.parametrize(
    ("executions", "words"),
    [
        (
            True,
            ("What ran during late executions", "The worst executions, and what ran meanwhile",
             "What executions have in common", "An execution belongs to the cause"),
        ),
        (
            False,
            ("Why it was late", "The worst activations, and what ran meanwhile",
             "What episodes have in common", "An episode belongs to the cause"),
        ),
    ],
)  # fmt: skip
def test_the_page_names_what_was_late(executions: bool, words: tuple[str, ...]) -> None:
    summary, manifest, samples, answer = recorded_run()
    page = render_html(summary, manifest, samples, of_executions(answer) if executions else answer)
    for word in words:
        assert word in page


def test_the_page_says_nothing_of_windows_that_nobody_asked_for() -> None:
    summary, manifest, samples, answer = recorded_run()
    without = dataclasses.replace(of_executions(answer), population=None, why_not="no windows")
    assert manifest.recorder is not None
    assert "What ran during" in render_html(summary, manifest, samples, without)
    manifest = msgspec.structs.replace(manifest, recorder=None)
    assert "What ran during" not in render_html(summary, manifest, samples, without)


def test_the_terminal_names_what_was_late() -> None:
    answer = of_executions(recorded_run()[3])
    out = io.StringIO()
    print_answer(answer, Console(file=out, width=120))
    assert "late execution" in out.getvalue()
    assert "episode" not in out.getvalue()
