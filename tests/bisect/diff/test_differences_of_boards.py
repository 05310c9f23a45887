"""What differs between boards and recordings, of which only facts and settings are known."""

from __future__ import annotations

import gzip
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bisect_roots import write_root
from own_boards import own_boards
from whylate.bisect.differences.find import find_differences
from whylate.bisect.differences.model import Differences
from whylate.bisect.kinds import Kind
from whylate.bisect.settings.from_differences import plan_text
from whylate.bisect.sides.board import REQUESTS, board_side
from whylate.bisect.sides.facts import recording_side
from whylate.bisect.sides.model import Side
from whylate.bisect.sides.read import read_side
from whylate.boards.facts import facts
from whylate.boards.facts.snapshot import FileContent, ProbeFacts, Snapshot
from whylate.recording.manifest import Fact

PROBE = ProbeFacts(
    sysname="Linux",
    nodename="vm",
    release="6.1.0",
    version="#1 SMP",
    machine="aarch64",
    arch="aarch64",
    pointer_bits=64,
)
#: A thread of a program, and one of the kernel: fields 4 and on of proc(5)'s /proc/PID/stat.
STAT = "{pid} ({name}) S 1 1 1 0 -1 {flags} " + "0 " * 30 + "{priority} {policy} 0 0 0"
SWAPPINESS = "/proc/sys/vm/swappiness"
HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"


def thread(pid: int, name: str, *, kernel: bool = False, fifo: int = 0) -> dict[str, str]:
    text = STAT.format(
        pid=pid,
        name=name,
        flags=0x00200040 if kernel else 0x00400100,
        priority=fifo,
        policy=1 if fifo else 0,
    )
    return {f"/proc/{pid}/task/{pid}/stat": text}


BOARD: dict[str, str] = {
    "/proc/cmdline": "console=ttyS0 isolcpus=1 console=tty0 quiet\n",
    SWAPPINESS: "60\n",
    HUGE: "always [madvise] never\n",
    "/proc/sys/vm/dirty_ratio": "20\n",
    "/proc/sys/kernel/random/uuid": "1\n",
    "/proc/modules": "ext4 1 0 - Live 0x0\n",
    "/var/lib/dpkg/status": "Package: a\nStatus: install ok installed\nVersion: 1\n",
    "/proc/interrupts": "      CPU0 CPU1\n 24:  1  2  GICv3  24 Level  eth0\n",
    "/proc/irq/24/smp_affinity_list": "0-1\n",
    **thread(10, "sshd"),
    **thread(11, "kworker/0:1", kernel=True),
    **thread(12, "irq/24-eth0", kernel=True, fifo=50),
}


def board(
    name: str,
    files: Mapping[str, str | bytes] | None = None,
    without: Sequence[str] = (),
    probe: ProbeFacts = PROBE,
) -> Side:
    """Return a board with some files replaced, and some left out."""
    return board_side(name, snapshot(files, without), probe)


def snapshot(
    files: Mapping[str, str | bytes] | None = None, without: Sequence[str] = ()
) -> Snapshot:
    every = {**BOARD, **(files or {})}
    return Snapshot(
        {
            path: FileContent(text.encode() if isinstance(text, str) else text)
            for path, text in every.items()
            if path not in without
        }
    )


def values(differences: Differences) -> dict[str, tuple[str | None, str | None]]:
    return {
        difference.name: (difference.first, difference.second) for difference in differences.listed
    }


def test_a_board_does_not_differ_from_itself() -> None:
    again = {"/proc/sys/kernel/random/uuid": "2\n"}
    differences = find_differences(board("a"), board("b", again))
    assert differences.listed == ()
    reasons = {missing.kind: missing.reason for missing in differences.not_compared}
    assert Kind.FILE in reasons
    assert "neither" not in reasons[Kind.FILE]
    assert {Kind.OPTION, Kind.DEVICE_TREE, Kind.LINE} <= reasons.keys()
    assert not {Kind.PACKAGE, Kind.SETTING, Kind.SERVICE, Kind.PRIORITY} & reasons.keys()


