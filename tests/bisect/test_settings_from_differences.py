"""A plan of the settings in which two sides differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.bisect.differences.model import Difference, Differences, Means, make_difference
from whylate.bisect.kinds import Kind
from whylate.bisect.settings.from_differences import plan_text
from whylate.bisect.settings.plan import bisect_plan
from whylate.run.errors import RequestError
from whylate.study.plan_file import read_plan_file, resolve_plan

SWAPPINESS, GOVERNOR = "/proc/sys/vm/swappiness", "/sys/devices/system/cpu/cpu*/cpufreq/governor"


def setting(path: str, first: str | None, second: str | None) -> Difference:
    return make_difference(Kind.SETTING, path, first, second, Means("setting", path))


def test_settings_of_both_sides_become_two_variants(tmp_path: Path) -> None:
    listed = (
        setting(SWAPPINESS, "10", "60"),
        setting(GOVERNOR, "performance", 'a "quoted" one'),
        setting("/proc/sys/kernel/only_there", None, "1"),
        make_difference(Kind.PACKAGE, "libc6", "1", "2", Means("package", "libc6")),
        make_difference(Kind.PRIORITY, "audio", "fifo 50", None, Means("priority", "audio")),
        make_difference(Kind.ARGUMENT, "nosmt", "nosmt", None, Means("kernel argument", "nosmt")),
        make_difference(Kind.AFFINITY, "eth0", "0", "1", Means("affinity", "eth0")),
    )
    path = tmp_path / "plan.toml"
    text = plan_text(Differences("fast\n[x]", "slow", listed))
    path.write_text(f"boards = ['virt-arm64']\n{text}")
    plan = bisect_plan(resolve_plan(read_plan_file(path)), None, 100, 0.3)
    assert [(item.key, item.first, item.second) for item in plan.items] == [
        (SWAPPINESS, "10", "60"),
        (GOVERNOR.replace("cpu*", "cpu{cpu}"), "performance", 'a "quoted" one'),
        ("priority:audio", "50", None),
        ("cmdline:nosmt", "yes", "no"),
    ]
    assert path.read_text().splitlines()[-4:] == [
        "# Left out:",
        "# setting /proc/sys/kernel/only_there: it is not there on both sides",
        "# IRQ affinity eth0: its number is not that of both sides: write irq:N for the board",
        "# packages: 1, which are no settings",
    ]


def test_sides_without_such_settings_have_no_plan() -> None:
    with pytest.raises(RequestError, match="no setting differs"):
        plan_text(Differences("a", "b", (setting(SWAPPINESS, None, "60"),)))
