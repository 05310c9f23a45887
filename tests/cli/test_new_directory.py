"""Where results lie that were given no place."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from whylate.cli import run_options
from whylate.cli.run_options import new_directory


class OneSecond(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz: object = None) -> OneSecond:
        del tz
        return cls(2026, 1, 2, 3, 4, 5)


def test_runs_of_one_second_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_options, "datetime", OneSecond)
    made = []
    for name in ("board7", "board7", "board7", "board8", ""):
        path = new_directory(str(tmp_path), name)
        path.mkdir()
        made.append(path.name)
    stamp = "2026-01-02-030405"
    assert made == [
        f"{stamp}-board7", f"{stamp}-board7-2", f"{stamp}-board7-3", f"{stamp}-board8", stamp,
    ]  # fmt: skip


def test_a_link_that_leads_nowhere_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_options, "datetime", OneSecond)
    (tmp_path / "2026-01-02-030405").symlink_to("nowhere")
    assert new_directory(str(tmp_path)).name == "2026-01-02-030405-2"
