"""Runs in virtual time by the command line, as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import starts

WHYLATE = str(Path(sys.executable).parent / "whylate")


def command(directory: Path, *words: str) -> list[str]:
    """Return the command `whylate measure --virtual-time`."""
    return [WHYLATE, "measure", "--virtual-time", "--json", "-o", str(directory), *words]


def start(directory: Path, *words: str, wrapper: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """Start a measurement in virtual time; wrapper: words before the command."""
    return subprocess.Popen(
        [*wrapper, *command(directory, *words)],
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
    done = starts.run(
        command(directory, *words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=240
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document
