"""`go test -bench`: the time of an operation, and other metrics, a line for each repetition.

ns/op is the wall-clock time of all iterations by their number (testing.BenchmarkResult), so that
what single ones took is averaged away; with -count each line is a repetition. The number behind
the last dash of the name is GOMAXPROCS. Other metrics are read as "NAME B/op".
"""

from __future__ import annotations

import re
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.named import Named, NamedValue

SIGN = r"Benchmark\S*\s+\d+\s+[\d.]+ \S+/op"
_LINE = re.compile(r"(Benchmark\S{0,200})\s+(\d{1,18})((?:\s+[\d.]{1,40} \S{1,40})+)\s*")
_METRIC = re.compile(r"([\d.]{1,40}) (\S{1,40})")
_MAIN = "ns/op"
_LACKS = ("the times of single iterations: each value is their mean",)


def read_named(path: Path) -> Named | None:
    """Return the numbers of each benchmark; None where it is no such file. Raises InputError."""
    values: list[NamedValue] = []
    for number, text in enumerate(unquoted(path), 1):
        match = _LINE.fullmatch(text.strip())
        if match is None:
            continue
        for value, unit in _METRIC.findall(match[3]):
            main = unit == _MAIN
            name = match[1] if main else f"{match[1]} {unit}"
            values.append(NamedValue(number, name, value, "ns" if main else unit, main))
    if not any(value.main for value in values):
        return None
    return Named("go test", values, _LACKS)
