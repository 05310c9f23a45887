"""Another kernel by TFTP, on a whole board: U-Boot, and the TFTP server of QEMU's user network."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_boards import QemuOnTheBench
from bench_boot import boot_environment, boot_plan, carry_out
from bench_line import SerialLine
from bench_supplies import strip
from bench_u_boot import RT, disk, initrd_for, qemu_command, why_no_u_boot

from whylate.boards.board import notify_nobody
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.lab.image import build
from whylate.recording.reader import read_manifest
from whylate.study.model import Variant

WHY_NOT = why_no_u_boot()
pytestmark = [pytest.mark.qemu, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

OPTIONS = BenchOptions(boot_s=90.0, silence_s=8.0)
COMMANDS = (
    "setenv bootargs {words}",
    "setenv autoload no",
    "dhcp",
    "tftpboot ${kernel_addr_r} {kernel}",
    "tftpboot ${ramdisk_addr_r} {initrd}",
    "booti ${kernel_addr_r} ${ramdisk_addr_r}:${filesize} ${fdtcontroladdr}",
)


def test_u_boot_loads_a_kernel_of_the_study_by_tftp_and_nothing_is_left(
    tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    directory = tmp_path / "tftp"
    directory.mkdir()
    kernel, initrd = tmp_path / "Image", tmp_path / "initrd.img"
    kernel.write_bytes(build(RT, notify_nobody).kernel.read_bytes())
    initrd.write_bytes(initrd_for(RT.name))
    more = ["-netdev", f"user,id=net,restrict=on,tftp={directory}",
            "-device", "virtio-net-device,netdev=net"]  # fmt: skip
    # Its own system is on the disk.
    made = disk(tmp_path)
    plug = QemuOnTheBench(qemu_command(tmp_path, made, more), tmp_path / "console", line)
    commands = ", ".join(f'"{command}"' for command in COMMANDS)
    boot = f"{{method: u-boot, kernel: Image, tftp: {directory}, commands: [{commands}]}}"
    knobs = {"kernel": str(kernel), "initrd": str(initrd), "cmdline:panic": "no"}
    other = {"cmdline:skew_tick": "1"}
    with strip(plug) as power:
        path = boot_environment(tmp_path, power, line, boot)
        result, output = carry_out(
            tmp_path / "study",
            boot_plan([Variant("new", knobs), Variant("other", knobs | other)]),
            lambda name, _: labgrid_board(name, path, options=OPTIONS),
        )
    assert not result.lost, output
    manifest = read_manifest(tmp_path / "study/runs/board7/idle/other/0001")
    facts = {fact.name: fact.value for fact in manifest.facts}
    assert facts["preemption"] == "rt"
    words = facts["kernel_command_line"]
    assert isinstance(words, list)
    assert "skew_tick=1" in words
    assert list(directory.iterdir()) == []
