"""Every command in README and docs is one that whylate accepts, and those that can run do run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from page_blocks import BLOCKS, PAGES, ROOT, SHELL_BLOCKS, Block

import start_client
import starts
from own_boards import own_boards
from whylate.cli import whylate
from whylate.cli.board.soak_workload import SoakCommand, workload_command
from whylate.study.plan_file import read_plan_file

PRELUDE = """
set -e -o pipefail
# Status 3 is "no verdict": a busy machine may give no other.
whylate() { "$PYTHON" -IS "$START_CLIENT" "$START_SERVER" "$@" || [ $? = 3 ]; }
"""
CORPUS = ROOT / "tests/recording/corpus/files"
AUTO_ANALYSIS = CORPUS / "auto-analysis-tabs.txt"
#: A page may take so long: its blocks run one after the other.
LIMIT_S = 240


def parse(arguments: list[str]) -> None:
    """Parse a command line as click does, without its callbacks; raises click.UsageError."""
    context = click.Context(whylate, info_name="whylate")
    command: click.Command = whylate
    rest = list(arguments)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name, below, rest = command.resolve_command(context, rest)
        assert below is not None
        command = below
        context = click.Context(command, info_name=name, parent=context)
    if isinstance(command, SoakCommand):
        rest, words = command.split(context, rest)
        if words:
            below = workload_command(words[0], context)
            below.make_parser(click.Context(below)).parse_args(list(words[1:]))
    parser = command.make_parser(context)
    parser.parse_args(rest)


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=lambda block: block.name)
def test_whylate_has_the_verbs_and_options_of_the_block(block: Block) -> None:
    for arguments in block.verbs():
        try:
            parse(arguments)
        except click.UsageError as error:
            pytest.fail(f"{block.name}: whylate {' '.join(arguments)}: {error.format_message()}")


def test_the_blocks_hold_commands_of_most_verbs() -> None:
    used = {arguments[0] for block in SHELL_BLOCKS for arguments in block.verbs() if arguments}
    assert len(used) >= 12, used


def test_an_unknown_option_is_noticed() -> None:
    for words in (["measure"], ["board", "soak", "pc", "memory"], ["board", "soak", "pc"]):
        with pytest.raises(click.UsageError):
            parse([*words, "--no-such-option"])


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.language == "toml" and block.not_run is None],
    ids=lambda block: block.name,
)
def test_a_plan_on_a_page_is_one_that_a_study_reads(block: Block, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(block.text)
    read_plan_file(plan)


@pytest.fixture(scope="module")
def boards() -> Iterator[Path]:
    with own_boards("pc", "virt-arm64") as directory:
        yield directory


def make_materials(folder: Path) -> None:
    """Write what the pages take as given: files of numbers and of cyclictest, old and new runs."""
    (folder / "examples").symlink_to(ROOT / "examples")
    files = ROOT / "tests" / "recording"
    histogram = next(files.glob("*/cyclictest_histogram.txt"))
    (folder / "cyclictest_histogram.txt").write_bytes(histogram.read_bytes())
    as_json = json.loads(next(files.glob("*/cyclictest.json")).read_text())
    thread = as_json["thread"]["0"]

    def write_run(path: Path) -> None:
        # A run that is there twice is refused.
        thread["histogram"]["17"] += 1
        thread["cycles"] += 1
        path.write_text(json.dumps(as_json))

    (folder / "after").mkdir()
    write_run(folder / "cyclictest-1.json")
    write_run(folder / "after" / "cyclictest-1.json")
    for name, median in (("before", 13.6), ("after", 10.1), ("without", 13.6), ("with", 10.1)):
        rows = [f"{median + 0.01 * number:.3f}" for number in range(11)]
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")
    for name in ("old", "new", "old-1", "old-2", "old-3", "new-1", "new-2", "new-3"):
        write_run(folder / f"{name}.run.json")
        command = [sys.executable, "-m", "whylate", "import", f"{name}.run.json", "-o", name]
        starts.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[None]:
    """End the simulated bench of a page that did not come to its own end."""
    yield
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((tmp_path / "bench.pid").read_text()), signal.SIGTERM)


def make_checkout(folder: Path) -> None:
    """Write what the page takes as given: the checkout, and the plan that it shows."""
    for name in ("examples", ".venv"):
        (folder / name).symlink_to(ROOT / name)
    (plan,) = [
        block for block in BLOCKS if block.page.name == "night.md" and block.language == "toml"
    ]
    (folder / "night.toml").write_text(plan.text)


@pytest.mark.qemu
@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, boards: Path) -> None:
    blocks = [block for block in SHELL_BLOCKS if block.page == page and block.not_run is None]
    if not blocks:
        pytest.skip("no command of this page can run in a test")
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "START_CLIENT": start_client.__file__,
        "START_SERVER": starts.server(),
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "WHYLATE_RUN": str(boards),
    }
    if page.name == "compare.md":
        make_materials(tmp_path)
    if page.name == "night.md":
        make_checkout(tmp_path)
    if page.name == "import-executions.md":
        for name in ("lite-tracer-marks.csv", "do-local-timer-pmu.csv"):
            (tmp_path / name.replace("-", "_")).write_bytes((CORPUS / name).read_bytes())
    if page.name == "import-trace.md":
        (tmp_path / "auto-analysis.txt").write_bytes(AUTO_ANALYSIS.read_bytes())
    for block in blocks:
        done = subprocess.run(
            ["bash", "-c", PRELUDE + block.script],
            cwd=tmp_path,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, f"{block.name}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
