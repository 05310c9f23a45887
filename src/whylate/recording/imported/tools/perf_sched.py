"""perf sched latency and perf sched timehist: how long threads waited for a CPU.

latency: a row for each thread, or for those of one name ("cat:(6)"), with how often it came to run,
and the mean and the largest delay in ms with three decimals. A delay begins with the wakeup, or
with being preempted (add_sched_out_event() in tools/perf/builtin-sched.c): both are in the mean.
timehist: a line for each time a thread left a CPU, with its delay (sch delay) from the wakeup to
the run that ended there, in ms cut to µs. Where that is 0.000 the thread was not woken but came
back after it had been preempted, or no wakeup was recorded (timehist_update_runtime_stats()): such
lines are no activation, and are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from whylate.quantities import format_count
from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ALL_BUT_TWO,
    ImportedRun,
    InputError,
    series_run,
    summary_run,
)

SIGN = r"\| avg: *\d+\.\d+ ms *\| max: |wait time +sch delay +run time"
_ROW = re.compile(
    r"(\S.{0,40}?:(?:\(\d{1,9}\)|\d{1,9})) *\| *[\d.]{1,24} ms *\| *(\d{1,18}) *\|"
    r" *avg: *(\d{1,12}\.\d{3}) ms *\| *max: *(\d{1,12}\.\d{3}) ms *\|"
)
_HEADING = re.compile(r"time +cpu .*task name.* wait time +sch delay +run time")
_SWITCH = re.compile(
    r"(\d{1,12}\.\d{6}) \[\d{4,5}\] +(\S.{0,60}?)\[(\d{1,10})(?:/\d{1,10})?\] +(?:-?\d{1,4} +)?"
    r"(\d{1,12}\.\d{3}) +(\d{1,12}\.\d{3}) +(\d{1,12}\.\d{3})"
)
_PREEMPTED = "which delays began with a wakeup: perf counts being preempted too"
_AFTER = "how late the timer or interrupt was that woke it: the delay begins with the wakeup"


def read_text(path: Path) -> list[ImportedRun]:
    """Read a run for each thread; empty where the file is another. Raises InputError."""
    rows: list[ImportedRun] = []
    delays_us: dict[str, list[int]] = {}
    unwoken: dict[str, int] = {}
    timehist = False
    for text in unquoted(path):
        line = text.strip()
        if (row := _ROW.match(line)) is not None:
            rows.append(_row(row))
        elif _HEADING.match(line):
            timehist = True
        elif timehist and (switch := _SWITCH.match(line)) is not None:
            # With -V a picture of the CPUs stands before the name.
            name = f"{re.split(r' {2,}', switch[2])[-1]}:{switch[3]}"
            delay_us = round(float(switch[5]) * 1000)
            if delay_us:
                delays_us.setdefault(name, []).append(delay_us)
            else:
                unwoken[name] = unwoken.get(name, 0) + 1
    if timehist and not rows and not delays_us:
        raise InputError(f"{path} is of perf sched timehist and has no delay: no wakeup was "
                         "recorded; `perf sched record` records them")  # fmt: skip
    return [
        *rows,
        *(_series(path, name, us, unwoken.get(name, 0)) for name, us in delays_us.items()),
    ]


def _row(match: re.Match[str]) -> ImportedRun:
    return summary_run(
        "perf sched", float(match[3]) * 1e6, float(match[4]) * 1e6,
        (ALL_BUT_TWO, _PREEMPTED, _AFTER), activations=int(match[2]), name=match[1],
    )  # fmt: skip


def _series(path: Path, name: str, delays_us: list[int], unwoken: int) -> ImportedRun:
    lacks = ["up to 1 µs of each delay", _AFTER]
    if unwoken:
        lacks.append(f"{format_count(unwoken)} runs without a delay, which did not begin with a "
                     "wakeup that was recorded, or with one of less than 1 µs")  # fmt: skip
    return series_run(path, "perf sched", delays_us, 1000, lacks, name=name)
