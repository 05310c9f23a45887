"""`whylate bisect settings` on this machine: among many settings one is found, and all put back.

The size of socket buffers makes a program that sends through sockets several times slower, on one
CPU, so that other programs change little. Two
settings can only be changed together: what one of them alone makes is untestable.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import starts
from c_programs import FLAGS
from settings_here import inert
from whylate.bisect.settings.journal import read_bisection

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may set them"),
]

CULPRIT = "sysctl:net.core.wmem_default"
LOW, HIGH = "sysctl:net.ipv4.ipfrag_low_thresh", "sysctl:net.ipv4.ipfrag_high_thresh"
#: Settings that say nothing of sockets between processes: each by one more.
INERT = 43


@pytest.fixture
def settings() -> Iterator[list[tuple[str, str, str]]]:
    """Return knobs with their values in both variants; a test leaves all as they are."""
    known = inert(INERT)
    if len(known) < INERT or not os.access(file_of(CULPRIT), os.W_OK):
        pytest.skip(f"only {len(known)} settings of the Internet protocol can be set here")
    values = [(str(path), str(value), str(value + 1)) for path, value in known]
    values.insert(7, (CULPRIT, "4608", found(CULPRIT)))
    # A high threshold below the low one is refused.
    low = int(found(LOW))
    values += [(LOW, str(low), str(low // 2)), (HIGH, found(HIGH), str(low - 1))]
    before = {path: path.read_text() for path in files(values)}
    yield values
    after = {path: path.read_text() for path in before}
    for path, text in before.items():
        path.write_text(text)
    assert after == before


def files(values: list[tuple[str, str, str]]) -> list[Path]:
    """Return the files of knobs, in an order in which their values can be written."""
    return [file_of(name) for name, _, _ in values]


def file_of(knob: str) -> Path:
    """Return the file of a knob."""
    return (
        Path("/proc/sys", *knob.removeprefix("sysctl:").split(".")) if ":" in knob else Path(knob)
    )


def found(knob: str) -> str:
    """Return the value of a knob, as it is found."""
    return file_of(knob).read_text().strip()


def write_plan(directory: Path, values: list[tuple[str, str, str]], workload: list[str]) -> Path:
    lines = ["warm_up = 'none'"]
    for variant, column in (("ours", 1), ("theirs", 2)):
        lines.append(f"[variants.{variant}]")
        lines += [f"'{value[0]}' = '{value[column]}'" for value in values]
    lines += workload
    plan = directory / "plan.toml"
    plan.write_text("\n".join(lines))
    return plan


def build(directory: Path, name: str) -> Path:
    source, path = Path(__file__).with_name(f"{name}.c"), directory / name
    subprocess.run(["cc", *FLAGS, "-O2", str(source), "-o", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the tables of a plan that measures the program with the sockets."""
    return workload_of(build(tmp_path_factory.mktemp("program"), "sockets"))


def workload_of(path: Path) -> list[str]:
    """Return the table of a plan that measures a program."""
    return ["[cmd]", f"command = ['taskset', '-c', '0', '{path}']", "rounds = 1"]


def bisect(plan: Path, output: Path) -> list[str]:
    return [sys.executable, "-m", "whylate", "bisect", "settings", str(plan), "-o", str(output),
            "--statistic", "CPU time"]  # fmt: skip


def documented(plan: Path, output: Path, *words: str) -> dict[str, Any]:
    done = starts.run(
        [*bisect(plan, output), *words, "--json"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_one_of_46_settings_is_found_also_after_everything_was_killed(
    tmp_path: Path, settings: list[tuple[str, str, str]], program: list[str]
) -> None:
    plan, output = write_plan(tmp_path, settings, program), tmp_path / "b"
    before = found(CULPRIT)
    with subprocess.Popen(
        bisect(plan, output), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        lines = output / "runs.jsonl"
        deadline = time.monotonic() + 200
        while not lines.exists() or lines.read_bytes().count(b"\n") < 23:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    kept = read_bisection(output)[1]
    assert len(kept) >= 23
    # The guardian of the run puts back what it had set.
    deadline = time.monotonic() + 20
    while found(CULPRIT) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    document = documented(plan, output)
    assert read_bisection(output)[1][: len(kept)] == kept
    assert document["answer"] == "culprits", document
    assert [culprit["knob"] for culprit in document["culprits"]] == [CULPRIT]
    share = document["culprits"][0]["share"]
    assert share["low"] > 0.7
    confirmation = document["confirmation"]
    for way in ("first_with_second", "second_with_first"):
        assert 0.7 < confirmation[way]["low"] < confirmation[way]["high"] < 1.3
    assert document["gap"]["value"] < -0.7
    check_untestable(document)
    # Over is over: nothing more is run.
    assert documented(plan, output)["runs"] == document["runs"]
    page = (output / "report.html").read_text()
    assert "This setting makes the difference:" in page
    assert page.count('class="clear"') == 1


def check_untestable(document: dict[str, Any]) -> None:
    """Hybrids with the high threshold of one variant and the low one of the other are not slow."""
    alone = [
        made for made in document["runs"] if HIGH in made["planned"] and LOW not in made["planned"]
    ]
    assert alone
    for made in alone:
        assert made["value"] is None
        assert "ipfrag_high_thresh" in made["untestable"]
    assert all(made["value"] is not None for made in document["runs"] if made not in alone)


def test_equal_variants_are_said_to_be_equal(
    tmp_path: Path, settings: list[tuple[str, str, str]], program: list[str]
) -> None:
    values = [value for value in settings if value[0] not in (CULPRIT, LOW, HIGH)][:8]
    plan = write_plan(tmp_path, values, program)
    document = documented(plan, tmp_path / "b")
    assert document["answer"] == "no gap", document
    assert "culprits" not in document


def test_what_is_kept_makes_the_difference_and_what_is_excluded_is_set_by_no_run(
    tmp_path: Path, settings: list[tuple[str, str, str]], program: list[str]
) -> None:
    values = [value for value in settings if value[0] not in (LOW, HIGH)][:12]
    values.append(("cmdline:quiet", "yes", "no"))
    plan = write_plan(tmp_path, values, program)
    patterns = ("--keep", CULPRIT, "--exclude", "command line:*", "--pin", "*/tcp_*")
    document = documented(plan, tmp_path / "b", *patterns)
    assert document["answer"] == "not among the settings", document
    names = [setting["knob"] for setting in document["settings"]]
    assert CULPRIT not in names
    assert sum(len(name.split(" + ")) for name in names) == 11
    assert {run["value"] is None for run in document["runs"]} == {False}
