"""The function_graph tracer: how long each call of a function took, in microseconds.

The duration stands at the call of a leaf, and at the closing brace of any other; which function a
brace closes is in its comment (funcgraph-tail) or follows from the depth on that CPU. Durations
include what was called, interrupts that came, and the tracer's own work at each entry and exit of
what was called; with sleep-time also the time in which the thread did not run
(kernel/trace/trace_functions_graph.c). A brace without its call, or of another thread after a
switch, is left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.named import Named, NamedValue

SIGN = r"tracer: function_graph|\d+\) +[+!#*@$]? *\d+\.\d+ us +\|"
_LINE = re.compile(
    r"(?:[\d.]{1,24} +\| +)?(\d{1,5})\) +(?:\S.{0,40}?-\d{1,10} +\|(?: +\S{3,12} +\|)? +)?"
    r"(?:[+!#*@$]? *(\d{1,12}\.\d{1,6}) us)? *\|( *)(.*)"
)
_SWITCH = re.compile(r"(\d{1,5})\) +\S.{0,60} => ")
_CALL = re.compile(r"([A-Za-z_][\w.]{0,160})(?: \[[\w-]{1,60}\])?\(\)(;| \{)")
_END = re.compile(r"\}(?: /\* ([A-Za-z_][\w.]{0,160})[^*]{0,80}\*/)?")
_LACKS = ("what the tracer itself took: it is in every call of a function that calls others",)
#: CPUs, and calls within each other.
_MOST_OPEN = 4096


def read_named(path: Path) -> Named | None:
    """Return the durations of each function's calls; None where it is no such file."""
    values: list[NamedValue] = []
    calls: dict[int, dict[int, str]] = {}
    for number, text in enumerate(unquoted(path), 1):
        line = text.strip()
        if (switch := _SWITCH.match(line)) is not None:
            calls.pop(int(switch[1]), None)
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        at = calls.setdefault(int(match[1]), {}) if len(calls) < _MOST_OPEN else {}
        depth = len(match[3])
        if (call := _CALL.match(match[4])) is not None:
            for deeper in [other for other in at if other >= depth]:
                del at[deeper]
            if call[2] != ";":
                at[depth] = call[1]
                continue
            name: str | None = call[1]
        elif (end := _END.match(match[4])) is not None:
            opened = at.pop(depth, None)
            name = end[1] or opened
        else:
            continue
        if name is not None and match[2] is not None:
            values.append(NamedValue(number, name, match[2], "µs"))
    return Named("function_graph", values, _LACKS) if values else None
