"""hyperfine --export-json: the wall-clock time of each repetition of each command, in seconds.

A time is measured from before the fork to after the wait, and the mean time of an empty command in
the same shell, measured first, is subtracted from it unless -N was given
(src/benchmark/executor.rs): it may be too small by how that varies. Each repetition is a value.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from whylate.recording.imported.lines import json_documents
from whylate.recording.imported.model import InputError
from whylate.recording.imported.named import Named, NamedValue

SIGN = r'"results" *: *\['
_LACKS = ("the time of the shell: hyperfine subtracts a mean of it, unless -N was given",)


def read_named(path: Path) -> Named | None:
    """Return the times of each command; None where it is no such file. Raises InputError."""
    values: list[NamedValue] = []
    for document in json_documents(path):
        results = document.get("results") if isinstance(document, dict) else None
        if not isinstance(results, list) or not all(_is_result(result) for result in results):
            return None
        for result in results:
            values += _times(path, result)
    return Named("hyperfine", values, _LACKS) if values else None


def _is_result(result: Any) -> bool:
    return isinstance(result, dict) and "command" in result and ("times" in result
                                                                 or "mean" in result)  # fmt: skip


def _times(path: Path, result: dict[str, Any]) -> list[NamedValue]:
    name = str(result["command"])
    parameters = result.get("parameters")
    if isinstance(parameters, dict):
        # Where the command does not show them.
        more = [f"{key}={value}" for key, value in parameters.items() if str(value) not in name]
        name = " ".join([name, *more])
    times = result.get("times")
    if not isinstance(times, list) or not times:
        raise InputError(f"{path} has no single times of hyperfine: export them with --export-json")
    if not all(_is_time(time) for time in times):
        raise InputError(f"{path} is damaged: a time of hyperfine is no number")
    return [NamedValue(0, name, repr(float(time)), "s") for time in times]


def _is_time(time: Any) -> bool:
    if isinstance(time, bool) or not isinstance(time, int | float):
        return False
    try:
        return math.isfinite(time)
    except OverflowError:  # an integer that no float holds
        return False
