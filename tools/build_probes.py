"""Build the probe for every architecture and put it, with its hash, into the package.

`build_probes.py [ARCH ...]`: without arguments all for which there is a compiler here, and at
least the one of this machine.
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
}


def run(*command: str) -> None:
    """Run a build tool from the environment this Python is in; its failure is ours."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        sys.exit(f"{command[0]} failed")


def build(arch: str) -> Path:
    """Build one probe and return its path."""
    native = platform.machine() == arch
    directory = ROOT / "build" / arch
    if not (directory / "build.ninja").exists():
        cross = [] if native else ["--cross-file", f"probe/cross/{arch}.ini"]
        run("meson", "setup", *cross, str(directory), "probe")
    run("ninja", "-C", str(directory), "whylate-probe")
    return directory / "whylate-probe"


def install(arch: str, built: Path) -> str:
    """Copy a probe into the package, stripped, and return its hash."""
    target = PACKAGE / arch / "whylate-probe"
    target.parent.mkdir(parents=True, exist_ok=True)
    data = built.read_bytes()
    if not target.exists() or target.read_bytes() != data:
        # Not over the old file: a probe that runs now keeps its own.
        fresh = target.with_suffix(".new")
        fresh.write_bytes(data)
        fresh.chmod(0o755)
        fresh.replace(target)
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    """Build what was asked for."""
    wanted = sys.argv[1:] or [
        arch for arch, cc in CROSS.items() if arch == platform.machine() or shutil.which(cc)
    ]
    unknown = [arch for arch in wanted if arch not in CROSS]
    if unknown:
        sys.exit(f"unknown architecture {unknown[0]}: there are {', '.join(CROSS)}")
    record = PACKAGE / "hashes.json"
    hashes = json.loads(record.read_text()) if record.exists() else {}
    for arch in wanted:
        hashes[arch] = install(arch, build(arch))
        print(f"probe {arch}: {(PACKAGE / arch / 'whylate-probe').stat().st_size // 1024} KiB")
    record.write_text(json.dumps(hashes, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
