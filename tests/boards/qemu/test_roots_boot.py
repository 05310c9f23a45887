"""Virtual boards boot a root file system of the user's, and report what they cannot boot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from own_boards import own_boards
from own_roots import tiny_root, write_tarball
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.qemu.board import BOOT_S, QemuBoard, QemuPower, VirtualOptions
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.lab.roots.prepare import root_sum
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.command import Command, CommandPoint
from whylate.run.progress import Quiet
from whylate.run.several import Job, carry_out

pytestmark = pytest.mark.qemu

BOARD = "virt-arm64"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


@pytest.fixture(autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def board_with(root: Path) -> QemuBoard:
    return QemuBoard(virtual_board(BOARD), VirtualOptions(cpus=1, root=root))


def in_virtual_time(root: Path, directory: Path, argv: tuple[str, ...]) -> Job:
    """Return a run of a command on a board with a root."""
    return Job(
        BOARD,
        lambda: board_with(root),
        RunPlan(workload=Command(points=[CommandPoint(argv)], rounds=1), virtual_time=True),
        directory,
        Quiet(),
    )


def test_its_start_up_acts_before_the_plan_does(tmp_path: Path) -> None:
    script = b'#!/bin/sh\necho "$0 $1" >>/run/order\n'
    root = write_tarball(
        tmp_path / "root.tar",
        tiny_root()
        | {
            "etc/sysctl.d/10.conf": b"vm.swappiness = 13\n",
            "etc/rcS.d/S01first": script,
            "etc/rc2.d/S05later": script,
            "etc/rc2.d/S06fails": b"#!/bin/sh\nexit 7\n",
            "etc/rc.local": f"#!/bin/sh\necho never >{THP}\necho local >>/run/order\n".encode(),
        },
    )
    order = "/etc/rcS.d/S01first start,/etc/rc2.d/S05later start,local,"
    read = ("sh", "-c", f"test \"$(cat /run/order | tr '\\n' ,)\" = '{order}'")
    outcome = carry_out(in_virtual_time(root, tmp_path / "run", read), lambda: False)
    assert outcome.error is None
    recording = open_recording(tmp_path / "run")
    facts = {fact.name: fact.value for fact in recording.manifest.facts}
    assert facts["vm_swappiness"] == 13
    assert facts["transparent_hugepage"] == "never"
    words = facts["kernel_command_line"]
    assert isinstance(words, list)
    assert words[:2] == ["quiet", "whylate.word=7"]
    assert recording.manifest.state == "complete"
    statuses = pq.read_table(tmp_path / "run" / "repetitions.parquet").column("status")
    assert statuses.to_pylist() == [0]
    assert not recording.manifest.problems


def test_it_answers_in_real_time_by_its_own_programs(tmp_path: Path) -> None:
    files = tiny_root()
    files["bin/echo"] = b'#!/bin/sh\nprintf "the root: %s" "$*"\n'
    root = write_tarball(tmp_path / "root.tar", files)
    with ready(board_with(root), notify_nobody) as board:
        assert board.run(["/bin/echo", "here"]).output == b"the root: here"
        assert board.run(["cat", "/proc/1/comm"]).output == b"init\n"


def test_a_root_whose_shell_cannot_run_ends_soon_and_is_named(tmp_path: Path) -> None:
    files = tiny_root()
    files["bin/sh"] = b"\x7fELF no program"
    root = write_tarball(tmp_path / "root.tar", files)
    began = time.monotonic()
    outcome = carry_out(in_virtual_time(root, tmp_path / "run", ("true",)), lambda: False)
    assert isinstance(outcome.error, BoardError)
    assert "the root cannot start: its /bin/sh ended with status" in str(outcome.error)
    assert time.monotonic() - began < BOOT_S
    assert b"the root cannot start" in board_with(root).console.log.read_bytes()


def test_a_kernel_without_its_modules_is_not_booted(tmp_path: Path) -> None:
    files = {path: data for path, data in tiny_root().items() if "virtio_mmio" not in path}
    release = next(path for path in files if "vmlinuz" in path).partition("vmlinuz-")[2]
    root = write_tarball(
        tmp_path / "root.tar",
        files | {f"lib/modules/{release}/modules.builtin": b"kernel/fs/nothing.ko\n"},
    )
    outcome = carry_out(in_virtual_time(root, tmp_path / "run", ("true",)), lambda: False)
    assert isinstance(outcome.error, BoardError)
    assert f"the kernel {release} has no module virtio_mmio" in str(outcome.error)


def test_a_board_that_is_on_is_not_taken_for_one_with_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tarball(tmp_path / "root.tar", {"a": b"1"})
    board = board_with(root)
    monkeypatch.setattr(QemuPower, "is_on", lambda _: True)
    with pytest.raises(BoardBusyError, match="perhaps with another root"):
        board.boot(notify_nobody)


def test_a_root_that_was_changed_is_not_booted(tmp_path: Path) -> None:
    root = write_tarball(tmp_path / "root.tar", {"a": b"1"})
    board = board_with(root)
    board.use_root(root, root_sum(root))
    write_tarball(root, {"a": b"2"})
    with pytest.raises(BoardError, match="is not what it was when the run was planned"):
        _ = board.release
