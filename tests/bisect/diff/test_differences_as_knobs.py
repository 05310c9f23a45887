"""The knobs that differences become, and why others become none."""

from __future__ import annotations

import pytest

from whylate.bisect.differences.knobs import Knobs, knobs_of
from whylate.bisect.differences.model import Difference, Differences, Means, make_difference
from whylate.bisect.differences.values import compare_values
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.facts import WORDS, affinity_items
from whylate.bisect.sides.model import Items

GOVERNOR = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"


def setting(path: str, first: str | None, second: str | None) -> Difference:
    return make_difference(Kind.SETTING, path, first, second, Means("setting", path))


def priority(first: str | None, second: str | None) -> Difference:
    return make_difference(Kind.PRIORITY, "audio", first, second, Means("priority", "audio"))


def made(listed: list[Difference], board: str = "slow") -> list[tuple[str, str | None, str | None]]:
    return [
        (knob.name, knob.first, knob.second)
        for knob in knobs_of(Differences("fast", board, tuple(listed))).listed
    ]


def reasons(listed: list[Difference], board: str = "slow") -> list[str]:
    knobs: Knobs = knobs_of(Differences("fast", board, tuple(listed)))
    return [knobs.refused.get(difference.id, "") for difference in listed]


def words(first: str, second: str) -> list[Difference]:
    sides = [Items(dict.fromkeys(line.split(), ""), WORDS) for line in (first, second)]
    return compare_values(Kind.ARGUMENT, sides[0], sides[1])


def test_files_of_the_kernel_become_knobs() -> None:
    listed = [
        setting("/proc/sys/vm/swappiness", "10", "60"),
        setting(GOVERNOR, "performance", "powersave"),
        setting("/sys/block/sda/queue/scheduler", "[none] mq-deadline", "none [mq-deadline]"),
    ]
    assert made(listed) == [
        ("/proc/sys/vm/swappiness", "10", "60"),
        (GOVERNOR.replace("cpu*", "cpu{cpu}"), "performance", "powersave"),
        ("/sys/block/sda/queue/scheduler", "none", "mq-deadline"),
    ]


def test_values_by_cpu_become_a_knob_for_each_cpu_whose_values_differ() -> None:
    of = GOVERNOR.replace("cpu*", "cpu{}").format
    several = "cpu 0,2-3: powersave; cpu 1: performance"
    assert made([setting(GOVERNOR, several, "performance")]) == [
        (of(cpu), "powersave", "performance") for cpu in (0, 2, 3)
    ]
    assert made([setting(GOVERNOR, "performance", several)]) == [
        (of(cpu), "performance", "powersave") for cpu in (0, 2, 3)
    ]
    assert made([setting(GOVERNOR, several, "cpu 0-1: powersave; cpu 2-3: performance")]) == [
        (of(1), "performance", "powersave"),
        (of(2), "powersave", "performance"),
        (of(3), "powersave", "performance"),
    ]


@pytest.mark.parametrize(
    ("path", "first", "second", "reason"),
    [
        ("/proc/sys/vm/only_here", "1", None, "not there on both sides"),
        ("/sys/../etc/passwd", "1", "2", "a path must be under"),
        ("/proc/sys/kernel/modprobe", "", "/sbin/modprobe", "invalid value"),
        ("/sys/a", "1; 2", "1", "several values"),
        (GOVERNOR, "cpu 0: a; cpu 1: b", "cpu 0: b; cpu 2: a", "different CPUs"),
        (GOVERNOR, "cpu 0: a; … 3 more", "b", "not understood"),
        ("/sys/devices/system/cpu/cpu*/cpuidle/state*", "state0 POLL: 0 us, enabled",
         "state0 POLL: 0 us, disabled", "idle-state:N"),
    ],
)  # fmt: skip
def test_what_no_knob_sets_has_a_reason(
    path: str, first: str, second: str | None, reason: str
) -> None:
    assert reason in reasons([setting(path, first, second)])[0]
    assert made([setting(path, first, second)]) == []


def test_an_interrupt_has_a_knob_where_its_number_is_that_of_both_sides() -> None:
    first = affinity_items([("24", "eth0", "0"), ("30", "nvme", "0"), ("7", "i2c", "1"),
                            ("8", "i2c", "1")])  # fmt: skip
    second = affinity_items([("24", "eth0", "0-3"), ("31", "nvme", "1"), ("7", "i2c", "0"),
                             ("8", "i2c", "1")])  # fmt: skip
    listed = compare_values(Kind.AFFINITY, first, second)
    assert [row.name for row in listed] == ["7 i2c", "eth0", "nvme"]
    assert made(listed) == [("irq:7", "1", "0"), ("irq:24", "0", "0-3")]
    assert "its number is not that of both sides" in reasons(listed)[2]


@pytest.mark.parametrize(
    ("first", "second"),
    [("fifo 50", "fifo 40"), ("fifo 50, fifo 50", None), ("fifo 50", "rr 10, fifo 49")],
)
def test_a_higher_priority_of_the_first_side_has_a_knob(first: str, second: str | None) -> None:
    # The probe refuses a priority that a thread has: the second side's is left as it is found.
    assert made([priority(first, second)]) == [("priority:audio", "50", None)]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("fifo 40", "fifo 50", "slow has the higher one"),
        ("fifo 40", "fifo 30, deadline", "slow has the higher one"),
        (None, "fifo 50", "slow has the higher one"),
        ("rr 40", "fifo 30", "SCHED_FIFO"),
        ("deadline", None, "SCHED_FIFO"),
        ("fifo 40, fifo 50", "fifo 30", "of one priority"),
    ],
)
def test_other_priorities_have_none(first: str | None, second: str | None, reason: str) -> None:
    listed = [priority(first, second)]
    assert made(listed) == []
    assert reason in reasons(listed)[0]


def test_words_of_the_command_line_become_knobs() -> None:
    listed = words("quiet isolcpus=3 skew-tick=1 nohz_full=2", "isolcpus=2 skew_tick=2 threadirqs")
    assert made(listed) == [
        ("cmdline:isolcpus", "3", "2"),
        ("cmdline:nohz_full", "2", "no"),
        ("cmdline:quiet", "yes", "no"),
        ("cmdline:skew_tick", "1", "2"),
        ("cmdline:threadirqs", "no", "yes"),
    ]
    assert made(words("systemd.log-level=7", "")) == [("cmdline:systemd.log-level", "7", "no")]
    assert set(reasons(listed, "local")) == {"local would have to boot"}


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("root=/dev/sda1", "root=/dev/sdb1", "belongs to the board"),
        ("BOOT_IMAGE=/a", "BOOT_IMAGE=/b", "belongs to the board"),
        ("x=1 --", "x=1", "belongs to the board"),
        ("pci=a pci=b", "pci=c", "several words of this name"),
        ("pci=a pci=b", "pci=a", "several words of this name"),
        ("debug debug=1", "debug=1", "several words of this name"),
        ("nosmt=no", "", "no value of a knob makes"),
        ("nosmt=", "", "no value of a knob makes"),
        ("a b", "b a", "not its place"),
        ("token=<redacted>", "", "may be a secret"),
    ],
)
def test_words_that_no_knob_sets_have_a_reason(first: str, second: str, reason: str) -> None:
    listed = words(first, second)
    assert made(listed) == []
    assert reason in reasons(listed)[0]
