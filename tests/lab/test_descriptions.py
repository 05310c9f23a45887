"""The virtual boards' descriptions, and QEMU's command lines made from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.boards.errors import BoardError
from whylate.boards.qemu.arguments import Start, arguments
from whylate.lab.description import names, virtual_board, with_kernel
from whylate.lab.errors import LabError
from whylate.lab.image import Image
from whylate.lab.qemu import Qemu

FAIR = Qemu(("qemu",), (10, 0))
IMAGE = Image(Path("/k/vmlinuz"), Path("/k/initrd"), None, "6.1", "0" * 64)


def command(name: str, start: Start, qemu: Qemu = FAIR) -> list[str]:
    return arguments(virtual_board(name), qemu, IMAGE, IMAGE.initrd, start)


def test_there_are_five_machines_all_but_one_with_both_kernels() -> None:
    machines = {"virt-arm64", "raspi3b", "sabrelite", "pc"}
    assert set(names()) == machines | {f"{name}-rt" for name in machines} | {"virt-riscv64"}
    assert with_kernel("virt-arm64", rt=True) == "virt-arm64-rt"
    assert with_kernel("virt-riscv64", rt=False) == "virt-riscv64"
    assert with_kernel("virt-riscv64", rt=True) is None
    assert virtual_board("pc").kernel_package == "linux-image-amd64"
    assert virtual_board("sabrelite-rt").kernel_package == "linux-image-rt-armmp"


@pytest.mark.parametrize(
    "name", ["", "pc/../pc", "virt-arm64-rt-rt", "virt-riscv64-rt", "local", "../boards/pc"]
)
def test_a_board_that_is_not_described_is_refused(name: str) -> None:
    with pytest.raises(LabError, match="unknown virtual board"):
        virtual_board(name)


@pytest.mark.parametrize("name", ["virt-arm64", "virt-riscv64", "pc", "sabrelite"])
def test_in_virtual_time_nothing_of_the_host_leads_into_the_guest(
    name: str, tmp_path: Path
) -> None:
    start = Start(1, tmp_path, output=tmp_path / "out", seed=5, ssh_port=2222)
    words = command(name, Start(1, tmp_path, output=tmp_path / "out", seed=5))
    assert "shift=1,sleep=off" in words
    assert words[words.index("-seed") + 1] == "5"
    assert not [word for word in words if word.startswith(("socket", "user,", "stdio", "pty"))]
    assert start.output is not None
    assert f"file,id=port,path={tmp_path / 'out'}" in words


def test_in_real_time_the_console_is_drained_by_qemu_itself(tmp_path: Path) -> None:
    (console,) = [w for w in command("pc", Start(2, tmp_path)) if w.startswith("socket,id=console")]
    assert "wait=off" in console
    assert f"logfile={tmp_path / 'console.log'}" in console


def test_a_comma_in_a_path_is_not_the_end_of_an_option(tmp_path: Path) -> None:
    odd = tmp_path / "a,b"
    assert any("a,,b" in word for word in command("pc", Start(1, odd)))


def test_more_cpus_than_the_machine_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="1 to 4 CPUs"):
        command("sabrelite", Start(5, tmp_path))


def test_a_qemu_that_starves_cpus_is_refused_for_several_in_virtual_time(tmp_path: Path) -> None:
    old = Qemu(("qemu",), (7, 2))
    two = Start(2, tmp_path, output=tmp_path / "out")
    with pytest.raises(BoardError, match="only one CPU at a time"):
        command("pc", two, old)
    command("pc", Start(1, tmp_path, output=tmp_path / "out"), old)
    command("pc", Start(2, tmp_path), old)


def test_a_board_without_network_refuses_ssh(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="has no network"):
        command("sabrelite", Start(1, tmp_path, ssh_port=2222))
