"""Running the tools that build faults: compilers, make, binutils."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from whylate.lab.errors import LabError

#: Far longer than the slowest of them takes.
BUILD_S = 300


def require(program: str, package: str) -> None:
    """Raise LabError, with what to install, where a program is missing."""
    if shutil.which(program) is None:
        raise LabError(
            f"{program} is missing, which builds injected faults: install it "
            f"(Debian: apt-get install {package})"
        )


def run(command: Sequence[str], what: str, cwd: Path) -> str:
    """Run a tool and return its output; raises LabError with its first error."""
    # Without this, make would inherit the options and the jobs of a make that runs us.
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "CC", "CFLAGS")
    }
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
            env={**environment, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"building {what} took longer than {BUILD_S} s") from None
    except OSError as error:
        raise LabError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr + done.stdout).splitlines()
        first = next((line for line in lines if "error" in line.lower()), " | ".join(lines[-3:]))
        raise LabError(f"{what} cannot be built: {first[:300]}")
    return done.stdout
