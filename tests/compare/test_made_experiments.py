"""Experiments that made runs of their own have rows in the table of preventable shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from section_journals import Execution

from section_examples import executions, recorded
from whylate.cli import whylate
from whylate.compare.made_experiments import (
    RESULT,
    MadeExperiment,
    MadeShare,
    read_made,
    write_made,
)
from whylate.compare.overlay import overlay_recordings
from whylate.recording.errors import RecordingError
from whylate.report.section_arms import run_rows
from whylate.study.experiment.judge import ExperimentResult, Share
from whylate.study.experiment.keep import keep_result
from whylate.study.model import FinishedRun

HOSTILE = "<img src=x onerror=hit()>\x1b[2J"
MADE = MadeExperiment(
    what="priority of the threads", run="runs/on/0001", rounds=10, late_on_ns_per_s=90_000,
    late_off_ns_per_s=30_000, preventable=MadeShare(0.66, 0.5, 0.8), why_not=None,
)  # fmt: skip


def run(directory: Path, extra_ns: int) -> None:
    """Make a recording, no two of which are the same."""
    ran = executions()
    recorded(directory, ran=[*ran[:-1], Execution(301, ran[-1].begin_ns, 1_000 + extra_ns)])


def experiment(directory: Path, made: MadeExperiment = MADE, extra_ns: int = 0) -> Path:
    (directory / "runs" / "on").mkdir(parents=True)
    run(directory / "runs" / "on" / "0001", extra_ns)
    write_made(directory, made)
    return directory


def reported(tmp_path: Path, *directories: Path) -> tuple[str, str]:
    """Return what `whylate report` prints of directories, and its page."""
    page = tmp_path / "page.html"
    words = ["report", *map(str, directories), "-o", str(page)]
    done = CliRunner().invoke(whylate, words, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split()), " ".join(page.read_text().split())


def test_shares_of_experiments_stand_in_the_table_of_several_runs(tmp_path: Path) -> None:
    refused = replace(MADE, what="load fork", preventable=None, why_not="its time did not fall")
    directories = [
        experiment(tmp_path / "a"), experiment(tmp_path / "b", refused, 1), tmp_path / "plain"
    ]  # fmt: skip
    run(directories[2], 2)
    overlay = overlay_recordings(directories).overlay
    board = overlay.runs[0].board
    assert run_rows(overlay.runs) == [
        ("1", board, "priority of the threads", "–", "−60 µs a second", "66 % [50 % to 80 %]"),
        ("2", board, "load fork", "–", "−60 µs a second", "–"),
    ]
    for text in reported(tmp_path, *directories):
        assert "66 % [50 % to 80 %]" in text
        assert "Experiment 2 has no preventable share: its time did not fall." in text


def test_a_single_experiment_is_shown_too_and_its_text_is_escaped(tmp_path: Path) -> None:
    text, page = reported(tmp_path, experiment(tmp_path / "a", replace(MADE, what=HOSTILE)))
    assert "66 % [50 % to 80 %]" in text
    assert "\x1b" not in text
    assert "<img" not in page
    assert "&lt;img" in page


@pytest.mark.parametrize("run", ["", "../other", "/etc", "runs/../../other"])
def test_a_run_outside_of_the_experiment_is_not_read(tmp_path: Path, run: str) -> None:
    (tmp_path / "a").mkdir()
    write_made(tmp_path / "a", replace(MADE, run=run))
    with pytest.raises(RecordingError, match="names a run that is not below"):
        read_made(tmp_path / "a")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"what": 1}', b"\xff", b"{" * 70_000, b'{"x": ' + b"[" * 20_000]
)
def test_a_damaged_result_is_an_error_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RESULT).write_bytes(content)
    with pytest.raises(RecordingError, match="is no result of an experiment"):
        read_made(tmp_path)


def test_the_result_names_the_first_run_as_recorded(tmp_path: Path) -> None:
    result = ExperimentResult(
        "load fork", 9, 6, 2.0, 1.0, Share(0.5, 0.4, 0.6), None, None, None, [], None, None
    )
    done = [
        FinishedRun(
            variant=name,
            board="b",
            load="l",
            round=1,
            recording=path,
            started="2026-01-01",
            took_s=1,
            failed=failed,
        )
        for name, path, failed in (("off", "x", ""), ("on", "y", "broke"), ("on", "z", ""))
    ]
    keep_result(tmp_path, result, done)
    made = read_made(tmp_path)
    assert made is not None
    assert (made.run, made.what, made.preventable) == ("z", "load fork", MadeShare(0.5, 0.4, 0.6))
    keep_result(tmp_path / "none", result, done[:1])
    assert not (tmp_path / "none").exists()
