"""Another command line and another kernel by U-Boot's prompt, on a whole board with U-Boot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench_boards import QemuOnTheBench
from bench_boot import boot_environment, boot_plan, carry_out
from bench_line import SerialLine
from bench_supplies import Strip, strip
from bench_u_boot import OWN, RT_INITRD, RT_KERNEL, disk, files_on, qemu_command, why_no_u_boot

from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.recording.manifest import FactValue, Manifest
from whylate.recording.reader import read_manifest
from whylate.study.model import Variant

WHY_NOT = why_no_u_boot()
pytestmark = [pytest.mark.qemu, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

OPTIONS = BenchOptions(boot_s=90.0, silence_s=8.0)
BOOT = "{method: u-boot, device: 'virtio 0:1'}"


@dataclass
class Bench:
    """A board with U-Boot behind a power strip and a serial line."""

    directory: Path
    disk: Path
    plug: QemuOnTheBench
    power: Strip
    environment: Path


@pytest.fixture
def bench(tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    made = disk(tmp_path, rt=True)
    plug = QemuOnTheBench(qemu_command(tmp_path, made), tmp_path / "console", line)
    with strip(plug) as power:
        path = boot_environment(tmp_path, power, line, BOOT)
        yield Bench(tmp_path, made, plug, power, path)


def facts(manifest: Manifest) -> dict[str, FactValue]:
    return {fact.name: fact.value for fact in manifest.facts}


def words(manifest: Manifest) -> list[str]:
    line = facts(manifest)["kernel_command_line"]
    assert isinstance(line, list)
    return [word for word in line if not word.startswith("whylate.entry=")]


def test_each_run_boots_its_kernel_and_words_and_the_board_is_as_it_was(bench: Bench) -> None:
    before = files_on(bench.disk)
    other = {
        "kernel": f"board:/boot/{RT_KERNEL}",
        "initrd": f"board:/boot/{RT_INITRD}",
        "cmdline:skew_tick": "1",
        "cmdline:panic": "no",
    }
    study = bench.directory / "study"
    result, output = carry_out(
        study,
        boot_plan([Variant("own"), Variant("other", other)]),
        lambda name, _: labgrid_board(name, bench.environment, options=OPTIONS),
    )
    assert not result.lost, output
    own, rt = (read_manifest(study / f"runs/board7/idle/{name}/0001") for name in ("own", "other"))
    assert words(own) == OWN.split()
    assert words(rt) == ["console=ttyAMA0", "skew_tick=1"]
    assert [facts(item)["preemption"] == "rt" for item in (own, rt)] == [False, True]
    assert not bench.power.outlets[1].state
    assert files_on(bench.disk) == before
    assert not (study / "boots").exists()
