"""Text in the place of another tool's file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.read import read_runs


def read(tmp_path: Path, text: str) -> list[ImportedRun]:
    file = tmp_path / "x"
    file.write_text(text)
    return read_runs(file)


def refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


def unfolded(run: ImportedRun) -> list[int]:
    """Return each latency as often as it came, in its order."""
    assert run.latency_ns is not None
    assert run.counts is not None
    assert (run.counts > 0).all()
    return [int(latency) for latency in np.repeat(run.latency_ns, run.counts)]
