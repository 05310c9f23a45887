"""What a probe sends of a section's executions becomes samples whose accounting closes, or not."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journals import START
from section_journals import (
    DRAWN,
    MOVED,
    STARTED,
    Execution,
    bin_of,
    bins,
    raw_bins,
    result,
    rows,
    section_journal,
)

from leb128 import leb128
from whylate.recording.finish import finish
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.recording.sections import SectionAccount
from whylate.wire.constants import MOST_WAITS, WAIT_BINS
from whylate.wire.messages import (
    ExecutionBins,
    Executions,
    Message,
    Name,
    Samples,
    SampleStages,
    SampleThreads,
    SectionFloor,
    SectionLock,
    SectionResult,
    SectionStarted,
)

#: In the order in which they ended: the second began before the first.
EXECUTIONS = [
    Execution(301, 2_000_000, 40_000),
    Execution(302, 1_990_000, 60_000, 1, DRAWN | MOVED),
    Execution(301, 3_000_000, 7),
    Execution(302, 3_500_000, 2_500_000_000),
]


def problems(manifest: Manifest) -> str:
    return "\n".join(problem.text for problem in manifest.problems if problem.fatal)


def test_each_execution_has_a_row_with_its_thread_and_when_it_began(tmp_path: Path) -> None:
    messages = [rows(EXECUTIONS), bins(EXECUTIONS), result(4, left=2, unmatched=9)]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[4]))
    assert not manifest.problems
    table = pq.read_table(tmp_path / "r" / "samples.parquet").to_pylist()
    assert [row["due_ns"] for row in table] == [START + each.begin_ns for each in EXECUTIONS]
    assert [row["latency_ns"] for row in table] == [each.duration_ns for each in EXECUTIONS]
    assert [row["pid"] for row in table] == [301, 302, 301, 302]
    section = open_recording(tmp_path / "r").manifest.section
    assert section is not None
    assert (section.hook, section.one_in, section.tried) == ("fentry", 1, 17)
    assert section.account == SectionAccount(6, 4, 0, 2, 0, 0, 9, 0)
    assert sum(part.count for cpu in section.cpus for part in cpu.bins) == 4
    assert {part.bin for cpu in section.cpus for part in cpu.bins} == {
        bin_of(each.duration_ns) for each in EXECUTIONS
    }


def test_what_the_probe_dropped_is_a_gap_in_the_numbers(tmp_path: Path) -> None:
    messages: list[Message] = [rows(EXECUTIONS[:2]), rows(EXECUTIONS[2:3], first=5)]
    messages += [bins([*EXECUTIONS, *EXECUTIONS[:2]]), result(6)]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[3], dropped=[3]))
    (account,) = manifest.cpus
    assert (account.seen, account.dropped) == (3, 3)
    assert not problems(manifest)


def test_rows_and_bins_are_of_their_own_cpu(tmp_path: Path) -> None:
    messages: list[Message] = [rows(EXECUTIONS[:1]), rows(EXECUTIONS[1:], cpu=1)]
    messages += [bins(EXECUTIONS[:1]), bins(EXECUTIONS[1:], cpu=1), result(4)]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[1, 3]))
    assert not problems(manifest)
    assert [cpu.seen for cpu in manifest.cpus] == [1, 3]
    assert manifest.section is not None
    assert [cpu.cpu for cpu in manifest.section.cpus] == [0, 1]


@pytest.mark.parametrize(
    ("account", "why"),
    [
        (result(4, entries=5), "5 executions began, but 4 returned"),
        (result(4, entries=3), "3 executions began, but 4 returned"),
        (result(4, in_flight=1, entries=4), "1 in flight"),
        (result(4, left=2, entries=4), "2 left"),
        (result(4, too_deep=3, entries=4), "3 too deep"),
        (result(4, no_room=5, entries=4), "5 without room"),
        (result(5), "5 executions returned, and 4 are in bins"),
        (result(3), "3 executions returned, and 4 are in bins"),
        (result(3), "4 executions were kept of 3"),
    ],
)
def test_an_accounting_that_does_not_close_is_fatal(
    tmp_path: Path, account: SectionResult, why: str
) -> None:
    messages = [rows(EXECUTIONS), bins(EXECUTIONS), account]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[4]))
    assert "the accounting of executions does not close" in problems(manifest)
    assert why in problems(manifest)


def test_returns_without_any_bins_are_fatal(tmp_path: Path) -> None:
    manifest = finish(section_journal(tmp_path / "r", rows(EXECUTIONS), result(4), seen=[4]))
    assert "4 executions returned, and 0 are in bins" in problems(manifest)


def test_rows_that_the_probe_did_not_count_void_the_run(tmp_path: Path) -> None:
    messages = [rows(EXECUTIONS), bins(EXECUTIONS), result(4)]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[3]))
    assert "the sample accounting does not close" in problems(manifest)


def test_a_block_that_comes_twice_is_refused(tmp_path: Path) -> None:
    messages = [rows(EXECUTIONS), rows(EXECUTIONS), bins(EXECUTIONS), result(4)]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[4]))
    assert manifest.cpus[0].seen == 4
    assert "1 blocks of samples of CPU 0 contradict others" in problems(manifest)


def test_a_killed_run_has_no_account_and_keeps_its_rows(tmp_path: Path) -> None:
    section_journal(tmp_path / "r", rows(EXECUTIONS), seen=[0], ended=False)
    recording = open_recording(tmp_path / "r")
    assert recording.manifest.state == "recovered"
    assert recording.manifest.section is not None
    assert recording.manifest.section.account is None
    assert recording.manifest.cpus[0].seen == 4


def raw(*numbers: int, count: int = 1, cpu: int = 0, first: int = 0) -> Executions:
    return Executions(cpu, count, first, b"".join(map(leb128, numbers)))


HOSTILE: dict[str, Message] = {
    "a second start": STARTED,
    "rows on a CPU that is not watched": rows(EXECUTIONS, cpu=1),
    "too few rows": raw(2, 40, 301, 1, count=2, first=4),
    "half a row": raw(2, 40, 301, first=4),
    "half a number": Executions(0, 1, 4, b"\x02\x28\x01\x81"),
    "an unknown flag": raw(2, 40, 301, 4, first=4),
    "a CPU beyond all": raw(2, 40, 301, 1 | 1 << 30, first=4),
    "a pid beyond all": raw(2, 40, 1 << 31, 1, first=4),
    "a beginning before the clock's zero": raw(2 * START + 1, 40, 301, 1, first=4),
    "a duration of 64 bits": raw(2, (1 << 64) - 1, 301, 1, first=4),
    "a duration beyond all time": raw(2, (1 << 63) - 1, 301, 1, first=4),
    "a number beyond all": raw(2, 40, 301, 1, first=(1 << 63) - 1),
    "bins of a CPU twice": bins(EXECUTIONS),
    "bins in no order": raw_bins(5, 1, 4, 1, cpu=1),
    "a bin twice": raw_bins(5, 1, 5, 1, cpu=1),
    "an empty bin": raw_bins(5, 0, cpu=1),
    "a bin beyond all": raw_bins(WAIT_BINS, 1, cpu=1),
    "more in a bin than there can be": raw_bins(5, MOST_WAITS + 1, cpu=1),
    "a lock at no address": SectionLock(1 << 63, "", 1, 1, 5, 5, ()),
    "bins that are cut": ExecutionBins(1, 2, b"\x01\x01"),
    "a second account": result(4),
    "samples": Samples(0, 1, 4, b"\x02"),
    "stages": SampleStages(0, 1, 0, bytes(3)),
    "threads": SampleThreads(0, 1, 0, b"\x01\x02\x01"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_probe_would_send_is_refused(tmp_path: Path, name: str) -> None:
    messages = [rows(EXECUTIONS), bins(EXECUTIONS), result(4), HOSTILE[name]]
    manifest = finish(section_journal(tmp_path / "r", *messages, seen=[4]))
    assert manifest.cpus[0].seen == 4
    assert problems(manifest) == "1 record of the journal was damaged"
    assert manifest.section is not None
    assert manifest.section.account == SectionAccount(4, 4, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("message", [bins(EXECUTIONS), result(0)])
def test_what_is_of_no_section_is_refused(tmp_path: Path, message: Message) -> None:
    manifest = finish(section_journal(tmp_path / "r", message, seen=[0], started=None))
    assert "1 record of the journal was damaged" in problems(manifest)
    assert manifest.section is None


def test_a_run_that_planned_a_section_and_has_no_account_of_it_is_fatal(tmp_path: Path) -> None:
    manifest = finish(section_journal(tmp_path / "r", rows(EXECUTIONS), seen=[4]))
    assert "no account of the executions" in problems(manifest)
    manifest = finish(section_journal(tmp_path / "s", seen=[0], started=None))
    assert "no account of the executions" in problems(manifest)


numbers = st.integers(0, 9) | st.integers(0, (1 << 64) - 1)
messages = st.one_of(
    st.builds(Executions, st.integers(0, 2), st.integers(0, 4), numbers, st.binary(max_size=24)),
    st.builds(ExecutionBins, st.integers(0, 2), st.integers(1, 4), st.binary(max_size=12)),
    st.builds(SectionResult, *[numbers] * 8),
    st.builds(
        SectionStarted,
        st.integers(1, 3),
        st.integers(1, 1 << 24),
        st.integers(0, 15),
        numbers,
        numbers,
    ),
    st.builds(
        SectionFloor,
        st.integers(0, 1),
        st.integers(0, 4),
        numbers,
        numbers,
        numbers,
        st.integers(-9, 9),
        st.text(max_size=4),
    ),
    st.builds(
        SectionLock,
        numbers,
        st.text(max_size=4),
        st.integers(0, 63),
        numbers,
        numbers,
        numbers,
        st.lists(st.text(max_size=4), max_size=9).map(tuple),
    ),
    st.builds(Name, st.integers(1, 5), numbers, st.text(max_size=20)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150,
          deadline=None)  # fmt: skip
@given(sent=st.lists(messages, max_size=8), starts=st.booleans())
def test_whatever_a_board_sends_there_is_a_recording_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, sent: list[Message], starts: bool
) -> None:
    directory = tmp_path_factory.mktemp("hostile") / "r"
    section_journal(
        directory, rows(EXECUTIONS), *sent, seen=[4, 0], started=STARTED if starts else None
    )
    recording = open_recording(directory)
    assert sum(len(cpu_series.latency_ns) for cpu_series in recording.samples) >= 4
