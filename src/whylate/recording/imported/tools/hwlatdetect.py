"""hwlatdetect (rt-tests) and the trace of the hwlat tracer: gaps above a threshold.

The hwlat tracer spins with interrupts disabled and keeps a sample where two reads of the clock, in
one turn (inner) or from one turn to the next (outer), lie further apart than the threshold; the
longer of both is the gap, in whole microseconds (kernel/trace/trace_hwlat.c). It looks for `width`
of each `window` alone: a gap in the rest of the time is not seen. Below the threshold nothing is
kept, not even the maximum. The trace itself (`#1 inner/outer(us): 11/12`) does not have its
settings, and of a window with several gaps (count) the longest alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ImportedRun,
    InputError,
    Printed,
    histogram_run,
    summary_run,
)

SIGN = r"(?:hwlat|smi)detect: +test duration|inner/outer\(us\):"
_BEGIN = re.compile(r"(?:hwlat|smi)detect: +test duration (\d{1,9}) seconds")
_SETTING = re.compile(r"(Latency threshold|Sample window|Sample width): +(\d{1,12})us")
_LARGEST = re.compile(r"Max Latency: (?:(\d{1,12})us|(Below threshold))")
_EXCEEDING = re.compile(r"Samples exceeding threshold: (\d{1,12})")
_SAMPLE = re.compile(r"ts: \d{1,12}\.\d{1,9}, +inner: ?(\d{1,12}), +outer: ?(\d{1,12})")
_TRACED = re.compile(r"#\d{1,12} +inner/outer\(us\): *(\d{1,12})/(\d{1,12}) +ts:")
_OF_TRACER = ("gaps up to the tracer's threshold, and when and how long it did not look",
              "gaps but the longest of each window")  # fmt: skip
_US = 1000


@dataclass
class _Run:
    settings: dict[str, int] = field(default_factory=dict)
    ended: bool = False
    largest_us: int | None = None
    exceeding: int | None = None
    gaps_us: list[int] = field(default_factory=list)


def read_text(path: Path) -> list[ImportedRun]:
    """Read its runs; empty where there is none. Raises InputError."""
    runs: list[_Run] = []
    traced: dict[int, int] = {}
    for text in unquoted(path):
        line = text.strip()
        if (gap := _TRACED.search(line)) is not None:
            longest = max(int(gap[1]), int(gap[2]))
            traced[longest] = traced.get(longest, 0) + 1
        elif _BEGIN.search(line):
            runs.append(_Run())
        elif runs:
            _add_line(runs[-1], line)
    imported = [_imported(path, run) for run in runs]
    if traced:
        printed = Printed(None, max(traced) * _US)
        imported.append(histogram_run(path, "hwlat", traced, 0, _US, printed, *_OF_TRACER))
    return imported


def _add_line(run: _Run, line: str) -> None:
    if (setting := _SETTING.search(line)) is not None:
        run.settings[setting[1]] = int(setting[2])
    elif (largest := _LARGEST.match(line)) is not None:
        run.ended = True
        run.largest_us = int(largest[1]) if largest[1] else None
    elif (exceeding := _EXCEEDING.match(line)) is not None:
        run.exceeding = int(exceeding[1])
    elif (sample := _SAMPLE.match(line)) is not None:
        run.gaps_us.append(max(int(sample[1]), int(sample[2])))


def _imported(path: Path, run: _Run) -> ImportedRun:
    if not run.ended or "Latency threshold" not in run.settings:
        raise InputError(f"{path}: the output of hwlatdetect is incomplete: it has no threshold or "
                         'no line "Max Latency"')  # fmt: skip
    threshold = run.settings["Latency threshold"]
    lacks = [f"gaps up to the threshold of {threshold} µs"]
    window, width = run.settings.get("Sample window", 0), run.settings.get("Sample width", 0)
    if width < window:
        lacks.append(f"gaps in {100 * (window - width) // window} % of the time, in which "
                     "hwlatdetect did not look")  # fmt: skip
    largest_ns = None if run.largest_us is None else run.largest_us * _US
    if not run.gaps_us:
        if run.exceeding:
            lacks.append(f"{run.exceeding} samples, of which it printed the largest alone")
        return summary_run("hwlatdetect", None, largest_ns, lacks)
    if run.largest_us is not None and max(run.gaps_us) > run.largest_us:
        raise InputError(f"{path}: hwlatdetect has a sample of {max(run.gaps_us)} µs and a maximum "
                         f"of {run.largest_us} µs: pieces of several runs")  # fmt: skip
    bins: dict[int, int] = {}
    for gap in run.gaps_us:
        bins[gap] = bins.get(gap, 0) + 1
    more = (run.exceeding or 0) - len(run.gaps_us)
    if more > 0:
        lacks.append(f"{more} samples above the threshold that it did not record")
    return histogram_run(path, "hwlatdetect", bins, 0, _US, Printed(None, largest_ns), *lacks)
