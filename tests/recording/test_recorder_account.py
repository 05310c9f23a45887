"""What the recorder said of itself is in the manifest, bounded, and what is impossible is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from journals import journal

from whylate.recording.finish import finish
from whylate.recording.manifest import RecorderReport
from whylate.recording.recorder.accounting import MOST_BUILD_IDS
from whylate.wire.messages import (
    BuildId,
    Hook,
    Message,
    Note,
    RecorderCost,
    RecorderDetached,
    RecorderMaximum,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    Symbols,
)

STARTED = RecorderStarted("bpf", 4096)
RESULT = RecorderResult(0, 0, 900, 0, 900, 0)
SYMBOLS = Symbols(1, 2, 1, 12, 11)
KERNEL = BuildId("", bytes(range(20)))


def report_of(directory: Path, *messages: Message) -> tuple[RecorderReport, int]:
    """Return the report, and how many messages were damaged."""
    manifest = finish(journal(directory / "r", STARTED, *messages))
    assert manifest.recorder is not None
    damaged = [p for p in manifest.problems if p.code == "journal"]
    return manifest.recorder, int(damaged[0].text.split()[0]) if damaged else 0


def test_symbols_and_build_ids_are_kept(tmp_path: Path) -> None:
    report, damaged = report_of(tmp_path, SYMBOLS, KERNEL, BuildId("e1000e", b"\xab\xcd"), RESULT)
    assert not damaged
    symbols = report.symbols
    assert symbols is not None
    assert (symbols.shown, symbols.kptr_restrict, symbols.lowered) == (True, 2, True)
    assert (symbols.addresses, symbols.named) == (12, 11)
    assert [(one.module, one.build_id) for one in symbols.build_ids] == [
        (None, bytes(range(20)).hex()),
        ("e1000e", "abcd"),
    ]


def test_a_kernel_without_the_setting_has_none(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path, Symbols(0, -1, 0, 3, 0), RESULT)
    assert report.symbols is not None
    assert report.symbols.kptr_restrict is None
    assert not report.symbols.shown


def test_what_was_measured_before_the_run_is_kept_with_the_number_of_runs(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path, RecorderCost(2000, 220_000, 5_000_000), RESULT)
    assert (report.sampled_runs, report.sampled_ns) == (2000, 220_000)
    assert report.gather_ns == 5_000_000
    assert (report.runs, report.run_ns) == (900, None)


def test_where_nothing_was_measured_the_cost_is_not_known(tmp_path: Path) -> None:
    report, _ = report_of(tmp_path, RecorderCost(0, 0, 7), RESULT)
    assert (report.sampled_runs, report.sampled_ns, report.gather_ns) == (None, None, 7)


def test_why_a_better_engine_was_declined_is_no_problem_of_the_run(tmp_path: Path) -> None:
    manifest = finish(
        journal(tmp_path / "r", STARTED, Note("recorder-declined", "bpf: no BTF"), RESULT)
    )
    assert manifest.recorder is not None
    assert manifest.recorder.declined == "bpf: no BTF"
    assert not manifest.problems


@pytest.mark.parametrize(
    "message",
    [Symbols(1, 0, 0, 3, 4), BuildId("m", b""), BuildId("m", b"x" * 65)],
    ids=["more names than addresses", "no build id", "a build id of 65 bytes"],
)
def test_what_cannot_be_is_counted_as_damaged(tmp_path: Path, message: Message) -> None:
    report, damaged = report_of(tmp_path, SYMBOLS, message, RESULT)
    assert damaged == 1
    assert report.symbols is not None
    assert not report.symbols.build_ids
    assert report.symbols.named == 11


def test_a_board_can_fill_neither_the_manifest_nor_the_screen(tmp_path: Path) -> None:
    many = [BuildId(f"m{i}" + "x" * 200, b"\1") for i in range(2 * MOST_BUILD_IDS)]
    report, _ = report_of(tmp_path, SYMBOLS, BuildId("a\x1b[2Jb", b"\1"), *many, RESULT)
    assert report.symbols is not None
    assert len(report.symbols.build_ids) == MOST_BUILD_IDS
    names = [one.module for one in report.symbols.build_ids]
    assert names[0] == "a?[2Jb"
    assert all(name is not None and len(name) <= 64 for name in names)


def test_what_is_no_unicode_or_would_act_is_kept_as_what_can_be_shown(tmp_path: Path) -> None:
    hostile = "a\udcff\x1b]0;x\x07b"
    started = RecorderStarted(hostile, 4096)
    notes = Note("recorder-declined", hostile), Note(hostile, hostile)
    manifest = finish(journal(tmp_path / "r", started, *notes, RecorderSource(hostile, 0), RESULT))
    assert manifest.recorder is not None
    assert manifest.recorder.engine == manifest.recorder.declined == "a??]0;x?b"
    assert manifest.recorder.sources[0].name == "a??]0;x?b"
    assert "a??]0;x?b" in {problem.text for problem in manifest.problems}
    refused = finish(journal(tmp_path / "s", Note("no-recorder", hostile))).recorder
    assert refused is not None
    assert refused.refused == "a??]0;x?b"


def test_when_it_was_detached_is_kept(tmp_path: Path) -> None:
    first, second = (
        RecorderDetached(10, 20, 30, 40, 0, 1, 7, 7),
        RecorderDetached(50, 60, 70, 80, 0, 0, 0, 0),
    )
    report, damaged = report_of(tmp_path, first, second, RESULT)
    assert not damaged
    assert [(s.begin_ns, s.until_ns, s.before, s.after) for s in report.detached] == [
        (10, 40, 7, 7),
        (50, 80, None, None),
    ]
    assert report.hides(39, 41)
    assert report.hides(5, 11)
    assert not report.hides(40, 50)


def test_functions_of_others_are_recorded_escaped_and_bounded(tmp_path: Path) -> None:
    started = RecorderStarted("bpf", 1024)
    hooks = [Hook(1, 1, "sched_\x1b[2Jswitch", "slow\x1b[2J [tracer]")]
    hooks += [Hook(1, 0, "a" * 900, "f" * 900)] * 20
    hooks.append(Hook(1, 0, "", ""))
    manifest = finish(journal(tmp_path / "r", *hooks, started, RESULT))
    assert manifest.recorder is not None
    assert manifest.recorder.shows_hooks is True
    first, *others = manifest.recorder.hooks
    assert "\x1b" not in first.at + first.name
    assert first.name.endswith("[tracer]")
    assert first.timed
    assert len(others) == 15
    assert all(len(hook.name) <= 160 and len(hook.at) <= 64 for hook in others)
    assert not any(hook.timed for hook in others)
    unknown = finish(journal(tmp_path / "unknown", Hook(0, 0, "", ""), started, RESULT))
    assert unknown.recorder is not None
    assert unknown.recorder.shows_hooks is False
    without_bpf = finish(journal(tmp_path / "without", started, RESULT))
    assert without_bpf.recorder is not None
    assert without_bpf.recorder.shows_hooks is None


def test_maxima_have_the_names_of_events_and_are_escaped_and_bounded(tmp_path: Path) -> None:
    started = RecorderStarted("bpf", 1024)
    maxima = [
        RecorderMaximum(0, 1, 0, 9_000, 700, 5, (900, 1_100), (100, 900), ""),
        RecorderMaximum(1, 3, 1, 20, 800, 6, (), (), ""),
        RecorderMaximum(2, 37, 1, 1, 900, 7, (), (), "eth\x1b[2J0"),
        RecorderMaximum(2, 38, 1, 1, 900, 7, (), (), ""),
        RecorderMaximum(3, 0, 1, 1, 900, 7, (), (), ""),
        RecorderMaximum(1, 99, 1, 1, 900, 7, (), (), ""),
    ]
    report, damaged = report_of(tmp_path, started, *maxima, *maxima * 200, RESULT)
    assert not damaged
    assert report.maxima is not None
    assert len(report.maxima) == 1000
    assert [(each.cause, each.name) for each in report.maxima[:6]] == [
        ("interrupt", "local_timer"), ("softirq", "NET_RX"), ("interrupt", "eth?[2J0"),
        ("interrupt", "irq 38"), ("interrupt", "others"), ("softirq", "softirq 99"),
    ]  # fmt: skip
    assert (report.maxima[0].arrivals, report.maxima[0].spans_ns) == (9_000, [100, 900])
    assert report.maxima[0].totals_ns == [900, 1_100]
    without = finish(journal(tmp_path / "without", started, RESULT)).recorder
    assert without is not None
    assert without.maxima is None


@pytest.mark.parametrize(
    "impossible",
    [
        RecorderMaximum(0, 1, 0, 9_000, 700, 5, (), (900, 100), ""),
        RecorderMaximum(0, 1, 0, 9_000, 700, 5, (), (1, 2, 3, 4, 5, 6), ""),
        RecorderMaximum(0, 1, 0, 9_000, 700, 5, (900, 800), (), ""),
        RecorderMaximum(0, 1, 0, 9_000, 700, 5, (700, 800, 900), (), ""),
        RecorderDetached(10, 9, 30, 40, 0, 1, 7, 7),
        RecorderDetached(10, 20, 30, 29, 0, 1, 7, 7),
        RecorderDetached(10, 20, 30, 40, 0, 1, 8, 7),
    ],
)
def test_what_no_recorder_does_is_damage(tmp_path: Path, impossible: RecorderDetached) -> None:
    report, damaged = report_of(tmp_path, impossible, RESULT)
    assert damaged == 1
    assert report.detached == []


def test_a_recorder_is_not_detached_twice_at_a_time(tmp_path: Path) -> None:
    first, second = (
        RecorderDetached(10, 20, 30, 40, 0, 1, 7, 7),
        RecorderDetached(35, 60, 70, 80, 0, 1, 8, 8),
    )
    report, damaged = report_of(tmp_path, first, second, RESULT)
    assert damaged == 1
    assert len(report.detached) == 1


def test_a_source_that_was_not_attached_again_is_a_problem(tmp_path: Path) -> None:
    failed = RecorderDetached(10, 20, 30, 40, 1, 1, 7, 7)
    manifest = finish(journal(tmp_path / "r", STARTED, failed, RESULT))
    (problem,) = [p for p in manifest.problems if p.code == "recorder"]
    assert "could not be attached again in full (Operation not permitted)" in problem.text
