"""Waits of a program's threads: counted in bins, and refused where no board can have seen them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from app_journals import NAMES, THREAD, Wakeup, app_journal, block
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording.decode_waits import decode_wait
from whylate.recording.finish import finish
from whylate.recording.reader import open_recording
from whylate.recording.waits import WaitReport, bin_edges, bin_of
from whylate.summary.summarize import summarize
from whylate.wire.codec import WireError
from whylate.wire.constants import LATEST_NS, WAIT_BINS
from whylate.wire.messages import AppWait, Name

FUTEX = 202
WAKEUPS = [Wakeup(301, n * 10_000_000, 40_000 + n, THREAD) for n in range(30)]


def wait(durations_ns: list[int]) -> AppWait:
    """A group of waits as the probe sends it."""
    bins: dict[int, int] = {}
    for duration in sorted(durations_ns):
        bins[bin_of(duration)] = bins.get(bin_of(duration), 0) + 1
    data, before = b"", 0
    for number, count in bins.items():
        data += leb128(zigzag(number - before)) + leb128(count)
        before = number
    return AppWait(301, 302, THREAD, 1, 1 + FUTEX, 0x7F00, len(durations_ns),
                   sum(durations_ns), max(durations_ns), len(bins), data)  # fmt: skip


def test_bins_follow_each_other_and_hold_what_is_counted_in_them() -> None:
    assert bin_edges(0) == (0, 1)
    for number in range(WAIT_BINS - 1):
        low, high = bin_edges(number)
        assert bin_edges(number + 1)[0] == high
        assert bin_of(low) == bin_of(high - 1) == number
        assert high - low <= max(1, low / 16)
    assert bin_edges(WAIT_BINS - 1)[1] == 1 << 52
    assert bin_of(LATEST_NS) == WAIT_BINS - 1


@pytest.mark.parametrize(
    "changed",
    [
        {"count": 4},
        {"total_ns": 1},
        {"total_ns": LATEST_NS},
        {"longest_ns": 1},
        {"longest_ns": LATEST_NS},
        {"origin": 0},
        {"origin": 1},
        {"tid": 0},
        {"bins": 3},
        {"data": b""},
        {"data": b"\xff"},
        {"data": leb128(zigzag(-1)) + leb128(3), "bins": 1},
        {"data": leb128(zigzag(WAIT_BINS)) + leb128(3), "bins": 1},
        {"data": leb128(zigzag(bin_of(10_000_000))) + leb128(1 << 60), "bins": 1},
        {"data": (leb128(zigzag(bin_of(10_000_000))) + leb128(1)) + 2 * (leb128(0) + leb128(1))},
    ],
)
def test_waits_that_contradict_themselves_are_refused(changed: dict[str, object]) -> None:
    sound = wait([5_000_000, 10_000_000, 10_000_000])
    assert decode_wait(sound).count == 3
    changed = {"bins": 3} | changed if "data" in changed and "bins" not in changed else changed
    with pytest.raises(WireError):
        decode_wait(replace(sound, **changed))


def test_a_manifest_with_impossible_waits_is_refused() -> None:
    sound = decode_wait(wait([5_000_000, 10_000_000]))
    text = msgspec.json.encode(sound)
    assert msgspec.json.decode(text, type=WaitReport) == sound
    for old, new in ((b'"count":2', b'"count":3'), (b'"pid":301', b'"pid":0')):
        assert old in text
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(text.replace(old, new), type=WaitReport)


def test_waits_are_kept_with_the_names_of_what_was_waited_in_and_who_ended_it(
    tmp_path: Path,
) -> None:
    sent = wait([10_000_000] * 29 + [12_000_000])
    names = [*NAMES, Name(4, 302, "holder")]
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), *names, sent, seen=30))
    assert [problem.code for problem in manifest.problems if problem.fatal] == []
    recording = open_recording(tmp_path / "r")
    summary = summarize(recording.samples, recording.manifest, "r")
    (figures,) = summary.waits
    assert (figures.pid, figures.system_call, figures.futex) == (301, "futex", "0x7f00")
    assert (figures.origin, figures.waker, figures.waker_name) == ("thread", 302, "holder")
    assert (figures.count, figures.max_ns) == (30, 12_000_000)
    assert figures.p50_ns == pytest.approx(10_000_000, rel=0.032)
    assert figures.p99_ns is None
    assert summary.wakeups_without_wait == 0
    # None of it is in a latency.
    assert summary.together.latency_ns["max"].value == 40_029


def test_more_waits_than_wakeups_are_none(tmp_path: Path) -> None:
    sent = wait([10_000_000] * 31)
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), *NAMES, sent, seen=30))
    assert manifest.waits == []
    assert "1 record of the journal was damaged" in str(manifest.problems)


def test_without_waits_there_is_no_table(tmp_path: Path) -> None:
    finish(app_journal(tmp_path / "r", *block(WAKEUPS), *NAMES, seen=30))
    recording = open_recording(tmp_path / "r")
    summary = summarize(recording.samples, recording.manifest, "r")
    assert (summary.waits, summary.wakeups_without_wait) == ([], 0)