def test_what_differs_between_two_boards_becomes_a_plan() -> None:
    files = {
        **BOARD,
        "/proc/cmdline": "console=ttyS0 isolcpus=2 console=tty1\n",
        SWAPPINESS: "10\n",
        HUGE: "[always] madvise never\n",
        "/proc/irq/24/smp_affinity_list": "1\n",
        **thread(12, "irq/24-eth0", kernel=True, fifo=80),
    }
    listed = find_differences(board("b", files), board("a"))
    assert plan_text(listed).partition("[variants")[2].splitlines() == [
        ".first]",
        '"cmdline:isolcpus" = "2"',
        '"cmdline:quiet" = "no"',
        f'"{SWAPPINESS}" = "10"',
        f'"{HUGE}" = "always"',
        '"irq:24" = "1"',
        '"priority:irq/24-eth0" = "80"',
        "",
        "[variants.second]",
        '"cmdline:isolcpus" = "1"',
        '"cmdline:quiet" = "yes"',
        f'"{SWAPPINESS}" = "60"',
        f'"{HUGE}" = "madvise"',
        '"irq:24" = "0-1"',
        "",
        "# Left out:",
        "# command line console: there are several words of this name, and a knob sets one",
    ]


def test_each_kind_of_a_running_board_is_listed() -> None:
    files: dict[str, str] = {
        "/proc/cmdline": "console=ttyS0 isolcpus=2 console=tty1\n",
        SWAPPINESS: "10\n",
        HUGE: "[always] madvise never\n",
        "/proc/modules": "ext4 1 0 - Live 0x0\nvfat 1 0 - Live 0x0\n",
        "/var/lib/dpkg/status": "Package: a\nStatus: install ok installed\nVersion: 2\n",
        "/proc/irq/24/smp_affinity_list": "1\n",
        **thread(10, "dropbear"),
        **thread(11, "kworker/9:9", kernel=True),
        **thread(12, "irq/24-eth0", kernel=True, fifo=80),
    }
    differences = find_differences(board("a"), board("b", files))
    assert values(differences) == {
        # The word that both have is none of them.
        "console": ("console=tty0", "console=tty1"),
        "isolcpus": ("isolcpus=1", "isolcpus=2"),
        "quiet": ("quiet", None),
        "vfat": (None, "loaded"),
        "a": ("1", "2"),
        SWAPPINESS: ("60", "10"),
        HUGE: ("madvise", "always"),
        "eth0": ("0-1", "1"),
        "dropbear": (None, "running"),
        "sshd": ("running", None),
        "irq/24-eth0": ("fifo 50", "fifo 80"),
    }


def test_words_in_another_order_are_a_difference() -> None:
    differences = find_differences(
        board("a"), board("b", {"/proc/cmdline": "console=tty0 console=ttyS0 isolcpus=1 quiet"})
    )
    assert list(values(differences)) == ["the order of the words"]


def test_what_only_one_of_two_kernels_has_comes_with_the_kernel() -> None:
    newer = ProbeFacts("Linux", "vm", "6.12.0", "#1 SMP", "aarch64", "aarch64", pointer_bits=64)
    config = "CONFIG_HZ=250\n# CONFIG_X is not set\n"
    first = board("a", {"/boot/config-6.1.0": config})
    second = board(
        "b",
        {"/boot/config-6.12.0": "CONFIG_HZ=1000\nCONFIG_X=m\n"},
        ["/proc/sys/vm/dirty_ratio"],
        newer,
    )
    differences = find_differences(first, second)
    kernel, *rest = differences.listed
    assert (kernel.name, kernel.first, kernel.second) == (
        "kernel",
        "6.1.0, #1 SMP",
        "6.12.0, #1 SMP",
    )
    assert {difference.name for difference in rest} == {"HZ", "X", "/proc/sys/vm/dirty_ratio"}
    assert {difference.parent for difference in rest} == {kernel.id}
    assert {difference.atom for difference in differences.listed} == {kernel.id}


def test_a_setting_that_cannot_be_read_is_not_taken_for_absent() -> None:
    closed = dict(snapshot().files)
    closed["/proc/sys/vm/dirty_ratio"] = FileContent(b"", "EACCES")
    differences = find_differences(board("a"), board_side("b", Snapshot(closed), PROBE))
    assert differences.listed == ()


