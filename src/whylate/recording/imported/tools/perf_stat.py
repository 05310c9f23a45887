"""`perf stat` as it is printed for people, and with -j: an event and its value a line.

A value is that of one run, or with -r the mean of several, of which perf prints no single one. An
event that shared its counter was counted for the share of the time in brackets, and scaled up to
all of it (tools/perf/util/stat-display.c). "time elapsed", "user" and "sys" are in seconds.
"""

from __future__ import annotations

import re
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import InputError
from whylate.recording.imported.named import Named, NamedValue
from whylate.recording.imported.tools.perf_stat_csv import EVENT, UNITS, of_intervals

SIGN = r'Performance counter stats for |"counter-value" *:'
_TITLE = re.compile(r"Performance counter stats for (.{1,400})")
_RUNS = re.compile(r"\((\d{1,9}) runs\):?$")
#: Thousands may be parted, as the locale has it; not by points, which may also be a decimal one.
_VALUE = r"(\d{1,3}(?:[,'\u202f\u00a0]\d{3})+(?:\.\d{1,12})?|\d{1,18}(?:\.\d{1,12})?)"
_LINE = re.compile(rf"{_VALUE} +(?:(\S{{1,8}}) +)?(\S+?)(?: +\(msec\))? *(?:#.*|\(.*|\[.*)?$")
_ELAPSED = re.compile(r"(\d{1,12}\.\d{1,12}) +(?:\+- +\S+ +)?seconds (time elapsed|user|sys)\b")
_INTERVAL = re.compile(r"# +time +(?:counts|CPU)")
_JSON = {name: re.compile(rf'"{name}" *: *"([^"]{{0,120}})"')
         for name in ("counter-value", "unit", "event")}  # fmt: skip


def read_named(path: Path) -> Named | None:
    """Return its numbers; None where it is no such file. Raises InputError."""
    values: list[NamedValue] = []
    runs, inside, intervals = 1, False, False
    for number, text in enumerate(unquoted(path), 1):
        line = text.strip()
        if '"counter-value"' in line:
            if '"interval"' in line:
                raise of_intervals(path)
            values += _objects(number, line)
        elif (title := _TITLE.match(line)) is not None:
            inside = True
            repeated = _RUNS.search(title[1])
            runs = max(runs, int(repeated[1]) if repeated is not None else 1)
        elif inside and (elapsed := _ELAPSED.match(line)) is not None:
            values.append(NamedValue(number, elapsed[2], elapsed[1], "s"))
        elif inside:
            values += _event(number, line)
        intervals = intervals or _INTERVAL.match(line) is not None
    if intervals and not inside:
        raise of_intervals(path)
    if not values:
        if inside:
            raise InputError(f"{path} is of perf stat and has no value of an event")
        return None
    lacks = (f"the values of the {runs} runs: perf prints their mean",) if runs > 1 else ()
    return Named("perf stat", values, lacks)


def _objects(number: int, line: str) -> list[NamedValue]:
    """Return the events of -j in a line; perf's objects are not always JSON."""
    values = []
    for part in line.split("}"):
        value, unit, event = (pattern.search(part) for pattern in _JSON.values())
        if value is not None and event is not None:
            in_unit = "" if unit is None else unit[1]
            values.append(NamedValue(number, event[1], value[1], in_unit))
    return values


def _event(number: int, line: str) -> list[NamedValue]:
    match = _LINE.match(line)
    if match is None:
        return []
    value, unit, event = match.groups()
    if unit is not None and unit not in UNITS:
        return []
    if not EVENT.fullmatch(event):
        return []
    value = re.sub(r"[,'\u202f\u00a0]", "", value)
    return [NamedValue(number, event, value, unit or ("msec" if "(msec)" in line else ""))]
