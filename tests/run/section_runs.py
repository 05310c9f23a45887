"""`whylate section` on this machine while a program runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import starts
from c_programs import FLAGS
from waiting import came_true
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.recording.sections import SectionAccount, SectionReport
from whylate.recording.store.journal import NAME, read_journal
from whylate.wire.messages import SectionStarted

CALLS = "raw_syscalls:sys_enter..raw_syscalls:sys_exit"
#: Long enough for a program to run in it; the report takes most of a test's time.
SECONDS = 2


def command(directory: Path, section: str, *options: str, seconds: float = SECONDS) -> list[str]:
    return [sys.executable, "-m", "whylate", "section", section, "--for", f"{seconds}s",
            "-o", str(directory), *options]  # fmt: skip


def build_caller(program: Path) -> Path:
    """Compile the program caller, whose thread goes by its file's name."""
    source = Path(__file__).with_name("caller.c")
    subprocess.run(["cc", *FLAGS, "-O2", "-pthread", str(source), "-o", str(program)], check=True)
    return program


def has_started(directory: Path) -> bool:
    journal = directory / NAME
    if not journal.exists():
        return False
    frames, _ = read_journal(journal, frozenset({SectionStarted.KIND}))
    return next(frames, None) is not None


def timed(directory: Path, section: str, *options: str, program: list[str]) -> Manifest:
    """Time a section while a program runs, and return the manifest."""
    with (directory.parent / "output").open("w+") as output:
        run = subprocess.Popen(
            command(directory, section, *options), stdout=output, stderr=subprocess.STDOUT
        )
        assert came_true(lambda: has_started(directory) or run.poll() is not None)
        if run.poll() is None:
            starts.run(program, check=True)
        run.wait(60)
        output.seek(0)
        assert (directory / "manifest.json").exists(), output.read()
    return open_recording(directory).manifest


def report_of(manifest: Manifest) -> tuple[SectionReport, SectionAccount]:
    assert not [item.text for item in manifest.problems if item.code == "account"]
    assert manifest.section is not None
    account = manifest.section.account
    if account is None:
        cut = [item.text for item in manifest.problems if item.code == "probe"]
        if cut and os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
            pytest.skip(f"this machine is busy with other work: {cut[0]}")
        pytest.fail(f"the section has no account: {manifest.problems}")
    assert account.closes
    return manifest.section, account
