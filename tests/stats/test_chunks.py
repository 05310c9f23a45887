"""Work in chunks: the laws from their own values, and on the flush that was measured."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.stats.scaling.chunks import fit_chunk_cost, fit_chunk_latency, locate_knee

TABLE = Path(__file__).parents[1] / "predict" / "data" / "clflush_chunks.csv"
ROWS = [
    {name: float(value) for name, value in row.items()}
    for row in csv.DictReader(TABLE.read_text().splitlines())
]
CHUNKS = [row["chunk"] for row in ROWS]
ITEM = ROWS[0]["work_ns"] / 16384


@settings(max_examples=20, deadline=None)
@given(st.floats(100, 1e5), st.floats(0.05, 1.0), st.floats(1, 1e3))
def test_a_latency_follows_its_own_law(floor: float, share: float, item: float) -> None:
    chunks = [1.0, 10.0, 100.0, 1000.0]
    fit = fit_chunk_latency(chunks, [floor + share * chunk * item for chunk in chunks], item)
    for chunk in (*chunks, 300.0):
        expected = floor + share * chunk * item
        assert fit.law.value(chunk, fit.parameters) == pytest.approx(expected, rel=0.01)


@settings(max_examples=20, deadline=None)
@given(st.floats(1e3, 1e9), st.floats(0.01, 100))
def test_a_cost_follows_its_own_law(whole: float, again: float) -> None:
    chunks = [1.0, 16.0, 256.0, 4096.0]
    fit = fit_chunk_cost(chunks, [whole * (1 + again / chunk) for chunk in chunks])
    for chunk in (*chunks, 64.0):
        expected = whole * (1 + again / chunk)
        assert fit.law.value(chunk, fit.parameters) == pytest.approx(expected, rel=0.01)


def test_the_knee_of_the_measured_flush_is_at_128_lines() -> None:
    assert locate_knee(CHUNKS, [row["work_ns"] for row in ROWS]) == 128
    assert locate_knee(CHUNKS, [row["work_ns"] for row in ROWS], dearer=0.5) == 16
    with pytest.raises(ValueError, match="each chunk"):
        locate_knee([], [])


def test_the_median_at_the_knee_follows_from_the_other_chunks() -> None:
    # All lines at once are held for longer than the period of the signal, 200 us.
    others = [row for row in ROWS if row["chunk"] not in (128, 16384)]
    fit = fit_chunk_latency(
        [row["chunk"] for row in others], [row["p50_ns"] for row in others], ITEM
    )
    value = fit.law.value(128, fit.parameters)
    assert value == pytest.approx(8_800, rel=0.1)
    low, high = fit.interval(lambda parameters: fit.law.value(128, parameters))
    assert low < 8_800 < high


def test_the_measured_p99_does_not_follow_the_law() -> None:
    short = [row for row in ROWS if row["chunk"] < 16384]
    fit = fit_chunk_latency([row["chunk"] for row in short], [row["p99_ns"] for row in short], ITEM)
    assert fit.misfit > 1.25


def test_too_few_chunks_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3 different chunks .* there are 2"):
        fit_chunk_latency([1, 2, 2], [1.0, 2.0, 2.0], 1.0)
    with pytest.raises(ValueError, match="above zero"):
        fit_chunk_cost([1, 2, 3], [1.0, 2.0, 0.0])
