"""Bounds for what is rare, from recordings that were made of samples with known episodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whylate.cli import whylate


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(whylate, ["bound", *(str(word) for word in words)])
    return result.exit_code, result.output


def test_before_a_run_it_says_how_long_it_must_be() -> None:
    status, output = invoke("--claim", "over(200us)<1/1h", "--json")
    assert status == 0
    assert json.loads(output)["seconds"] == pytest.approx(2.9957 * 3600, rel=1e-3)
    assert "3.0 h" in invoke("--claim", "over(200us)<1/1h")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name recordings, or a claim"),
        (["--claim", "p99<100us"], "is no rate"),
        (["--claim", "over(fast)<1/1h"], "no latency above zero"),
        (["x", "--above", "1ms", "--claim", "over(1ms)<1/1h"], "leave --above out"),
    ],
)
def test_what_cannot_be_answered_is_one_line(words: list[str], says: str) -> None:
    status, output = invoke(*words)
    assert status == 2
    assert says in output


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(whylate, ["bound", str(tmp_path)])
    assert result.exit_code != 0
