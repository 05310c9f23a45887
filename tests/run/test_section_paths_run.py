"""Call paths of longer executions, of programs of which it is known who calls what for how long.

See paths.c. Machines are shared and noisy: only counts and shares are compared.
"""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from section_runs import CALLS, command, report_of

from c_programs import FLAGS
from user_sections import NEEDS
from whylate.recording.reader import open_recording
from whylate.recording.sections import PathsReport
from whylate.summary.model import PathsFigures
from whylate.summary.paths import path_figures

pytestmark = [pytest.mark.machine, *NEEDS]


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
    # On a busy machine a stack is cut short now and then.
    assert quick.control_share is not None
    assert quick.control_share >= 0.95
    assert paths.lost == 0
    assert all(each.longest_ns > (figures.above_ns or 0) for each in figures.paths if each.longer)


def test_no_more_stacks_are_walked_than_are_read(tmp_path: Path) -> None:
    """Each is longer than the limit: what there is no room for is counted, and the sum is all."""
    program = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000", "status=none"]
    _, figures = timed(
        tmp_path / "r", CALLS, "--comm", "dd", "--one-in", "64", "--keep-above", "1ns",
        program=program,
    )  # fmt: skip
    section = open_recording(tmp_path / "r").manifest.section
    assert section is not None
    assert section.account is not None
    assert figures.above_ns == 1
    assert figures.control == 0
    assert figures.lost > 0
    assert figures.longer + figures.lost == section.account.returned
    # No more than 1,024 of a CPU between two looks, of which there are 20 a second.
    assert figures.longer < 2 * 1_024 * 20 * 4 * len(section.cpus)


def test_without_executions_before_the_run_there_is_no_limit(tmp_path: Path) -> None:
    program = built(tmp_path)
    run = subprocess.run(
        command(tmp_path / "r", f"{program}:work", "--paths", seconds=0.3),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.section is not None, run.stderr
    paths = manifest.section.paths
    assert paths is not None
    assert (paths.above_ns, paths.lost) == (None, 0)
    assert [(path.longer, path.control) for path in paths.groups] == [(0, 0)]


def test_every_execution_above_the_limit_has_a_row(tmp_path: Path) -> None:
    """The limit is where a bin of the counts begins, and these are of all executions."""
    limit_ns = (1 << 18) - 1
    program = built(tmp_path)
    beside = subprocess.Popen([str(program), "100000", "300", "1"])
    try:
        subprocess.run(
            command(
                tmp_path / "r", CALLS, "--one-in", "64", "--keep-above", f"{limit_ns}ns", seconds=1
            ),
            capture_output=True, check=False,
        )  # fmt: skip
    finally:
        beside.kill()
        beside.wait()
    manifest = open_recording(tmp_path / "r").manifest
    section, _ = report_of(manifest)
    assert section.paths is None
    drawn = pq.read_table(tmp_path / "r" / "samples.parquet")["latency_ns"].to_numpy()
    longer = pq.read_table(tmp_path / "r" / "longer.parquet")["latency_ns"].to_numpy()
    first_bin = 16 * (18 - 3)
    above = sum(each.count for cpu in section.cpus for each in cpu.bins if each.bin >= first_bin)
    assert sum(account.dropped for account in manifest.cpus) == 0
    assert longer.size > 100
    assert (longer > limit_ns).all()
    assert longer.size + (drawn > limit_ns).sum() == above
