"""The bound that needs no luck: with sampled sections, and over all recordings there are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmark_journals import benchmark_journal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from off_journals import PERIOD_NS, off_messages, off_plan

from whylate.compare.analytic import AnalyticBound, analytic_bound
from whylate.recording.reader import open_recording
from whylate.recording.workloads.off import What
from whylate.summary.workloads.longest_off import longest_off_ns

TESTS = Path(__file__).parent.parent
RECORDED = TESTS / "predict" / "data" / "pc-irqs-off"
#: All recordings with windows of wakeups, of any board.
WITH_WINDOWS = sorted(
    path.parent
    for path in TESTS.rglob("windows.parquet")
    if (path.parent / "manifest.json").exists() and path.parent.name != "app"
)
#: The longest stretch of the journal was seen for 260 µs.
LONGEST_NS = 260_000 + 2 * PERIOD_NS


def sampled(directory: Path, what: What) -> Path:
    return benchmark_journal(directory / what, off_plan(what), *off_messages())


def pieces(bound: AnalyticBound) -> dict[str, int]:
    return {piece.name: piece.longest_ns for piece in bound.pieces}


@pytest.mark.parametrize(
    ("what", "name"),
    [("irqs-off", "interrupts disabled"), ("preempt-off", "preemption disabled")],
)
def test_a_section_that_samples_saw_longer_counts_with_a_period_at_each_end(
    tmp_path: Path, what: What, name: str
) -> None:
    alone = analytic_bound([RECORDED])
    both = analytic_bound([RECORDED, sampled(tmp_path, what)])
    assert pieces(alone).get(name, 0) < LONGEST_NS == pieces(both)[name]
    assert both.bound_ns is not None
    assert alone.bound_ns is not None
    # The longer it is, the more of what comes again fits into it.
    assert both.bound_ns >= alone.bound_ns + LONGEST_NS - pieces(alone).get(name, 0)
    lacking = f"a section with {name} before"
    assert any(lacking in text for text in alone.unobserved)
    assert not any(lacking in text for text in both.unobserved)
    assert both.largest_ns == alone.largest_ns


def test_a_section_that_windows_saw_longer_stays(tmp_path: Path) -> None:
    path = sampled(tmp_path, "irqs-off")
    manifest = open_recording(path).manifest
    (turn,) = manifest.turns
    assert turn.off is not None
    groups = [replace(group, longest_ns=1_000) for group in turn.off.groups]
    short = replace(manifest, turns=[replace(turn, off=replace(turn.off, groups=groups))])
    assert longest_off_ns(short) == {"irqs-off": 1_000 + 2 * PERIOD_NS}
    window = pieces(analytic_bound([RECORDED]))["interrupts disabled"]
    assert window > 1_000 + 2 * PERIOD_NS


def test_only_what_was_surely_disabled_and_seen_counts(tmp_path: Path) -> None:
    manifest = open_recording(sampled(tmp_path, "irqs-off")).manifest
    (turn,) = manifest.turns
    assert turn.off is not None
    for changed in ({"why": "user"}, {"stretches": 0}):
        groups = [replace(group, **changed) for group in turn.off.groups]
        other = replace(manifest, turns=[replace(turn, off=replace(turn.off, groups=groups))])
        assert longest_off_ns(other) == {}
    assert longest_off_ns(open_recording(RECORDED).manifest) == {}


@pytest.mark.parametrize("path", WITH_WINDOWS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_over_all_recordings_it_is_never_below_what_was_seen(path: Path) -> None:
    bound = analytic_bound([path])
    together = sum(piece.together_ns for piece in bound.pieces)
    assert bound.bound_ns is None or bound.bound_ns >= bound.largest_ns
    # Where the pieces make less, it says so.
    assert bound.is_refuted == (bound.bound_ns is not None and together < bound.largest_ns)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("windows") / "a"
    shutil.copytree(RECORDED, place)
    return place


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kept=st.floats(0.02, 1), seed=st.integers(0, 2**32 - 1))
def test_with_any_part_of_the_windows_it_is_never_below_what_was_seen(
    copy: Path, kept: float, seed: int
) -> None:
    windows = pq.read_table(RECORDED / "windows.parquet")
    chosen = np.random.default_rng(seed).random(len(windows)) < kept
    chosen[seed % len(windows)] = True
    pq.write_table(windows.filter(chosen), copy / "windows.parquet")
    bound = analytic_bound([copy])
    assert bound.windows <= int(chosen.sum())
    assert bound.bound_ns is None or bound.bound_ns >= bound.largest_ns
