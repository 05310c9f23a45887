"""The bound that needs no luck: with sampled sections, and over all recordings there are."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from benchmark_journals import benchmark_journal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from off_journals import PERIOD_NS, off_messages, off_plan, traced_messages

from whylate.causes.answer import TracedActivation, read_activations
from whylate.causes.longest_pieces import LongestPieces
from whylate.compare.analytic import AnalyticBound, analytic_bound
from whylate.recording.reader import open_recording
from whylate.recording.workloads.off import What
from whylate.stats.tail.worst_together import worst_together
from whylate.summary.workloads import summarize_benchmark
from whylate.summary.workloads.longest_off import longest_off_ns

TESTS = Path(__file__).parent.parent
RECORDED = TESTS / "predict" / "data" / "pc-irqs-off"
#: All recordings with windows of wakeups, of any board.
WITH_WINDOWS = sorted(
    path.parent
    for path in TESTS.rglob("windows.parquet")
    if (path.parent / "manifest.json").exists() and path.parent.name != "app"
)
#: The longest stretch of the journal was seen for 260 µs. Its end is seen of interrupts alone.
SEEN_NS = 260_000
MOST_NS: dict[What, int] = {"irqs-off": SEEN_NS + PERIOD_NS, "preempt-off": SEEN_NS + 2 * PERIOD_NS}


def sampled(directory: Path, what: What) -> Path:
    return benchmark_journal(directory / what, off_plan(what), *off_messages())


def pieces(bound: AnalyticBound) -> dict[str, int]:
    return {piece.name: piece.longest_ns for piece in bound.pieces}


def activations(path: Path) -> list[TracedActivation]:
    """Return the recorded activations, the latest first."""
    known = [
        traced
        for traced in read_activations(open_recording(path))
        if traced.breakdown.pieces is not None
    ]
    return sorted(known, key=lambda traced: -traced.breakdown.latency_ns)


def together_ns(windows: Iterable[TracedActivation]) -> int:
    """Return what the longest pieces make, whatever was seen as a whole."""
    longest = LongestPieces()
    for traced in windows:
        longest.add(traced.breakdown, traced.window)
    made = worst_together(longest.once_ns().values(), longest.recurring(), 0)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("what", "name"),
    [("irqs-off", "interrupts disabled"), ("preempt-off", "preemption disabled")],
)
def test_a_section_that_samples_saw_longer_counts_with_what_they_cannot_see(
    tmp_path: Path, what: What, name: str
) -> None:
    alone = analytic_bound([RECORDED])
    both = analytic_bound([RECORDED, sampled(tmp_path, what)])
    assert pieces(alone).get(name, 0) < MOST_NS[what] == pieces(both)[name]
    assert both.bound_ns is not None
    assert alone.bound_ns is not None
    # The longer it is, the more of what comes again fits into it.
    assert both.bound_ns >= alone.bound_ns + MOST_NS[what] - pieces(alone).get(name, 0)
    lacking = f"a section with {name} before"
    assert any(lacking in text for text in alone.unobserved)
    assert not any(lacking in text for text in both.unobserved)
    assert both.largest_ns == alone.largest_ns


@pytest.mark.parametrize("what", ["irqs-off", "preempt-off"])
def test_what_tracepoints_measured_counts_as_it_is(tmp_path: Path, what: What) -> None:
    path = benchmark_journal(tmp_path / what, off_plan(what), *traced_messages())
    assert longest_off_ns(open_recording(path).manifest) == {what: SEEN_NS}


@pytest.mark.parametrize("what", ["irqs-off", "preempt-off"])
def test_the_figures_of_the_recording_state_the_same_limit(tmp_path: Path, what: What) -> None:
    recording = open_recording(sampled(tmp_path, what))
    off = summarize_benchmark(recording.manifest, recording.repetitions, "r").off
    assert off is not None
    assert max(mark.high_ns for mark in off.longest) == longest_off_ns(recording.manifest)[what]


def test_a_section_that_windows_saw_longer_stays(tmp_path: Path) -> None:
    path = sampled(tmp_path, "irqs-off")
    manifest = open_recording(path).manifest
    (turn,) = manifest.turns
    assert turn.off is not None
    groups = [replace(group, longest_ns=1_000) for group in turn.off.groups]
    short = replace(manifest, turns=[replace(turn, off=replace(turn.off, groups=groups))])
    assert longest_off_ns(short) == {"irqs-off": 1_000 + PERIOD_NS}
    (path / "manifest.json").write_bytes(msgspec.json.encode(short))
    window = pieces(analytic_bound([RECORDED]))["interrupts disabled"]
    assert window > 1_000 + PERIOD_NS
    assert pieces(analytic_bound([RECORDED, path]))["interrupts disabled"] == window


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
def test_the_longest_pieces_make_the_latest_activation_also_without_its_window(path: Path) -> None:
    latest, *others = activations(path)
    assert together_ns([latest, *others]) >= latest.breakdown.latency_ns
    assert together_ns(others) >= latest.breakdown.latency_ns


@pytest.fixture(scope="module")
def recorded() -> list[TracedActivation]:
    return activations(RECORDED)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chosen=st.lists(st.integers(0, 193), min_size=1, max_size=20, unique=True))
def test_the_pieces_of_any_windows_make_the_latest_of_them(
    recorded: list[TracedActivation], chosen: list[int]
) -> None:
    windows = [recorded[place] for place in chosen]
    assert together_ns(windows) >= max(traced.breakdown.latency_ns for traced in windows)


def test_without_the_window_of_a_piece_the_largest_seen_refutes_the_bound(tmp_path: Path) -> None:
    copy = tmp_path / "a"
    shutil.copytree(RECORDED, copy)
    windows = pq.read_table(RECORDED / "windows.parquet")
    latency_ns = pc.subtract(windows["run_ns"], windows["due_ns"])
    # The usual activations have no section of the fault, which lasts 150 µs.
    pq.write_table(windows.filter(pc.less(latency_ns, 12_000)), copy / "windows.parquet")
    few, whole = analytic_bound([copy]), analytic_bound([RECORDED])
    assert 0 < few.windows < whole.windows
    assert few.bound_ns == few.largest_ns == whole.largest_ns
    assert (few.is_refuted, whole.is_refuted) == (True, False)
