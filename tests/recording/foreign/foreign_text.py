"""Text in the place of another tool's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.recording.foreign.model import ForeignError, ForeignRun
from whylate.recording.foreign.read import read_foreign


def read(tmp_path: Path, text: str) -> list[ForeignRun]:
    file = tmp_path / "x"
    file.write_text(text)
    return read_foreign(file)


def refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ForeignError, match=says) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)
