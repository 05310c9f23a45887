"""Which causes can be named on a board, from what its recorder reported when it was tried.

The reports and facts in data are of real boards: this kind of guest, virt-arm64 and sabrelite in
QEMU, the latter two also with a kernel that was locked down (lockdown=confidentiality).
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from whylate.causes.observability import (
    EXECUTION_NEEDS,
    NEEDS,
    Observability,
    Observable,
    list_observability,
)
from whylate.causes.window.piece import Cause
from whylate.recording.manifest import Fact, HookReport, RecorderReport, SourceReport, SymbolsReport
from whylate.report.causes import unobservable_text

DATA = Path(__file__).parent / "data"
RECORDER = Path(__file__).parents[2] / "probe/src/recorder"


class Board(msgspec.Struct):
    """A file in data."""

    report: RecorderReport
    facts: list[Fact]


def board(name: str) -> Board:
    return msgspec.json.decode((DATA / f"{name}.json").read_bytes(), type=Board)


def seen(board: Board) -> dict[Cause, Observability]:
    return {sight.cause: sight for sight in list_observability(board.report, board.facts)}


def with_facts(board: Board, **values: object) -> Board:
    kept = [fact for fact in board.facts if fact.name not in values]
    added = [Fact(name, value, "test") for name, value in values.items()]  # type: ignore[arg-type]
    return Board(board.report, kept + added)


def without(board: Board, name: str, error: int) -> Board:
    sources = [
        SourceReport(source.name, error) if source.name == name else source
        for source in board.report.sources
    ]
    return Board(msgspec.structs.replace(board.report, sources=sources), board.facts)


def test_every_cause_has_its_needs() -> None:
    # What is left over, the thread's own way back and whylate's part need nothing but the recorder.
    rest = {Cause.RETURN, Cause.RECORDING, Cause.UNEXPLAINED, Cause.NOT_OBSERVED}
    of_executions = {Cause.ASLEEP, Cause.OWN}
    assert set(Cause) - set(NEEDS) == rest | of_executions
    assert set(EXECUTION_NEEDS) - set(NEEDS) == {Cause.ASLEEP}


def test_functions_of_others_at_a_switch_are_told_with_what_they_hide() -> None:
    machine = board("pc-guest-bpf")
    hook = HookReport("sched_switch", "slow [tracer]", timed=False)
    hooked = msgspec.structs.replace(machine.report, shows_hooks=True, hooks=[hook])
    sights = seen(Board(hooked, machine.facts))
    hidden = {cause for cause, sight in sights.items() if "slow [tracer]" in sight.missing}
    assert hidden == {Cause.THREAD, Cause.PREEMPTION_DISABLED, Cause.HOOK}
    switched = hidden - {Cause.HOOK}
    assert all(sights[cause].counts_as == "unexplained" for cause in switched)
    assert "slow [tracer]" in unobservable_text(list(sights.values()))
    # Its time is known where it is timed, and then it hides nothing.
    timed = msgspec.structs.replace(hooked, hooks=[msgspec.structs.replace(hook, timed=True)])
    assert not any("slow" in s.missing for s in seen(Board(timed, machine.facts)).values())


def test_every_tracepoint_that_is_needed_is_one_that_both_engines_ask_for() -> None:
    wanted = {name for need in NEEDS.values() for name in need.tracepoints}
    for file in ("bpf_sources.c", "tracefs/sources.c"):
        asked = set(re.findall(r'"([a-z]+:[a-z_]+)"', (RECORDER / file).read_text()))
        assert wanted <= asked, file


def test_a_guest_with_bpf_tells_all_apart_but_a_part_of_locks_and_priorities() -> None:
    found = seen(board("pc-guest-bpf"))
    assert {cause for cause, item in found.items() if item.observable is not Observable.YES} == {
        Cause.HOOK,
        Cause.LOCK,
        Cause.PREEMPTION_DISABLED,
        Cause.PRIORITY,
    }
    # This recorder did not look for them yet.
    assert "older recorder" in found[Cause.HOOK].missing
    assert "sched_switch" in found[Cause.PREEMPTION_DISABLED].missing
    assert found[Cause.LOCK].observable is Observable.PARTLY
    # This recorder did not ask for it yet.
    assert found[Cause.PRIORITY].observable is Observable.PARTLY
    assert found[Cause.PRIORITY].missing == "no tracepoint sched:sched_pi_setprio"


def test_arm64_has_no_tracepoint_for_page_faults() -> None:
    found = seen(board("virt-arm64-bpf"))
    assert found[Cause.PAGE_FAULT].observable is Observable.NO
    assert "exceptions:page_fault_user" in found[Cause.PAGE_FAULT].missing
    # By the rule a fault that was not seen is the thread's way back to user code.
    assert found[Cause.PAGE_FAULT].counts_as == Cause.RETURN.value
    assert found[Cause.INTERRUPTS_DISABLED].observable is Observable.YES


def test_tracefs_takes_no_stacks_so_that_sections_are_unexplained() -> None:
    found = seen(board("sabrelite-tracefs"))
    for cause in (Cause.INTERRUPTS_DISABLED, Cause.PREEMPTION_DISABLED):
        assert found[cause].observable is Observable.NO
        assert "stacks" in found[cause].missing
        assert found[cause].counts_as == Cause.UNEXPLAINED.value
    assert found[Cause.NMI].observable is Observable.ABSENT
    assert found[Cause.INTERRUPT].observable is Observable.YES


def test_under_lockdown_a_program_that_reads_the_kernel_is_refused() -> None:
    found = seen(board("virt-arm64-lockdown"))
    assert found[Cause.INTERRUPTS_DISABLED].observable is Observable.NO
    assert "refuses" in found[Cause.INTERRUPTS_DISABLED].missing
    assert found[Cause.INTERRUPT].observable is Observable.PARTLY
    assert found[Cause.PREEMPTION_DISABLED].observable is Observable.PARTLY
    listed = board("virt-arm64-lockdown")
    shown = msgspec.structs.replace(listed.report, shows_hooks=True)
    assert seen(Board(shown, listed.facts))[Cause.PREEMPTION_DISABLED].observable is Observable.YES


def test_where_nothing_can_be_recorded_no_cause_is_told_apart_and_the_reason_is_given() -> None:
    for sight in seen(board("sabrelite-lockdown")).values():
        assert sight.observable is Observable.NO
        assert "BTF" in sight.missing
        assert "lockdown" in sight.missing
    assert all(sight.observable is Observable.NO for sight in list_observability(None, []))


@pytest.mark.parametrize(
    ("cause", "tracepoint"),
    [(cause, name) for cause, need in NEEDS.items() for name in need.tracepoints],
)
def test_a_cause_is_not_observable_without_one_of_its_tracepoints(
    cause: Cause, tracepoint: str
) -> None:
    lacking = seen(without(board("pc-guest-bpf"), tracepoint, 2))[cause]
    assert lacking.observable is Observable.NO
    assert tracepoint in lacking.missing


def test_an_interrupt_that_is_no_device_s_is_missed_without_its_vector() -> None:
    one = seen(without(board("pc-guest-bpf"), "irq_vectors:local_timer_entry", 2))
    assert one[Cause.INTERRUPT].observable is Observable.PARTLY
    # A vector that this machine lacks for want of the hardware is no loss.
    assert board("pc-guest-bpf").report.sources[-1].error == 0
    other = seen(without(board("pc-guest-bpf"), "irq_vectors:thermal_apic_entry", 2))
    assert other[Cause.INTERRUPT].observable is Observable.YES


def test_steal_takes_a_host_that_says_so_and_a_kernel_that_listens() -> None:
    guest = board("pc-guest-bpf")
    assert (
        seen(with_facts(guest, steal_since_boot_s=0.0))[Cause.STEAL].observable is Observable.PARTLY
    )
    assert seen(with_facts(guest, kernel_config=["SMP=y"]))[Cause.STEAL].observable is Observable.NO
    assert seen(with_facts(guest, hypervisor=None))[Cause.STEAL].observable is Observable.ABSENT


def test_without_symbols_sections_have_no_place() -> None:
    guest = board("pc-guest-bpf")
    hidden = SymbolsReport(False, 2, False, 10, 0, [])
    one = Board(msgspec.structs.replace(guest.report, symbols=hidden), guest.facts)
    assert seen(one)[Cause.INTERRUPTS_DISABLED].observable is Observable.PARTLY
    assert "symbols" in seen(one)[Cause.INTERRUPTS_DISABLED].missing


def test_throttling_that_is_switched_off_is_not_there() -> None:
    found = seen(with_facts(board("pc-guest-bpf"), rt_runtime_us=-1))
    assert found[Cause.THROTTLING].observable is Observable.ABSENT


def test_what_a_board_says_may_be_of_any_type() -> None:
    odd: dict[str, object] = dict.fromkeys((fact.name for fact in board("pc-guest-bpf").facts), 7)
    one = with_facts(board("pc-guest-bpf"), **odd)
    strange = without(one, "irq:irq_handler_entry", -(2**31))
    assert len(seen(strange)) == len(NEEDS)


def test_explain_names_the_unobservable_causes_in_one_line() -> None:
    tracefs = board("sabrelite-tracefs")
    line = unobservable_text(list_observability(tracefs.report, tracefs.facts))
    assert line.startswith(
        "not observable on this board: interrupts disabled, preemption disabled, "
        "outside the traced kernel (stacks,"
    )
    guest = board("pc-guest-bpf")
    looked = msgspec.structs.replace(guest.report, shows_hooks=True)
    assert not unobservable_text(list_observability(looked, guest.facts))
    evil = msgspec.structs.replace(tracefs.report, engine=None, refused="\x1b[2Jevil")
    assert "\x1b" not in unobservable_text(list_observability(evil, []))
