"""Names and units are printed as they are: nothing in them is a style, and none is lost."""

from __future__ import annotations

import json
import os
import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import starts
import whylate as package
from whylate.cli import whylate
from whylate.cli.live import LiveView
from whylate.cli.study import view as study_view
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.report.plain_console import plain_console
from whylate.study.journal import StudyJournal
from whylate.study.model import LoadSet, PlannedRun, Stop, StudyPlan, Variant
from whylate.study.results.evidence import Key, Standing

ADDRESS = "ssh://root@[fe80::1]"


def run(*words: object) -> Result:
    return CliRunner().invoke(
        whylate, [str(word) for word in words], env={"COLUMNS": "200"}, catch_exceptions=False
    )


def table(path: Path, heading: str, first: int) -> Path:
    path.write_text(f"{heading},n\n" + "".join(f"{first + n},{n}\n" for n in range(8)))
    return path


@pytest.mark.parametrize("heading", ["lat [us]", "max [/us]", "[red]", ":bug:"])
def test_a_columns_name_is_no_style(tmp_path: Path, heading: str) -> None:
    sides = [table(tmp_path / f"{n}.csv", heading, 10 + n) for n in range(2)]
    done = run("compare", *sides, "--column", heading, "--independent")
    assert any(line.startswith(heading) for line in done.stdout.splitlines())


def test_a_unit_is_no_style_and_no_control_character(tmp_path: Path) -> None:
    sides = [table(tmp_path / f"{n}.csv", "lat", 10 + n) for n in range(2)]
    done = run("compare", *sides, "--column", "lat", "--independent", "--unit", "x[/b]\x1b[31m")
    assert done.stdout.count(r"x[/b]\x1b[31m") >= 2
    assert "\x1b" not in done.stdout


def study(directory: Path) -> StudyPlan:
    plan = StudyPlan(
        workload=Wakeup(duration_ns=10**9, interval_ns=10**6, priority=80, recorder=RecorderPlan()),
        boards=[ADDRESS],
        variants=[Variant("base"), Variant("[/b]\x1b", {"priority": "20"})],
        loads=[LoadSet("[red]", [])],
        stop=Stop("runs", [4]),
    )
    with StudyJournal(directory, plan):
        return plan


def test_a_study_shows_its_names_and_its_directory(tmp_path: Path) -> None:
    directory = tmp_path / "[/b]"
    study(directory)
    done = run("study", "show", directory)
    for name in (ADDRESS, "[red]", r"[/b]\x1b", f"report  {directory}/report.html"):
        assert name in done.stdout
    assert "\x1b" not in done.stdout


def test_a_running_study_shows_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    plan = study(tmp_path / "s")
    for terminal in ("0", "1"):
        monkeypatch.setenv("TTY_COMPATIBLE", terminal)
        monkeypatch.setenv("NO_COLOR", "1")
        with study_view.StudyView(plan) as view:
            view.run_begins(PlannedRun(ADDRESS, "[red]", "[/b]\x1b", 1))
            view.show_standings({Key(ADDRESS, "[red]", "[/b]\x1b"): Standing(
                Key(ADDRESS, "[red]", "[/b]\x1b"), 0, 0, None, over=False)})  # fmt: skip
        shown = capfd.readouterr().err
        assert rf"{ADDRESS}: round 1 of at most 4, [red], [/b]\x1b" in shown


def test_text_from_a_board_is_no_style() -> None:
    console = plain_console()
    console.file = StringIO()
    LiveView(console).log("[red]booting\x1b[2J")
    assert console.file.getvalue() == "whylate: [red]booting\\x1b[2J …\n"


def test_consoles_are_made_in_one_place() -> None:
    source = Path(package.__file__).parent
    making = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(r"import.*\bConsole\b", text := path.read_text())
        and re.search(r"(?<![\w.])Console\(|rich\.print|from_markup", text)
    ]
    # The other one is what a board has.
    assert sorted(making) == ["report/plain_console.py"]


def test_json_has_names_that_are_no_utf_8(tmp_path: Path) -> None:
    sides = [
        table(tmp_path / os.fsdecode(b"\xff%d.csv" % number), "lat", number) for number in range(2)
    ]
    done = starts.run(
        [sys.executable, "-m", "whylate", "compare", *map(str, sides), "--column", "lat", "--json"],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr == b""
    assert json.loads(done.stdout)["first"]["name"].endswith(r"/\udcff0.csv")