def test_a_recording_is_compared_by_what_its_facts_would_have() -> None:
    config = "CONFIG_HZ=250\nCONFIG_PREEMPT=y\nCONFIG_USB=y\n"
    packed: dict[str, str | bytes] = {"/proc/config.gz": gzip.compress(config.encode())}
    recorded = recording_side("r", facts(snapshot(packed), PROBE))
    changed = gzip.compress(config.replace("250", "1000").replace("_PREEMPT=y", "_X=y").encode())
    files: dict[str, str | bytes] = {
        "/proc/config.gz": changed,
        SWAPPINESS: "10\n",
        "/proc/sys/vm/dirty_ratio": "9\n",
    }
    differences = find_differences(recorded, board("b", files))
    # A recording has no dirty_ratio, and of the options those that matter for latency.
    assert values(differences) == {
        "HZ": ("250", "1000"),
        "PREEMPT": ("y", None),
        SWAPPINESS: ("60", "10"),
    }
    reasons = {missing.kind: missing.reason for missing in differences.not_compared}
    assert "r: a recording's facts have none" in reasons[Kind.PACKAGE]


def test_a_list_of_facts_that_was_cut_is_noted() -> None:
    tasks = [f"t{number} fifo 1 pid {number}" for number in range(2)]
    side = recording_side("r", [Fact("rt_tasks", [*tasks, "… 9 more"], "/proc")])
    assert side.items[Kind.PRIORITY].values == {"t0": "fifo 1", "t1": "fifo 1"}
    assert "rt_tasks" in side.notes[0]


def test_a_board_and_a_root_are_compared_where_both_can_be(tmp_path: Path) -> None:
    root = write_root(
        tmp_path / "root",
        {
            "var/lib/dpkg/status": "Package: a\nStatus: install ok installed\nVersion: 3\n",
            "boot/extlinux/extlinux.conf": "append isolcpus=1 quiet\n",
            "lib/modules/6.1.0/modules.dep": "",
        },
    )
    differences = find_differences(read_side(str(root), lambda _: None), board("b"))
    assert values(differences) == {"console=tty0": (None, "console=tty0"),
                                   "console=ttyS0": (None, "console=ttyS0"),
                                   "a": ("3", "1")}  # fmt: skip
    reasons = {missing.kind: missing.reason for missing in differences.not_compared}
    assert {Kind.FILE, Kind.MODULE, Kind.SETTING} <= reasons.keys()
    assert Kind.KERNEL not in reasons


def test_the_hardware_is_noted_and_not_listed() -> None:
    files = {"/proc/device-tree/model": "another board\0"}
    first = board("a", {"/proc/device-tree/model": "a board\0"})
    differences = find_differences(first, board("b", files))
    assert differences.listed == ()
    assert any("device_tree_model" in note for note in differences.notes)


def test_nothing_that_a_board_answers_raises() -> None:
    numbers = random.Random(3)
    paths = [*BOARD, *(request.pattern.replace("*", "7") for request in REQUESTS)]
    for _ in range(60):
        files = {path: FileContent(BOARD[path].encode()) for path in BOARD}
        for path in numbers.sample(paths, 40):
            files[path] = FileContent(
                numbers.randbytes(numbers.randrange(60)),
                numbers.choice([None, None, "EACCES", "ENOENT"]),
                numbers.random() < 0.2,
            )
        find_differences(board("a"), board_side("b", Snapshot(files), PROBE))


@pytest.mark.qemu
def test_a_virtual_board_and_this_machine(probe: list[str]) -> None:
    assert probe
    with own_boards("virt-arm64"):
        sides = [read_side(name, lambda _: None) for name in ("virt-arm64", "local")]
    differences = find_differences(sides[0], sides[1])
    kernel = differences.listed[0]
    assert kernel.kind is Kind.KERNEL
    assert "Debian" in (kernel.first or "")
    assert {Kind.ARGUMENT, Kind.SETTING} <= differences.counts.keys()
    assert any("cpu_model" in note for note in differences.notes)
    # A tree of devices that a kernel was given, of some hundred properties.
    assert len(sides[0].items[Kind.DEVICE_TREE].values) > 100
    assert find_differences(sides[0], sides[0]).listed == ()
