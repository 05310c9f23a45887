"""The rows of the workload `off`, from the messages of the probe."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from whylate.recording.decode_sections import decode_bins
from whylate.recording.off import (
    CLASSES,
    METHODS,
    MOST_REASON,
    SHOWN,
    OffCpu,
    OffGroup,
    OffReport,
    OffStretch,
    bin_durations,
)
from whylate.recording.sections import MOST_PATH_CALLERS
from whylate.recording.stretches import STRETCH_COLUMNS, Stretches, bin_stretches
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler
from whylate.recording.workloads.off import MOST_STRETCHES, OffPoint
from whylate.text import shown
from whylate.wire.blocks import decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import MOST_OFF_GROUPS, MOST_OFF_LONGEST
from whylate.wire.messages import OffBins, OffLongest, OffMethod, OffRepetition, OffStretches
from whylate.wire.messages import OffCpu as OffCpuMessage
from whylate.wire.messages import OffGroup as OffGroupMessage

#: Longer names of functions and threads are cut.
_NAME, _COMM = 128, 16


class OffAssembler(RepetitionAssembler):
    """Builds rows of blocks of time, one for each CPU, and the stretches."""

    row = OffRepetition
    details = (OffMethod, OffCpuMessage, OffGroupMessage, OffLongest, OffStretches, OffBins)

    def __init__(self, workload: BenchmarkWorkload) -> None:
        super().__init__(workload)
        self._tables: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        self._stretches: dict[int, int] = {}

    def place(self, message: OffRepetition) -> tuple[int, int]:
        """Return the block, and the CPU's place."""
        return message.repetition, message.place

    def add_detail(self, message: Any) -> None:
        """Add what is known of a CPU, a group, one of the longest stretches, or stretches."""
        if isinstance(message, OffStretches):
            self._add_stretches(message)
            return
        off = self.reported(message.turn).off or OffReport()
        try:
            self.report(message.turn, off=self._with(off, message))
        except msgspec.ValidationError as error:
            raise WireError(f"samples of what is disabled: {error}") from None

    def _with(self, off: OffReport, message: Any) -> OffReport:
        match message:
            case OffMethod():
                method, why = METHODS[message.method], shown(message.why, MOST_REASON - 1)
                return msgspec.structs.replace(off, method=method, why=why)
            case OffCpuMessage():
                cpus = self.point(message.turn).used_cpus
                if len(off.cpus) >= len(cpus) or message.cpu != cpus[len(off.cpus)]:
                    raise WireError("samples of a CPU that was not planned, or came before")
                cpu = _converted(message, OffCpu)
                return msgspec.structs.replace(off, cpus=[*off.cpus, cpu])
            case OffGroupMessage():
                if message.group != len(off.groups) or len(off.groups) >= MOST_OFF_GROUPS:
                    raise WireError("a group of stretches that is none, or came before")
                callers = [shown(name, _NAME) for name in message.callers[:MOST_PATH_CALLERS]]
                began = [shown(name, _NAME) for name in message.began[:MOST_PATH_CALLERS]]
                group = _converted(
                    message, OffGroup, why=CLASSES[message.why], callers=callers, began=began
                )
                return msgspec.structs.replace(off, groups=[*off.groups, group])
            case OffLongest():
                if len(off.longest) >= MOST_OFF_LONGEST or message.group >= len(off.groups):
                    raise WireError("more of the longest stretches than are kept, or of no group")
                stretch = self._stretch(message)
                return msgspec.structs.replace(off, longest=[*off.longest, stretch])
            case OffBins():
                return self._with_bins(off, message)
        raise WireError("a message of another benchmark")

    def _with_bins(self, off: OffReport, message: OffBins) -> OffReport:
        """Return the report with all stretches of one more CPU."""
        if message.cpu not in self.point(message.turn).used_cpus:
            raise WireError("bins of a CPU that was not planned")
        if any(bins.cpu == message.cpu for bins in off.durations):
            raise WireError("bins of a CPU that came before")
        return msgspec.structs.replace(off, durations=[*off.durations, decode_bins(message)])

    def _stretch(self, message: OffLongest) -> OffStretch:
        if len(message.counts) not in (0, len(self.workload.counters)):
            raise WireError("counts of other counters")
        stretch: OffStretch = _converted(message, OffStretch, comm=shown(message.comm, _COMM))
        return stretch

    def _add_stretches(self, message: OffStretches) -> None:
        count = self._stretches.get(message.turn, 0)
        if message.first != count or count + message.count > MOST_STRETCHES:
            raise WireError("stretches that came before, or more than are kept")
        table = decode_rows(decode_numbers(message.data), message.count, "off_stretches")
        if (table < 0).any():
            raise WireError("a stretch that cannot have been")
        self._stretches[message.turn] = count + message.count
        self._tables.append(np.insert(table, 0, message.turn, axis=1))

    def reports(self) -> list[TurnReport]:
        """Return the report of each turn, with its stretches in bins."""
        stretches = self.stretches().columns
        reports = []
        for report in super().reports():
            off, point = report.off, self.point(report.turn)
            if off is not None and isinstance(point, OffPoint):
                shown = [group.group for group in off.groups if group.why in SHOWN]
                own = (stretches["turn"] == report.turn) & np.isin(stretches["group"], shown)
                bins = bin_stretches(stretches["seen_ns"][own], point.period_ns)
                if off.method == "tracepoints":
                    bins = bin_durations(off.durations)
                off = msgspec.structs.replace(off, bins=bins)
            reports.append(msgspec.structs.replace(report, off=off))
        return reports

    def faults(self, *, complete: bool) -> list[str]:
        """Return why the accounting does not close, also that of the stretches in bins."""
        texts = super().faults(complete=complete)
        reports = super().reports() if complete else []
        differ = sum(
            report.off is not None and not report.error and not _bins_close(report.off)
            for report in reports
        )
        if differ:
            texts.append(f"in {differ} of {len(reports)} turns bins have other than all stretches")
        return texts

    def stretches(self) -> Stretches:
        """Return all stretches, in the order of their turns."""
        empty = np.empty((0, len(STRETCH_COLUMNS)), np.int64)
        table = np.concatenate([empty, *self._tables])
        return Stretches({name: table[:, i] for i, name in enumerate(STRETCH_COLUMNS)})


def _bins_close(off: OffReport) -> bool:
    """Whether each CPU has all stretches in bins, where tracepoints show them all."""
    if off.method != "tracepoints":
        return True
    binned = {bins.cpu: sum(part.count for part in bins.bins) for bins in off.durations}
    return binned == {cpu.cpu: cpu.samples for cpu in off.cpus if cpu.samples}


def _converted(message: Any, kind: Any, **changes: object) -> Any:
    """Return the fields of a message as a struct of the manifest."""
    fields = {name: getattr(message, name, None) for name in kind.__struct_fields__}
    return msgspec.convert({**fields, **changes}, kind)
