"""The probes in the package: one static program for each architecture."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parent / "binaries"

#: The output of `uname -m`, and the probe that runs there.
ARCHITECTURES = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "armv7l": "armv7",
    "armv8l": "armv7",
    "riscv64": "riscv64",
}


class NoProbeError(Exception):
    """There is no probe for a machine, or it is not the one that was built."""


@dataclass(frozen=True)
class ProbeBinary:
    """A probe whose hash is the one recorded when it was built."""

    path: Path
    arch: str
    sha256: str


def probe_binary(machine: str, directory: Path = DIRECTORY) -> ProbeBinary:
    """Return the probe for uname's `machine`; raises NoProbeError."""
    arch = ARCHITECTURES.get(machine)
    if arch is None:
        raise NoProbeError(
            f"there is no probe for {machine!r}: expected one of "
            f"{', '.join(sorted(set(ARCHITECTURES.values())))}"
        )
    path = directory / arch / "whylate-probe"
    try:
        recorded = json.loads((directory / "hashes.json").read_text())[arch]
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, KeyError, ValueError):
        raise NoProbeError(
            f"the probe for {arch} is not built: run `make probes` in a checkout, "
            "or install whylate from a wheel"
        ) from None
    if sha256 != recorded:
        raise NoProbeError(
            f"{path} is not the probe that was built with this whylate (its hash differs): "
            "run `make probes`, or install whylate again"
        )
    if not os.access(path, os.X_OK):
        raise NoProbeError(f"{path} cannot be run: run chmod +x on it")
    return ProbeBinary(path, arch, sha256)
