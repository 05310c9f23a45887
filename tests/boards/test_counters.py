"""Counters that moved between two snapshots."""

from __future__ import annotations

import pytest
from captured import after, before, changed, typed

from whylate.boards.facts import changes
from whylate.boards.facts.counters import CHANGE_LIMIT, Counter, step
from whylate.boards.facts.snapshot import FileContent

SMI = "/dev/cpu/0/msr"


def test_nothing_moves_between_a_snapshot_and_itself() -> None:
    assert changes(before(), before()) == []


def test_the_captured_guest_s_timer_interrupts_and_switches_moved() -> None:
    moved = {(c.name, c.cpu): c for c in changes(before(), after())}
    for cpu in (0, 1):
        assert moved["interrupts/LOC: Local timer interrupts", cpu].delta > 0
    assert moved["context switches", None].unit == "times"
    assert any(name.startswith("vmstat/") for name, _ in moved)


def test_steal_is_in_seconds_and_comes_before_larger_counts() -> None:
    first = {"/proc/stat": "cpu0 1 2 3 4 5 6 7 100 0 0\nctxt 5\n"}
    second = {"/proc/stat": "cpu0 1 2 3 4 5 6 7 125 0 0\nctxt 99999\n"}
    moved = changes(typed(first), typed(second))
    assert [(c.name, c.cpu, c.delta, c.unit) for c in moved] == [
        ("steal", 0, 0.25, "s"),
        ("context switches", None, 99994.0, "times"),
    ]


def test_system_management_interrupts_are_counted_from_the_register() -> None:
    first = typed({SMI: (7).to_bytes(8, "little")})
    second = typed({SMI: (9).to_bytes(8, "little")})
    moved = changes(first, second)
    assert [(c.name, c.cpu, c.delta) for c in moved] == [("smi", 0, 2.0)]
    assert moved[0].source == "/dev/cpu/0/msr at 0x34"


def test_a_register_that_could_not_be_read_is_no_change() -> None:
    first = typed({SMI: FileContent(b"", error="EIO")})
    assert changes(first, typed({SMI: (9).to_bytes(8, "little")})) == []


def test_throttling_is_reported_by_cpu() -> None:
    path = "/sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count"
    moved = changes(typed({path: "1\n"}), typed({path: "4\n"}))
    assert [(c.name, c.cpu, c.delta) for c in moved] == [("thermal_throttle/core", 3, 3.0)]


def test_an_idle_state_keeps_its_name_though_only_the_first_snapshot_has_it() -> None:
    at = "/sys/devices/system/cpu/cpu1/cpuidle/state2"
    first = typed({f"{at}/name": "C6\n", f"{at}/usage": "10\n"})
    moved = changes(first, typed({f"{at}/usage": "12\n"}))
    assert [(c.name, c.cpu, c.delta) for c in moved] == [("cpuidle/C6", 1, 2.0)]


@pytest.mark.parametrize(
    ("first", "second", "bits", "expected"),
    [
        (10, 25, 32, 15),
        (2**32 - 5, 10, 32, 15),
        (2**64 - 5, 10, 64, 15),
        (1000, 10, 32, None),  # set back
        (2**31 + 2**29, 10, 32, None),  # set back, from a value too low to have wrapped
        (2**32 - 5, 2**32 - 6, 32, None),  # slipped back by one
        (2**33, 10, 32, None),  # never was a 32-bit counter
        (7, 7, 32, 0),
    ],
)
def test_a_wrapped_counter_goes_on_and_one_set_back_does_not(
    first: int, second: int, bits: int, expected: int | None
) -> None:
    assert step(Counter(first, "times", "", bits), Counter(second, "times", "", bits)) == expected


def test_a_cpu_that_went_offline_shifts_no_counts_to_its_neighbours() -> None:
    first = {"/proc/interrupts": "  CPU0  CPU1  CPU2\nLOC: 10 20 30  Local timer interrupts\n"}
    second = {"/proc/interrupts": "  CPU0  CPU2\nLOC: 11 33  Local timer interrupts\n"}
    moved = changes(typed(first), typed(second))
    assert {(c.cpu, c.delta) for c in moved} == {(0, 1.0), (2, 3.0)}


def test_the_number_of_changes_is_bounded_and_the_largest_are_kept() -> None:
    cpus = range(CHANGE_LIMIT + 50)
    head = " ".join(f"CPU{cpu}" for cpu in cpus)
    first = f"{head}\nLOC: {' '.join('0' for _ in cpus)}  Local\n"
    second = f"{head}\nLOC: {' '.join(str(cpu + 1) for cpu in cpus)}  Local\n"
    moved = changes(
        changed(typed({}), {"/proc/interrupts": first}), typed({"/proc/interrupts": second})
    )
    assert len(moved) == CHANGE_LIMIT
    assert moved[0].delta == len(cpus)
    assert min(change.delta for change in moved) == 51
