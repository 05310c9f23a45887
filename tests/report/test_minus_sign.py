"""Every negative number for people has the minus sign U+2212; a hyphen is part of a name."""

from __future__ import annotations

import dataclasses
import io
import re
from html import unescape

import pytest
from benchmark_examples import memory
from msgspec.structs import replace
from report_examples import recorded_run, run_of
from rich.console import Console

from app_runs import app_manifest
from whylate.causes.answer import Answer
from whylate.compare.words import amount_text, percent_text, signed_text
from whylate.recording.manifest import Change
from whylate.report.page.benchmark import render_benchmark
from whylate.report.page.latency import render_html
from whylate.report.plots.chart import across, ticks, time_label
from whylate.report.terminal.benchmark import print_benchmark
from whylate.report.terminal.causes import print_answer
from whylate.report.terminal.latency import print_summary
from whylate.summary.benchmarks.model import BenchmarkSummary, Figure

#: A hyphen before a number, where no name, date or range ends.
HYPHEN = re.compile(r"(?<![\w.\-/+,])-\d")


def negative_benchmark() -> BenchmarkSummary:
    summary = memory()
    figure = Figure(-3.2, -4.0, -2.5, key="gb_per_s", heading="GB/s")
    points = [replace(point, figures={"gb_per_s": figure}) for point in summary.points]
    return replace(summary, points=points)


def visible(page: str) -> str:
    """Return the text of a page, without scripts, styles and markup."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", shown))


def with_less_than_usual(answer: Answer) -> Answer:
    """One cause took less in late activations than in control activations."""
    assert answer.population is not None
    first, second, *rest = answer.population.causes
    less = dataclasses.replace(second, share=-0.005, mean_ns=-715.0, significant=False)
    population = dataclasses.replace(answer.population, causes=[first, less, *rest])
    return dataclasses.replace(answer, population=population)


def test_the_terminal_has_one_minus_sign() -> None:
    out = io.StringIO()
    console = Console(file=out, width=140)
    summary = run_of(early=40)[0]
    low = replace(summary.together.latency_ns["p50"], value=-1_204, low=-1_300, high=-900)
    figures = replace(summary.together, latency_ns={**summary.together.latency_ns, "p50": low})
    print_summary(replace(summary, together=figures), console)
    print_answer(with_less_than_usual(recorded_run()[3]), console, worst=3)
    print_benchmark(negative_benchmark(), console)
    text = out.getvalue()
    for number in ("−1.20 µs", "−0.5 %", "−715 ns", "−3.2"):
        assert number in text
    assert not HYPHEN.findall(text)


def test_pages_have_one_minus_sign() -> None:
    summary, manifest, samples, answer = recorded_run()
    fewer = [Change("free", None, -4096, "bytes", "/proc/meminfo")]
    # Facts and settings are shown as the board has them.
    plan = replace(manifest.plan, settings=[])
    manifest = replace(manifest, changes=fewer, facts=[], plan=plan)
    page = visible(render_html(summary, manifest, samples, with_less_than_usual(answer)))
    for number in ("−0.5 %", "−715 ns", "−4.10 kB"):
        assert number in page
    assert not HYPHEN.findall(page)
    page = visible(render_benchmark(negative_benchmark(), app_manifest([])))
    assert "−3.2" in page
    assert not HYPHEN.findall(page)


def test_ticks_and_changes_have_one_minus_sign() -> None:
    labels = [tick.label for tick in ticks(across(-30_000, 10_000), time_label)]
    assert "−20 µs" in labels
    texts = [*labels, percent_text(0.5), signed_text(-2.5), amount_text(-2.5, "MB/s")]
    assert not HYPHEN.findall(" ".join(texts))


@pytest.mark.parametrize("text", ["took -758 ns", "[-4, -2]", "(-3)"])
def test_a_hyphen_as_a_minus_sign_is_noticed(text: str) -> None:
    assert HYPHEN.search(text)
