"""Call paths of longer executions, of programs of which it is known who calls what for how long.

See paths.c. Machines are shared and noisy: only counts and shares are compared.
"""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest
from section_runs import CALLS, command, report_of

from c_programs import FLAGS
from user_sections import NEEDS
from whylate.recording.reader import open_recording
from whylate.recording.sections import PathsReport
from whylate.summary.model import PathsFigures
from whylate.summary.paths import path_figures

pytestmark = NEEDS


def built(directory: Path) -> Path:
    program = directory / "paths"
    source = Path(__file__).with_name("paths.c")
    flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    subprocess.run(["cc", *FLAGS, *flags, str(source), "-o", str(program)], check=True)
    return program


def timed(
    directory: Path, section: str, *options: str, program: list[str]
) -> tuple[PathsReport, PathsFigures]:
    """Time a section beside a program that runs before and after it."""
    over = threading.Event()

    def keep_running() -> None:
        while not over.is_set():
            subprocess.run(program, check=True)

    thread = threading.Thread(target=keep_running)
    thread.start()
    time.sleep(0.2)
    try:
        run = subprocess.run(
            command(directory, section, "--paths", *options), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    finally:
        over.set()
        thread.join()
    assert (directory / "manifest.json").exists(), run.stderr
    manifest = open_recording(directory).manifest
    report_of(manifest)
    assert manifest.section is not None
    paths, figures = manifest.section.paths, path_figures(manifest)
    assert paths is not None
    assert figures is not None
    return paths, figures


def test_who_calls_a_function_for_long_is_named(tmp_path: Path) -> None:
    program = built(tmp_path)
    paths, figures = timed(
        tmp_path / "r", f"{program}:work", program=[str(program), "4000", "50", "20"]
    )
    by_caller = {each.callers[0]: each for each in figures.paths if each.callers}
    slow, quick = by_caller["takes_long"], by_caller["takes_no_time"]
    assert slow.callers[:2] == ["takes_long", "main"]
    # Whoever was preempted took longer as well.
    assert slow.longer >= 50
    assert slow.control == 0
    assert quick.control >= 100
    assert quick.control_share == 1
    assert slow.total_ns / slow.longer > 10 * (figures.above_ns or 0) / 2
    assert paths.lost == 0
    # What ended twice as quickly as the median's bin ends is no longer one.
    assert all(each.longest_ns > (figures.above_ns or 0) for each in figures.paths if each.longer)


def test_no_more_stacks_are_walked_than_are_read(tmp_path: Path) -> None:
    """Each is longer than the limit: what there is no room for is counted, and the sum is all."""
    program = built(tmp_path)
    paths, figures = timed(
        tmp_path / "r", CALLS, "--comm", "paths", "--keep-above", "1ns",
        program=[str(program), "2000000", "1", "1000000000"],
    )  # fmt: skip
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.section is not None
    account = manifest.section.account
    assert account is not None
    assert paths.above_ns == 1
    assert figures.control == 0
    assert figures.longer + figures.lost == account.returned
    # The end of a system call is where the kernel returns to its caller.
    assert "do_syscall_64" in figures.paths[0].callers or figures.paths[0].callers


def test_without_executions_before_the_run_there_is_no_limit(tmp_path: Path) -> None:
    program = built(tmp_path)
    run = subprocess.run(
        command(tmp_path / "r", f"{program}:work", "--paths", seconds=0.3),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.section is not None, run.stderr
    assert manifest.section.paths == PathsReport(
        above_ns=None,
        lost=0,
        groups=manifest.section.paths.groups if manifest.section.paths else [],
    )


@pytest.mark.parametrize("options", [(), ("--locks",)])
def test_paths_are_kept_where_they_are_asked_for(tmp_path: Path, options: tuple[str, ...]) -> None:
    subprocess.run(
        command(tmp_path / "r", CALLS, *options, "--one-in", "64", seconds=0.3), check=False,
        capture_output=True,
    )  # fmt: skip
    section = open_recording(tmp_path / "r").manifest.section
    assert section is not None
    assert section.paths is None
