"""Whose file is it? The tools are tried one after the other, by what only they write."""

from __future__ import annotations

from pathlib import Path

from whylate.recording.foreign import cyclictest, jitterdebugger, rtla, xenomai
from whylate.recording.foreign.model import ForeignRun


def read_foreign(path: Path) -> list[ForeignRun]:
    """Read the runs of a file of another tool, none where it is of none that is known.

    Raises ForeignError for one that is damaged.
    """
    document = cyclictest.load(path)
    if document is not None:
        found = cyclictest.read_json(path, document) or jitterdebugger.read_json(path, document)
        return [found] if found is not None else []
    runs = xenomai.read_text(path)
    if runs:
        return runs
    one = rtla.read_text(path) or cyclictest.read_text(path)
    return [one] if one is not None else []
