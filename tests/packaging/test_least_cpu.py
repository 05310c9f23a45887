"""The probes start on the oldest CPUs that they are promised for (user-mode emulation)."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from whylate import __version__
from whylate.probe.binaries import DIRECTORY


@pytest.mark.parametrize(
    ("arch", "emulator", "cpu"),
    [
        ("x86_64", "qemu-x86_64-static", "qemu64"),
        ("aarch64", "qemu-aarch64-static", "cortex-a53"),
        # The libc picks faster routines where it finds NEON; it must not need it.
        ("armv7", "qemu-arm-static", "cortex-a7,neon=off"),
        # Without what RVA20 does not have: RV64GC alone.
        ("riscv64", "qemu-riscv64-static", "rv64,zba=off,zbb=off,zbc=off,zbs=off,v=off"),
    ],
)
def test_a_probe_starts_on_the_least_cpu(arch: str, emulator: str, cpu: str) -> None:
    if shutil.which(emulator) is None:
        pytest.skip(f"needs {emulator} (package qemu-user-static)")
    probe = DIRECTORY / arch / "whylate-probe"
    done = subprocess.run(
        [emulator, "-cpu", cpu, str(probe), "--version"],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"whylate-probe {__version__} ")
