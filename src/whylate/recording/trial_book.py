"""The running account of trials while what the probe says of them comes in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec
import numpy as np

from whylate.recording.manifest import Problem
from whylate.recording.points import (
    ClockPoint,
    CommandPoint,
    TrialsPlan,
    with_counter_name,
    workload_of_points,
)
from whylate.recording.shown import shown
from whylate.recording.trial_reports import Backing, Buffers, Flushes, Nature, TrialReport
from whylate.recording.trials import COLUMNS, PLACE, TrialRows
from whylate.wire.codec import WireError
from whylate.wire.constants import KEPT_OUTPUT, ClockCalls
from whylate.wire.messages import (
    BenchFailed,
    ClockProperties,
    ClockRepetition,
    CommandOutput,
    CommandRepetition,
    MemoryBacking,
    MemoryRepetition,
    RepetitionCounts,
    SwitchFlushes,
    SwitchRepetition,
)

Repetition = SwitchRepetition | MemoryRepetition | ClockRepetition | CommandRepetition
TrialMessage = (
    Repetition
    | SwitchFlushes
    | MemoryBacking
    | ClockProperties
    | CommandOutput
    | RepetitionCounts
    | BenchFailed
)
_Row = SwitchRepetition | MemoryRepetition | ClockRepetition | CommandRepetition
_ROWS: dict[type[_Row], str] = {
    SwitchRepetition: "switch",
    MemoryRepetition: "memory",
    ClockRepetition: "clock",
    CommandRepetition: "cmd",
}
#: Nothing that is measured here is that large; and what is larger has no int64.
_MOST = 1 << 62
#: A number as programs write it, with commas between thousands alone.
NUMBER = re.compile(
    r"[-+]?(?:[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
)
#: What makes of the digits before it something else: a comma as a decimal point, or a list.
_GOES_ON = re.compile(r"[.,]?\d|,\d")


def failure_of(row: CommandRepetition) -> str | None:
    """Say how a command failed, after which it is not run again; None where it did not."""
    if not row.status and not row.signal:
        return None
    how = f"was ended by signal {row.signal}" if row.signal else f"ended with status {row.status}"
    return (
        f"the command {how}, and was not run again: what it wrote is not kept, run it by itself to "
        "see why"
    )


def _bounded(*values: int) -> None:
    if any(not 0 <= one < _MOST for one in values):
        raise WireError("a trial with figures beyond all bounds")


@dataclass
class TrialBook:
    """What was told of the trials of a plan."""

    plan: TrialsPlan
    _rows: dict[tuple[int, int, int], tuple[int, ...]] = field(default_factory=dict)
    _values: dict[int, float] = field(default_factory=dict)
    _counts: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    _output: dict[int, bytearray] = field(default_factory=dict)
    _reports: dict[int, TrialReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workload = workload_of_points(self.plan.points)

    @property
    def started(self) -> bool:
        """Whether anything came of any trial."""
        return bool(self._rows or self._reports)

    def take(self, message: TrialMessage) -> None:
        """Enter a message; raises WireError for what cannot be of this plan."""
        if message.turn >= len(self.plan.order):
            raise WireError("a trial that was not planned")
        if isinstance(message, Repetition):
            self._row(message)
        elif isinstance(message, RepetitionCounts):
            self._count(message)
        elif isinstance(message, BenchFailed):
            text = with_counter_name(message.text, self.plan.counters)
            self._report(message.turn, error=shown(text, 300) or "it failed")
        elif isinstance(message, CommandOutput):
            self._write(message)
        elif isinstance(message, MemoryBacking):
            self._backing(message)
        elif isinstance(message, SwitchFlushes):
            _bounded(message.hops, message.switches, message.flushes)
            found = Flushes(message.hops, message.switches, message.flushes, message.error)
            self._report(message.turn, flushes=found)
        else:
            _bounded(message.resolution_ns)
            calls: dict[int, bool] = {ClockCalls.NONE: False, ClockCalls.MADE: True}
            nature = calls.get(message.system_call)
            self._report(message.turn, nature=Nature(nature, message.resolution_ns))

    def _report(self, trial: int, **changes: object) -> None:
        before = self._reports.get(trial, TrialReport(trial))
        self._reports[trial] = msgspec.structs.replace(before, **changes)

    def _point(self, trial: int) -> object:
        return self.plan.points[self.plan.order[trial]]

    def _row(self, message: _Row) -> None:
        if _ROWS[type(message)] != self.workload:
            raise WireError("a repetition of another workload")
        repetition = 0 if isinstance(message, CommandRepetition) else message.repetition
        thread = message.thread if isinstance(message, ClockRepetition) else 0
        point = self._point(message.turn)
        threads = point.threads if isinstance(point, ClockPoint) else 1
        place = (message.turn, repetition, thread)
        if place in self._rows or repetition >= self.plan.repetitions or thread >= threads:
            raise WireError("a repetition that was not planned, or that was told before")
        values = tuple(int(getattr(message, name)) for name in COLUMNS[self.workload])
        _bounded(*values)
        self._rows[place] = values
        if isinstance(message, CommandRepetition):
            self._find_value(message.turn)
            failure = failure_of(message)
            if failure is not None:
                self._report(message.turn, error=failure)

    def _count(self, message: RepetitionCounts) -> None:
        if len(message.values) != len(self.plan.counters):
            raise WireError("counts of other counters")
        _bounded(*message.values)
        self._counts[message.turn, message.repetition] = tuple(message.values)

    def _write(self, message: CommandOutput) -> None:
        output = self._output.setdefault(message.turn, bytearray())
        if len(output) + len(message.data) > KEPT_OUTPUT:
            raise WireError("more output than the probe keeps")
        output += message.data
        if message.cut:
            self._report(message.turn, output_cut=True)

    def _find_value(self, trial: int) -> None:
        """Look for the number in what the command wrote, which is not kept."""
        output = bytes(self._output.pop(trial, b""))
        self._report(trial, output_bytes=len(output))
        point = self._point(trial)
        if isinstance(point, CommandPoint) and point.value is not None:
            found = value_in(output.decode("utf-8", "replace"), point.value)
            if found is not None:
                self._values[trial] = found

    def _backing(self, message: MemoryBacking) -> None:
        sizes = (message.pages, message.present, message.huge_bytes, message.hugetlb_bytes)
        _bounded(*sizes, message.frames)
        frames = None if message.error else message.frames
        found = Backing(message.pages, message.present, frames, message.huge_bytes,
                        message.hugetlb_bytes)  # fmt: skip
        report = self._reports.get(message.turn, TrialReport(message.turn))
        when = "after" if message.after else "before"
        buffers = getattr(report, when) or Buffers()
        which = "target" if message.target else "source"
        buffers = msgspec.structs.replace(buffers, **{which: found})
        self._report(message.turn, **{when: buffers})

    def rows(self) -> TrialRows:
        """Return the repetitions of all trials, in the order of the plan."""
        places = sorted(self._rows)
        table = np.array([self._rows[one] for one in places], np.int64)
        table = table.reshape(len(places), len(COLUMNS[self.workload]))
        trials = np.array([one[0] for one in places], np.int64)
        point = np.array([self.plan.order[one[0]] for one in places], np.int64)
        repetition = np.array([one[1] for one in places], np.int64)
        columns = dict(zip(PLACE, (trials, point, repetition), strict=True))
        columns |= {name: table[:, at] for at, name in enumerate(COLUMNS[self.workload])}
        none = (0,) * len(self.plan.counters)
        counted = [self._counts.get(one[:2], none) for one in places]
        counts = {
            one.name: np.array([row[at] for row in counted], np.int64)
            for at, one in enumerate(self.plan.counters)
        }
        value = None
        if self.workload == "cmd":
            value = np.array([self._values.get(one[0], np.nan) for one in places], np.float64)
        return TrialRows(columns, value, counts)

    def reports(self) -> list[TrialReport]:
        """Return what is told of each trial of which anything is known."""
        known = {one[0] for one in self._rows} | set(self._reports)
        return [self._reports.get(trial, TrialReport(trial)) for trial in sorted(known)]

    def problems(self, *, complete: bool) -> list[Problem]:
        """Return what does not agree with the plan; complete: the run came to its end."""
        lacking = 0
        # A point that could not be had was not tried again.
        refused = {self.plan.order[one.trial] for one in self._reports.values() if one.error}
        for trial, at in enumerate(self.plan.order):
            if at in refused:
                continue
            point = self.plan.points[at]
            threads = point.threads if isinstance(point, ClockPoint) else 1
            repetitions = 1 if isinstance(point, CommandPoint) else self.plan.repetitions
            wanted = [(trial, one, thread) for one in range(repetitions)
                      for thread in range(threads)]  # fmt: skip
            told = sum(place in self._rows for place in wanted)
            lacking += told < repetitions * threads
        texts = []
        if lacking and complete:
            texts.append(f"{lacking} of {len(self.plan.order)} trials were not told in full")
        uncounted = {place[:2] for place in self._rows} - set(self._counts)
        if uncounted and self.plan.counters:
            texts.append(f"{len(uncounted)} repetitions have no counts")
        return [
            Problem("account", f"the account does not close: {text}", fatal=True) for text in texts
        ]


def value_in(text: str, expression: str) -> float | None:
    """Return the number that an expression finds in a text: its last match; None where none does.

    The number is the first group of the expression, or all that it matches where it has none. What
    may mean two things (3,14) is none.
    """
    found = None
    for match in re.finditer(expression, text, re.MULTILINE):
        word = match[1] if match.re.groups else match[0]
        number = NUMBER.search(word or "")
        if number is not None:
            ambiguous = _GOES_ON.match(word, number.end())
            found = None if ambiguous else float(number[0].replace(",", ""))
    return found if found is not None and np.isfinite(found) else None
