"""Lockups by how long a boot had no clock source."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.recording.console.boot_stages import CLOCK_SOURCE, DEFAULTS, find_boot_stages
from whylate.soak.clock_window import clock_windows, window_s
from whylate.soak.model import BootStage, Cause, Cycle, Outcome
from whylate.stats.limits import binomial_limits

BOOT_LOGS = Path(__file__).parents[1] / "boards" / "data" / "bootlogs"


def booted(
    number: int, window: float | None, what: str = "", outcome: Outcome | None = None
) -> Cycle:
    stages = [BootStage(name="kernel", at_s=1.0, within_s=0.01, kernel_s=0.0)]
    if window is not None:
        stages.append(BootStage(name=CLOCK_SOURCE, at_s=2.0, within_s=0.01, kernel_s=window))
    return Cycle(
        cycle=number,
        session=1,
        started="",
        outcome=outcome or ("crashed" if what else "ok"),
        stage="done",
        boot_stages=stages,
        causes=[Cause("crashed", what, what)] if what else [],
    )


@pytest.mark.parametrize(
    ("board", "seconds"),
    [("pc", 1.443221), ("virt-arm64", 0.349791), ("sabrelite", 1.716403), ("raspi3b", 1.659188)],
)
def test_the_window_ends_where_a_real_kernel_names_its_first_clock_source(
    board: str, seconds: float
) -> None:
    seen = find_boot_stages((BOOT_LOGS / f"{board}.txt").read_bytes(), DEFAULTS)
    stages = [
        BootStage(name=stage.name, at_s=1.0, within_s=0.01, kernel_s=stage.kernel_s)
        for stage in seen
    ]
    cycle = booted(1, None)
    assert window_s(cycle) is None
    cycle = Cycle(cycle=1, session=1, started="", outcome="ok", stage="done", boot_stages=stages)
    assert window_s(cycle) == seconds


def test_boots_are_grouped_by_their_window_with_limits_that_hold_together() -> None:
    cycles = [booted(n, n / 100, "soft lockup" if n > 15 else "") for n in range(1, 21)]
    windows = clock_windows(cycles)
    assert windows is not None
    counts = [(group.lockups, group.boots) for group in windows.groups]
    assert counts == [(0, 5), (0, 5), (0, 5), (5, 5)]
    assert (windows.groups[3].least_s, windows.groups[3].most_s) == (0.16, 0.2)
    assert (windows.groups[3].low, windows.groups[3].high) == binomial_limits(5, 5, 1 - 0.05 / 4)
    assert (windows.lockups, windows.boots) == (5, 20)


def test_equal_windows_are_one_group_and_few_boots_are_none() -> None:
    many = clock_windows([booted(n, 0.5 if n < 12 else 0.6, "rcu stall") for n in range(20)])
    assert many is not None
    assert [group.boots for group in many.groups] == [12, 8]
    few = clock_windows([booted(n, n / 10, "rcu stall") for n in range(9)])
    assert few is not None
    assert few.groups == []
    assert few.lockups == 9


def test_what_is_a_lockup_and_what_is_not_known() -> None:
    cycles = [
        booted(1, 0.1, "hung task"),
        booted(2, 0.1, outcome="hung"),
        booted(3, 0.1, "panic"),
        booted(4, 0.1, outcome="job-failed"),
        booted(5, None, "hard lockup"),
        booted(6, None, outcome="no-boot"),
        Cycle(cycle=7, session=1, started="", outcome="hung", stage="power"),
    ]
    windows = clock_windows(cycles)
    assert windows is not None
    assert (windows.lockups, windows.boots) == (2, 4)
    assert (windows.unseen_lockups, windows.unseen) == (1, 2)
    assert clock_windows(cycles[4:]) is None
