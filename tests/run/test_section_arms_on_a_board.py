"""An experiment on a board whose emulator has no caches: nothing is compared, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from own_boards import own_boards
from whylate.cli import whylate

pytestmark = pytest.mark.qemu

BOARD = "pc"


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards(BOARD):
        yield


def test_where_reading_memory_takes_as_long_as_reading_caches_nothing_is_compared(
    tmp_path: Path,
) -> None:
    """Both arms run the same instructions: in virtual time the medians of reading are one."""
    result = CliRunner().invoke(
        whylate,
        ["section", "try_to_wake_up", BOARD, "--virtual-time", "--smp", "1", "--load", "timer:1",
         "--experiment", "prefetch", "--one-in", "8", "--for", "1s", "--json",
         "-o", str(tmp_path / "r")],
    )  # fmt: skip
    assert result.stdout, result.output
    experiment: dict[str, Any] = json.loads(result.stdout)["section"]["experiment"]
    placebo, treated = experiment["arms"]
    # There is enough to compare.
    assert min(placebo["rows"], treated["rows"]) >= 50
    assert placebo["reading_ns"]["value"] == treated["reading_ns"]["value"] > 0
    assert placebo["failed"] == treated["failed"] == 0
    assert "this board models no caches" in experiment["not_applied"]
    figures = ("median_ns", "excess_ns", "share", "limit_ns")
    assert all(experiment[name] is None for name in figures)
    assert all(arm["median_ns"] is None for arm in experiment["arms"])
