"""The kernel's log and the processors' counters, read by a real probe."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from captured import GUEST, typed

from whylate.boards.board import notify_nobody
from whylate.boards.facts import bootlog, facts
from whylate.boards.facts.bootlog import KERNEL_LOG, read_facts
from whylate.boards.facts.reading import Files
from whylate.boards.facts.snapshot import (
    CpuCounts,
    CpuFrequency,
    FileContent,
    FileRequest,
    ProbeFacts,
)
from whylate.boards.facts.tracing import make_count_facts
from whylate.boards.files import measure_frequencies, read_files
from whylate.boards.local import LocalBoard
from whylate.boards.streams.process import ProcessStream
from whylate.probe.client import Client
from whylate.recording.manifest import Fact

RESTRICTED = Path("/proc/sys/kernel/dmesg_restrict")


def read_log(limit: int, start: Sequence[str] = ()) -> FileContent:
    """Read this machine's kernel log by its probe, started by `start` where that is given."""
    request = FileRequest(KERNEL_LOG, limit, kind="kernel log")
    command = [*start, str(LocalBoard().binary.path)]
    with closing(ProcessStream(command)) as stream:
        client = Client(stream)
        client.hello()
        snapshot = read_files(client, [request])
    return snapshot.files[KERNEL_LOG]


def by_name(items: Sequence[Fact]) -> dict[str, Fact]:
    return {fact.name: fact for fact in items}


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to read the kernel's log")


@needs_root
def test_the_kernels_log_comes_whole_and_in_order() -> None:
    content = read_log(1 << 20)
    assert content.error is None
    lines = content.data.decode("utf-8", "replace").split("\n")
    times = [float(line.split("[", 1)[1].split("]")[0]) for line in lines if "[" in line[:5]]
    assert len(times) > 10
    # Printing threads may swap neighbours; the log as a whole goes forward.
    assert times[0] <= times[len(times) // 2] <= times[-1]


@needs_root
def test_of_a_log_that_is_too_long_the_oldest_part_is_kept_and_said_to_be_cut() -> None:
    whole, part = read_log(1 << 20), read_log(200)
    assert not whole.truncated
    assert part.truncated
    assert len(part.data) == 200
    assert whole.data.startswith(part.data)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@needs_root
def test_a_log_that_is_closed_to_the_user_says_so() -> None:
    # The probe has to be started by a user who cannot reach it where it lies.
    nobody = ["setpriv", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    content = read_log(4096, nobody)
    if RESTRICTED.read_text().strip() == "1":
        assert content.error == "EPERM"
        fact = by_name(read_facts(Files(typed({KERNEL_LOG: content}))))["boot_log"]
        assert fact.value is None
        assert "not readable (EPERM)" in fact.source
    else:
        assert content.error is None


def test_a_board_that_was_not_asked_for_its_log_has_no_facts_of_it() -> None:
    assert read_facts(Files(typed({}))) == []


def test_the_facts_of_a_snapshot_hold_those_of_its_log() -> None:
    log = (Path(__file__).parent / "data" / "bootlogs" / "sabrelite.txt").read_bytes()
    items = facts(typed({KERNEL_LOG: log}), GUEST)
    assert [f.value for f in items if f.name == "l2_ways"] == [8]
    assert {f.theme for f in items if f.name.startswith("l2_")} == {"boot log"}


def test_a_log_that_was_cut_says_where() -> None:
    content = FileContent(b"<6>[    0.000000] x\n" * 100, truncated=True)
    named = by_name(read_facts(Files(typed({KERNEL_LOG: content}))))
    assert named["boot_log_cut"].value == "after its oldest 1 KiB"


def test_the_log_is_asked_for_by_its_own_name_alone() -> None:
    assert [request.pattern for request in bootlog.BOOT_LOG[0].requests] == [KERNEL_LOG]


# ------------------------------------------------------------------ counters


def counted(*counts: CpuCounts) -> ProbeFacts:
    cpus = tuple(CpuFrequency(cpu, 10**9, count) for cpu, count in enumerate(counts))
    return ProbeFacts("Linux", "n", "r", "v", "m", "aarch64", 64, cpu_frequencies=cpus)


#: What virt-arm64 counted with -icount, and what the CPUs of sabrelite said; both in QEMU 7.2.
VIRT_ARM64 = CpuCounts(100_000, 250_058, None, 125_058, None)
SABRELITE_0 = CpuCounts(100_000, 0, None, 0, None)
SABRELITE_1 = CpuCounts(100_000, 0, "ENOENT", 0, "ENOENT")


def values(probe: ProbeFacts) -> dict[str, object]:
    return {
        fact.name.removeprefix("pmu_"): fact.value
        for fact in make_count_facts(Files(typed({}), probe))
    }


def test_counters_that_count_are_shown_with_their_ratio() -> None:
    assert values(counted(VIRT_ARM64)) == {
        "cycles": "250058",
        "instructions": "125058",
        "instructions_per_cycle": "0.50",
    }


def test_a_counter_that_reads_zero_is_told_from_one_that_is_not_there() -> None:
    shown = values(counted(SABRELITE_0, SABRELITE_1, SABRELITE_1))
    assert shown["cycles"] == ["cpu 0: reads 0", "cpu 1-2: none (no such counter)"]
    assert shown["instructions"] == shown["cycles"]
    assert shown["instructions_per_cycle"] == "none (it takes both counts)"


def test_cycles_without_instructions_make_no_ratio() -> None:
    alone = CpuCounts(100_000, 90_510, None, 0, "ENOENT")
    assert values(counted(alone)) == {
        "cycles": "90510",
        "instructions": "none (no such counter)",
        "instructions_per_cycle": "none (it takes both counts)",
    }


def test_a_counter_that_others_hold_or_that_is_not_allowed_says_so() -> None:
    held = CpuCounts(100_000, 0, "EBUSY", 0, "EACCES")
    shown = values(counted(held))
    assert shown["cycles"] == "none (others hold the counter)"
    assert "perf_event_paranoid" in str(shown["instructions"])


def test_this_machines_counters_are_asked_on_every_cpu_and_agree_with_what_it_has() -> None:
    board = LocalBoard()
    with closing(board.start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        measured = measure_frequencies(client, welcome.cpus)
    assert [frequency.cpu for frequency in measured] == list(welcome.cpus)
    devices = Path("/sys/bus/event_source/devices")
    present = any((devices / name).exists() for name in ("cpu", "cpu_core", "armv8_pmuv3_0"))
    for frequency in measured:
        assert frequency.counts is not None
        assert frequency.counts.chain == 100_000
        if not present:
            assert frequency.counts.cycles_error is not None
            assert frequency.counts.instructions_error is not None
        elif frequency.counts.instructions_error is None and frequency.counts.instructions:
            assert 100_000 <= frequency.counts.instructions < 200_000
