"""Another kernel by TFTP, on a whole board: U-Boot, and the TFTP server of QEMU's user network."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_boards import QemuOnTheBench
from bench_boot import boot_environment, boot_plan
from bench_line import SerialLine
from bench_supplies import strip
from bench_u_boot import RT, disk, initrd_for, qemu_command, why_no_u_boot

from whylate.boards.board import notify_nobody
from whylate.boards.boot.read_back import running
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.ready import boot as boot_own
from whylate.boards.ready import held
from whylate.lab.image import build
from whylate.recording.plan import RunPlan
from whylate.run.knobs.apply import apply_knobs
from whylate.study.model import Variant
from whylate.study.restore.boots import Boots

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


def test_u_boot_loads_a_kernel_of_the_study_by_tftp(
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
    knobs = {"kernel": str(kernel), "initrd": str(initrd), "cmdline:skew_tick": "1"}
    plan = boot_plan([Variant("own"), Variant("new", knobs)])
    with strip(plug) as power:
        path = boot_environment(tmp_path, power, line, boot)
        board = labgrid_board("board7", path, options=OPTIONS)
        boots = Boots(tmp_path, plan)
        applied = apply_knobs(RunPlan(workload=plan.workload), knobs)
        with held(board, notify_nobody):
            # Its own first, from the disk: then it takes commands.
            boots.boot("board7", applied, boot_own)(board, notify_nobody)
            now = running(board)
    assert "PREEMPT_RT" in now.version
    assert "skew_tick=1" in now.words
    assert len(list((directory / "whylate/board7").iterdir())) == 2
