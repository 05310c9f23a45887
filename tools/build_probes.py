"""Build the probe and put it, with its hash, into the package.

`build_probes.py [ARCH ...]`: x86_64, aarch64, armv7, riscv64, `native` for this machine's own;
without arguments all for which there is a compiler here, and at least the native one. Quick, and
says nothing, where nothing changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "whylate" / "probe" / "binaries"
#: Architecture, and the cross compiler by which we see that it can be built.
CROSS = {
    "x86_64": "x86_64-linux-gnu-gcc",
    "aarch64": "aarch64-linux-gnu-gcc",
    "armv7": "arm-linux-gnueabihf-gcc",
    "riscv64": "riscv64-linux-gnu-gcc",
}
#: What uname calls a 32-bit ARM, and what we call it.
MACHINES = {"armv7l": "armv7", "armv8l": "armv7"}


def native_arch() -> str:
    """Return the architecture of this machine, which may be one there is no probe for."""
    return MACHINES.get(platform.machine(), platform.machine())


def run(*command: str) -> str:
    """Run a build tool from the environment this Python is in; its failure is ours."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        sys.exit(f"{command[0]} failed")
    return done.stdout


def configure(arch: str, directory: Path) -> None:
    """Set the build directory up, anew where it was made in another place or environment."""
    cross = [] if arch == native_arch() else ["--cross-file", f"probe/cross/{arch}.ini"]
    # Meson writes these paths into build.ninja: a checkout that moved would build the old one.
    made_for = "\n".join([str(ROOT), sys.prefix, os.environ.get("CC", ""), *cross])
    note = directory / "made-for"
    if note.exists() and note.read_text() == made_for:
        return
    shutil.rmtree(directory, ignore_errors=True)
    run("meson", "setup", *cross, str(directory), "probe")
    note.write_text(made_for)


def build(arch: str) -> Path:
    """Build one probe and return its path."""
    directory = ROOT / "build" / arch
    configure(arch, directory)
    run("ninja", "-C", str(directory), "whylate-probe")
    return directory / "whylate-probe"


def write(target: Path, data: bytes, mode: int) -> bool:
    """Write a file unless it is just so, and never over the old one; return whether we did."""
    if target.exists() and target.read_bytes() == data and target.stat().st_mode & 0o777 == mode:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not over the old file: a probe that runs now keeps its own.
    fresh = target.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.chmod(mode)
    fresh.replace(target)
    return True


def install(arch: str, built: Path) -> str:
    """Copy a probe into the package and return its hash."""
    data = built.read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    if write(PACKAGE / arch / "whylate-probe", data, 0o755):
        print(f"probe {arch}: {len(data) // 1024} KiB, sha256 {sha256[:12]}…")
    return sha256


def wanted(arguments: list[str]) -> list[str]:
    """Return the architectures to build; raises SystemExit where there is no such probe."""
    native = native_arch()
    archs = [native if arch == "native" else arch for arch in arguments] or [
        arch for arch, cc in CROSS.items() if arch == native or shutil.which(cc)
    ]
    unknown = [arch for arch in archs if arch not in CROSS]
    if unknown:
        sys.exit(f"there is no probe for {unknown[0]}: there are {', '.join(CROSS)}")
    return archs


def main() -> None:
    """Build what was asked for."""
    archs = wanted(sys.argv[1:])
    record = PACKAGE / "hashes.json"
    hashes = json.loads(record.read_text()) if record.exists() else {}
    hashes |= {arch: install(arch, build(arch)) for arch in archs}
    write(record, (json.dumps(hashes, indent=2, sort_keys=True) + "\n").encode(), 0o644)


if __name__ == "__main__":
    main()
