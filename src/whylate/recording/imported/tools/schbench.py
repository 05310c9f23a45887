"""schbench: percentiles of wakeup and request latencies, in microseconds.

Each percentile is the middle of a bucket that is up to 1/256 as wide as its value
(plat_idx_to_val() in schbench.c, PLAT_BITS 8); the maximum is exact. No mean is printed. With -i it
prints what it has so far again and again: of one run the last counts, which comes before its
"average rps". Who publishes percentiles leaves out the line of the extremes at times. Requests per
second are no latencies and are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import ImportedRun, InputError, missed, summary_run

SIGN = r"atenc(?:y|ies) percentiles \(usec\)"
_TITLE = re.compile(
    r"(?:(Wakeup|Request) Latencies|Latency) percentiles \(usec\)"
    r"(?: runtime (\d{1,9}) \(s\))?(?: \((\d{1,18}) total samples\))?"
)
_RPS = re.compile(r"RPS percentiles")
_END = re.compile(r"average rps:")
_PERCENTILE = re.compile(r"\*? *(\d{1,3}\.\d{1,6})th: +(\d{1,15})\b")
_EXTREMES = re.compile(r"min=(\d{1,15}), max=(\d{1,15})")
_NAMES = {50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p99.9", 99.99: "p99.99"}
_US = 1000
#: The last percentile that each version prints.
_LAST = "p99.9"
_NO_EXTREMES = "every latency but a few percentiles: the line with min= and max= was left out"
_LACKS = (
    "every latency but the largest and a few percentiles",
    "up to 1/256 of a percentile: schbench prints the middle of a bucket",
    missed("schbench"),
)


@dataclass
class _Section:
    name: str
    runtime: int
    samples: int | None
    quantiles_us: dict[str, int] = field(default_factory=dict)
    largest_us: int | None = None


def read_text(path: Path) -> list[ImportedRun]:
    """Read its runs, wakeups and requests apart; raises InputError."""
    ended: list[_Section] = []
    running: list[_Section] = []
    reading = False
    for text in unquoted(path):
        line = text.strip()
        if (title := _TITLE.match(line)) is not None:
            section = _Section(title[1] or "", int(title[2] or 0),
                               int(title[3]) if title[3] else None)  # fmt: skip
            again = next((old for old in running if old.name == section.name), None)
            if again is not None and again.runtime < section.runtime:
                running.remove(again)
            elif again is not None:
                ended, running = [*ended, *running], []
            running.append(section)
            reading = True
        elif _RPS.match(line):
            reading = False
        elif _END.match(line):
            ended, running, reading = [*ended, *running], [], False
        elif reading:
            _add_line(running[-1], line)
    return [_run(path, section) for section in (*ended, *running)]


def _add_line(section: _Section, line: str) -> None:
    if (percentile := _PERCENTILE.match(line)) is not None:
        name = _NAMES.get(float(percentile[1]))
        if name is not None:
            section.quantiles_us[name] = int(percentile[2])
    elif (extremes := _EXTREMES.match(line)) is not None:
        section.largest_us = int(extremes[2])


def _run(path: Path, section: _Section) -> ImportedRun:
    largest_us = section.largest_us
    if largest_us is None and _LAST not in section.quantiles_us:
        raise InputError(f'{path}: the percentiles of schbench end before the 99.9th: they are '
                         "incomplete")  # fmt: skip
    quantiles = {name: value * _US for name, value in section.quantiles_us.items()}
    return summary_run(
        "schbench",
        None,
        None if largest_us is None else largest_us * _US,
        _LACKS if largest_us is not None else (_NO_EXTREMES, *_LACKS[1:]),
        activations=section.samples,
        quantiles_ns=quantiles,
        name=section.name.lower(),
    )
