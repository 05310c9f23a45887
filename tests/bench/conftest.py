"""What the tests of the bench share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_line import SerialLine

from whylate.boards.labgrid import supply


@pytest.fixture
def line() -> Iterator[SerialLine]:
    """A board's serial line, with nobody at its other end as yet."""
    made = SerialLine()
    yield made
    made.close()


@pytest.fixture
def boards_that_die_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the boards apart, and wait no longer for a board to die than these here take."""
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(supply, "SWITCH_S", 1.0)
    monkeypatch.setattr(supply, "DIE_S", 1.0)
    monkeypatch.setattr(supply, "ECHO_S", 0.3)
