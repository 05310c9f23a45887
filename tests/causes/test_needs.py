"""Which causes can be named on a board, from what its recorder reported when it was tried.

The reports and facts in data are of real boards: this kind of guest, virt-arm64 and sabrelite in
QEMU, the latter two also with a kernel that was locked down (lockdown=confidentiality).
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from whylate.causes.needs import NEEDS, Sees, Sight, sights
from whylate.causes.piece import Cause
from whylate.recording.manifest import Fact, RecorderReport, SourceReport, SymbolsReport
from whylate.report.terminal.causes import not_told_apart

DATA = Path(__file__).parent / "data"
RECORDER = Path(__file__).parents[2] / "probe/src/recorder"


class Board(msgspec.Struct):
    """A file in data."""

    report: RecorderReport
    facts: list[Fact]


def board(name: str) -> Board:
    return msgspec.json.decode((DATA / f"{name}.json").read_bytes(), type=Board)


def seen(one: Board) -> dict[Cause, Sight]:
    return {sight.cause: sight for sight in sights(one.report, one.facts)}


def with_facts(one: Board, **values: object) -> Board:
    kept = [fact for fact in one.facts if fact.name not in values]
    added = [Fact(name, value, "test") for name, value in values.items()]  # type: ignore[arg-type]
    return Board(one.report, kept + added)


def without(one: Board, name: str, error: int) -> Board:
    sources = [
        SourceReport(source.name, error) if source.name == name else source
        for source in one.report.sources
    ]
    return Board(msgspec.structs.replace(one.report, sources=sources), one.facts)


def test_every_cause_has_its_needs() -> None:
    # What is left over, the thread's own way back and whylate's part need nothing but the recorder.
    rest = {Cause.RETURN, Cause.RECORDING, Cause.UNEXPLAINED, Cause.NOT_OBSERVED}
    assert set(Cause) - set(NEEDS) == rest


def test_every_tracepoint_that_is_needed_is_one_that_both_engines_ask_for() -> None:
    wanted = {name for need in NEEDS.values() for name in need.tracepoints}
    for file in ("bpf_sources.c", "tracefs/sources.c"):
        asked = set(re.findall(r'"([a-z]+:[a-z_]+)"', (RECORDER / file).read_text()))
        assert wanted <= asked, file


def test_a_guest_with_bpf_tells_all_apart_but_a_part_of_locks() -> None:
    found = seen(board("pc-guest-bpf"))
    assert {cause for cause, one in found.items() if one.sees is not Sees.APART} == {Cause.LOCK}
    assert found[Cause.LOCK].sees is Sees.PARTLY


def test_arm64_has_no_tracepoint_for_page_faults() -> None:
    found = seen(board("virt-arm64-bpf"))
    assert found[Cause.PAGE_FAULT].sees is Sees.NOT
    assert "exceptions:page_fault_user" in found[Cause.PAGE_FAULT].missing
    # By the rule a fault that was not seen is the thread's way back to user code.
    assert found[Cause.PAGE_FAULT].counts_as == Cause.RETURN.value
    assert found[Cause.INTERRUPTS_OFF].sees is Sees.APART


def test_tracefs_takes_no_stacks_so_that_sections_are_unexplained() -> None:
    found = seen(board("sabrelite-tracefs"))
    for cause in (Cause.INTERRUPTS_OFF, Cause.PREEMPTION_OFF):
        assert found[cause].sees is Sees.NOT
        assert "stacks" in found[cause].missing
        assert found[cause].counts_as == Cause.UNEXPLAINED.value
    assert found[Cause.NMI].sees is Sees.ABSENT
    assert found[Cause.INTERRUPT].sees is Sees.APART


def test_under_lockdown_a_program_that_reads_the_kernel_is_refused() -> None:
    found = seen(board("virt-arm64-lockdown"))
    assert found[Cause.INTERRUPTS_OFF].sees is Sees.NOT
    assert "refuses" in found[Cause.INTERRUPTS_OFF].missing
    assert found[Cause.INTERRUPT].sees is Sees.PARTLY
    assert found[Cause.PREEMPTION_OFF].sees is Sees.APART


def test_where_nothing_can_be_recorded_no_cause_is_told_apart_and_the_reason_is_given() -> None:
    for sight in seen(board("sabrelite-lockdown")).values():
        assert sight.sees is Sees.NOT
        assert "BTF" in sight.missing
        assert "lockdown" in sight.missing
    assert all(sight.sees is Sees.NOT for sight in sights(None, []))


@pytest.mark.parametrize(
    ("cause", "tracepoint"),
    [(cause, name) for cause, need in NEEDS.items() for name in need.tracepoints],
)
def test_a_cause_is_not_told_apart_without_one_of_its_tracepoints(
    cause: Cause, tracepoint: str
) -> None:
    lacking = seen(without(board("pc-guest-bpf"), tracepoint, 2))[cause]
    assert lacking.sees is Sees.NOT
    assert tracepoint in lacking.missing


def test_an_interrupt_that_is_no_device_s_is_missed_without_its_vector() -> None:
    one = seen(without(board("pc-guest-bpf"), "irq_vectors:local_timer_entry", 2))
    assert one[Cause.INTERRUPT].sees is Sees.PARTLY
    # A vector that this machine lacks for want of the hardware is no loss.
    assert board("pc-guest-bpf").report.sources[-1].error == 0
    other = seen(without(board("pc-guest-bpf"), "irq_vectors:thermal_apic_entry", 2))
    assert other[Cause.INTERRUPT].sees is Sees.APART


def test_steal_takes_a_host_that_says_so_and_a_kernel_that_listens() -> None:
    guest = board("pc-guest-bpf")
    assert seen(with_facts(guest, steal_since_boot_s=0.0))[Cause.STEAL].sees is Sees.PARTLY
    assert seen(with_facts(guest, kernel_config=["SMP=y"]))[Cause.STEAL].sees is Sees.NOT
    assert seen(with_facts(guest, hypervisor=None))[Cause.STEAL].sees is Sees.ABSENT


def test_without_symbols_sections_have_no_place() -> None:
    guest = board("pc-guest-bpf")
    hidden = SymbolsReport(False, 2, False, 10, 0, [])
    one = Board(msgspec.structs.replace(guest.report, symbols=hidden), guest.facts)
    assert seen(one)[Cause.INTERRUPTS_OFF].sees is Sees.PARTLY
    assert "symbols" in seen(one)[Cause.INTERRUPTS_OFF].missing


def test_throttling_that_is_switched_off_is_not_there() -> None:
    found = seen(with_facts(board("pc-guest-bpf"), rt_runtime_us=-1))
    assert found[Cause.THROTTLING].sees is Sees.ABSENT


def test_what_a_board_says_may_be_of_any_type() -> None:
    odd: dict[str, object] = dict.fromkeys((fact.name for fact in board("pc-guest-bpf").facts), 7)
    one = with_facts(board("pc-guest-bpf"), **odd)
    strange = without(one, "irq:irq_handler_entry", -(2**31))
    assert len(seen(strange)) == len(NEEDS)


def test_explain_says_in_a_line_what_was_not_told_apart() -> None:
    tracefs = board("sabrelite-tracefs")
    line = not_told_apart(sights(tracefs.report, tracefs.facts))
    assert line.startswith("not told apart on this board: interrupts off, preemption off (stacks,")
    guest = board("pc-guest-bpf")
    assert not not_told_apart(sights(guest.report, guest.facts))
    evil = msgspec.structs.replace(tracefs.report, engine=None, refused="\x1b[2Jevil")
    assert "\x1b" not in not_told_apart(sights(evil, []))
