"""Runs in virtual time by the command line, as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

WHYLATE = str(Path(sys.executable).parent / "whylate")


def start(directory: Path, *words: str, wrapper: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """Start `whylate measure --virtual-time`; wrapper: words before the command."""
    return subprocess.Popen(
        [*wrapper, WHYLATE, "measure", "--virtual-time", "--json", "-o", str(directory), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def result(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the document that a measurement prints."""
    output, _ = process.communicate(timeout=240)
    document: dict[str, Any] = json.loads(output)
    return document


def measure(directory: Path, *words: str) -> dict[str, Any]:
    """Measure in virtual time; return the document that it prints."""
    return result(start(directory, *words))
