"""The probe's own C sources as small programs that a test can talk to."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "schema" / "golden"
PROBE = ROOT / "probe"
WIRE = ["frame", "link", "messages", "pack", "xxh64"]
WARNINGS = ["all", "extra", "error", "shadow", "strict-prototypes", "missing-prototypes", "vla"]
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64"]
FLAGS += [f"-W{name}" for name in WARNINGS]


@dataclass(frozen=True)
class Target:
    """Where a program runs: its compiler, and what starts it on this machine."""

    compiler: str
    emulator: tuple[str, ...]


TARGETS = {
    "native": Target("cc", ()),
    "aarch64": Target("aarch64-linux-gnu-gcc", ("qemu-aarch64-static",)),
    "armv7": Target("arm-linux-gnueabihf-gcc", ("qemu-arm-static",)),
    "riscv64": Target("riscv64-linux-gnu-gcc", ("qemu-riscv64-static",)),
}


def absent(target: Target) -> str | None:
    """What is not installed of a compiler and its emulator."""
    tools = (target.compiler, *target.emulator)
    return next((tool for tool in tools if not shutil.which(tool)), None)


def compile_c(
    compiler: str, program: str, sources: list[str], folder: Path, extra: list[str]
) -> Path:
    """Compile probe/tests/`program`.c with sources of the probe."""
    files = [str(PROBE / "tests" / f"{program}.c"), *(str(PROBE / "src" / s) for s in sources)]
    built = folder / program
    include = f"-I{PROBE / 'src'}"
    subprocess.run([compiler, *FLAGS, *extra, include, *files, "-o", str(built)], check=True)
    return built
