"""Building the samples of the workload `section`: a row for each execution that is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from whylate.recording.decode_sections import decode_arm, decode_bins
from whylate.recording.manifest import Problem
from whylate.recording.sections import (
    HOOKS,
    MOST_CALLERS,
    MOST_PATH_CALLERS,
    OBSERVED,
    CountAccount,
    CpuBins,
    LockReport,
    PathReport,
    PathsReport,
    SectionAccount,
    SectionFloor,
    SectionReport,
)
from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.app import (
    MAX_THREADS,
    AppAccounting,
    AppAssembler,
)
from whylate.recording.workloads.activations.assembler import Sink
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.text import shown
from whylate.wire.codec import WireError
from whylate.wire.constants import (
    HIGHEST_PID,
    LONGEST_COMM,
    MOST_LOCK_GROUPS,
    MOST_PATH_GROUPS,
    CountState,
    ExecutionFlag,
    NameTable,
)
from whylate.wire.executions import (
    Counts,
    ExecutionRows,
    decode_counts,
    decode_executions,
    select_rows,
)
from whylate.wire.messages import (
    ExecutionBins,
    ExecutionCounts,
    Executions,
    FloorCounts,
    Message,
    Name,
    Samples,
    SampleStages,
    SampleThreads,
    SectionArm,
    SectionLock,
    SectionPath,
    SectionResult,
    SectionStarted,
)
from whylate.wire.messages import SectionFloor as SectionFloorMessage

#: The one address whose negative is no integer of a manifest.
_NO_INTEGER = 1 << 63
#: Characters of a function's name with its offset and module.
_LONGEST_NAME = 128


class SectionAssembler(AppAssembler):
    """Builds rows of executions, and the sample accounting of all of them.

    Where events are counted, the counts of a block follow it: a block without them counts as
    dropped.
    """

    def __init__(self, sink: Sink, duration_ns: int) -> None:
        super().__init__(sink, duration_ns)
        #: Blocks whose counts are still to come, by CPU.
        self._uncounted: dict[int, tuple[Executions, ExecutionRows]] = {}

    def add(self, message: Message, counters: Sequence[CounterPlan]) -> bool:
        """Add a message; return whether it was of executions. Raises WireError."""
        match message:
            case SectionStarted():
                if self.section is not None:
                    raise WireError("a section that starts twice")
                self.section = SectionReport(
                    hook=HOOKS[message.hook],
                    observed=[name for bit, name in OBSERVED.items() if message.parts & bit],
                    one_in=message.one_in,
                    tried_ns=message.tried_ns,
                    tried=message.tried,
                    counts=CountAccount() if counters else None,
                )
            case SectionLock() | SectionPath():
                self._add_group(message)
            case SectionFloorMessage():
                self._add_floor(message)
            case Executions():
                self._add_executions(message, is_counted=bool(counters))
            case ExecutionCounts() | FloorCounts():
                self._add_counted(message, len(counters))
            case Name() if message.table == NameTable.PID:
                self._add_name(message)
            case ExecutionBins() | SectionArm():
                self._add_bins(message)
            case SectionResult():
                self._add_result(message)
            case _:
                return super().add(message, counters)
        return True

    def add_samples(self, accounting: CpuAccounting, message: Samples) -> None:
        """Refuse samples; raises WireError."""
        del accounting
        raise WireError(f"samples on CPU {message.cpu} of a section")

    def add_stages(self, message: SampleStages) -> None:
        """Refuse stages; raises WireError."""
        raise WireError(f"stages on CPU {message.cpu} of a section")

    def add_threads(self, message: SampleThreads) -> None:
        """Refuse threads; raises WireError."""
        raise WireError(f"threads on CPU {message.cpu} of a section")

    def problems(self) -> list[Problem]:
        """Return why the accounting of executions does not close: fatal problems."""
        account = self.section.account if self.section is not None else None
        if account is None:
            # A run that broke off has none.
            if not self.accountings or any(cpu.result is None for cpu in self.accountings.values()):
                return []
            return [Problem("account", "the probe sent no account of the executions", fatal=True)]
        faults: list[str] = []
        if not account.closes:
            faults.append(
                f"{account.entries} executions began, but {account.returned} returned, "
                f"{account.in_flight} in flight, {account.left} left, {account.too_deep} too deep "
                f"and {account.no_room} without room are accounted for"
            )
        in_bins = sum(part.count for cpu in self._bins for part in cpu.bins)
        if in_bins != account.returned:
            faults.append(f"{account.returned} executions returned, and {in_bins} are in bins")
        kept = sum(cpu.seen + cpu.gaps for cpu in self.accountings.values())
        if kept > account.returned:
            faults.append(f"{kept} executions were kept of {account.returned}")
        for paths in (self.section.paths, self.section.samples) if self.section is not None else ():
            with_path = sum(path.longer + path.control for path in paths.groups) if paths else 0
            if paths is not None and with_path + paths.lost > account.returned:
                faults.append(f"{with_path + paths.lost} have a path of {account.returned}")
        faults += self._faults_of_arms(kept)
        return [
            Problem("account", f"the accounting of executions does not close: {fault}", fatal=True)
            for fault in faults
        ]

    def _faults_of_arms(self, kept: int) -> Iterator[str]:
        """Yield why the accounting of arms does not close; kept: executions that have a row."""
        arms = self.section.arms if self.section is not None else []
        if self.has_arms and [arm.treated for arm in arms] != [False, True]:
            yield "the probe sent no account of both arms"
        elif arms and sum(arm.returned for arm in arms) != kept:
            yield (
                f"{sum(arm.returned for arm in arms)} executions of both arms returned, and {kept} "
                "were kept"
            )
        if self.reads_each and any(arm.reads_counted != arm.entries for arm in arms):
            yield "executions of an arm began, and how long reading took is in no bin"

    @property
    def _bins(self) -> list[CpuBins]:
        return self.section.cpus if self.section is not None else []

    def close(self) -> None:
        """Drop blocks without counts: they count as dropped."""
        super().close()
        self._uncounted.clear()

    def _add_executions(self, message: Executions, *, is_counted: bool) -> None:
        accounting = self._watched(message.cpu)
        decoded = decode_executions(message, accounting.started.start_ns)
        if is_counted:
            self._uncounted[message.cpu] = message, decoded
        else:
            self._add_rows(message.cpu, decoded)

    def _add_counted(self, message: ExecutionCounts | FloorCounts, counters: int) -> None:
        if isinstance(message, FloorCounts):
            self._add_floor_counts(message, counters)
        else:
            self._add_counts(message, counters)

    def _add_counts(self, message: ExecutionCounts, counters: int) -> None:
        if self.section is None or self.section.counts is None:
            raise WireError("counts that were not asked for")
        block, decoded = self._uncounted.pop(message.cpu, (None, None))
        if block is None or decoded is None:
            raise WireError(f"counts of no executions on CPU {message.cpu}")
        if (block.first, block.count) != (message.first, message.count):
            raise WireError("counts of other executions")
        self._add_rows(message.cpu, decoded, decode_counts(message, counters))

    def _watched(self, cpu: int) -> AppAccounting:
        accounting = self.accountings.get(cpu)
        if accounting is None:
            raise WireError("executions on a CPU that is not watched")
        return accounting

    def _add_rows(self, cpu: int, decoded: ExecutionRows, counts: Counts | None = None) -> None:
        """Add rows of which those that were not drawn, or are treated, are kept apart."""
        self._check_arms(decoded)
        accounting, threads = self._watched(cpu), decoded.threads
        if not accounting.add(decoded.rows):
            return
        if counts is not None:
            self._account_counts(counts)
            threads = dataclasses.replace(threads, counts=counts.values)
        accounting.extend(decoded.rows, threads)
        if len(self.threads) < MAX_THREADS:
            self.threads.update(np.unique(threads.pid).tolist())
        is_drawn = (decoded.flags & ExecutionFlag.DRAWN) != 0
        if self.has_arms:
            is_drawn &= (decoded.flags & ExecutionFlag.TREATED) == 0
        rows = decoded.rows
        if not is_drawn.all():
            accounting.apart += int(np.count_nonzero(~is_drawn))
            if self.longer_sink is not None:
                self.longer_sink(cpu, select_rows(rows, ~is_drawn), None, threads.select(~is_drawn))
            rows, threads = select_rows(rows, is_drawn), threads.select(is_drawn)
        self.digest.add(cpu, rows)
        self.sink(cpu, rows, None, threads)

    def _check_arms(self, decoded: ExecutionRows) -> None:
        """Raise WireError for rows of no arm of an experiment, and for arms without one."""
        flags = decoded.flags.astype(np.int64)
        arms = sum((flags & flag) != 0 for flag in (ExecutionFlag.TREATED, ExecutionFlag.PLACEBO))
        is_drawn = (flags & ExecutionFlag.DRAWN) != 0
        if (arms != self.has_arms).any() or (self.has_arms and not is_drawn.all()):
            raise WireError("executions that are in no arm, or in one too many")

    def _add_floor_counts(self, message: FloorCounts, counters: int) -> None:
        if self.section is None or self.section.hook_counts or len(message.values) != counters:
            raise WireError("counts of no empty section")
        self.section = msgspec.structs.replace(self.section, hook_counts=list(message.values))

    def _account_counts(self, counts: Counts) -> None:
        """Add the executions of a block, by whether what was counted is their own."""
        if self.section is None or self.section.counts is None:
            return
        before = self.section.counts
        own, refused, shared = np.bincount(counts.state, minlength=len(CountState)).tolist()
        account = CountAccount(before.own + own, before.refused + refused, before.shared + shared)
        self.section = msgspec.structs.replace(self.section, counts=account)

    def _add_name(self, message: Name) -> None:
        if len(self.names) < MAX_THREADS and 0 < message.id <= HIGHEST_PID:
            self.names[message.id] = shown(message.text, LONGEST_COMM)

    def _add_group(self, message: SectionLock | SectionPath) -> None:
        if isinstance(message, SectionLock):
            self._add_lock(message)
        else:
            self._add_path(message)

    def _add_lock(self, message: SectionLock) -> None:
        section = self.section
        if section is None or len(section.locks) == MOST_LOCK_GROUPS:
            raise WireError("waits for locks of no section, or more groups than there can be")
        if (
            len(message.callers) > MOST_CALLERS
            or not message.count
            or message.lock == _NO_INTEGER
            or not message.longest_ns <= message.total_ns <= message.count * message.longest_ns
        ):
            raise WireError("waits for a lock that cannot have been")
        lock = LockReport(
            # A kernel's address is beyond the integers of a manifest.
            lock=message.lock - (1 << 64) if message.lock >> 63 else message.lock or None,
            name=shown(message.name, _LONGEST_NAME),
            flags=message.flags,
            count=message.count,
            total_ns=message.total_ns,
            longest_ns=message.longest_ns,
            callers=[shown(name, _LONGEST_NAME) for name in message.callers],
        )
        self.section = msgspec.structs.replace(section, locks=[*section.locks, lock])

    def _add_path(self, message: SectionPath) -> None:
        section = self.section
        place = "samples" if message.sampled else "paths"
        former: PathsReport | None = getattr(section, place, None)
        if section is None or (former is None) == bool(message.callers):
            raise WireError("call paths of no section, or in no order")
        before = former or PathsReport(above_ns=message.above_ns or None, lost=message.lost)
        if (
            len(before.groups) == MOST_PATH_GROUPS
            or len(message.callers) > MOST_PATH_CALLERS
            or (message.above_ns or None) != before.above_ns
            or (message.callers and (message.lost or not message.longer + message.control))
            or not message.longest_ns <= message.total_ns <= message.longer * message.longest_ns
            or (message.longer and not 0 < message.above_ns < message.longest_ns)
        ):
            raise WireError("call paths that cannot have been")
        path = PathReport(
            longer=message.longer,
            total_ns=message.total_ns,
            longest_ns=message.longest_ns,
            control=message.control,
            callers=[shown(name, _LONGEST_NAME) for name in message.callers],
        )
        paths = msgspec.structs.replace(before, groups=[*before.groups, path])
        self.section = msgspec.structs.replace(section, **{place: paths})

    def _add_floor(self, message: SectionFloorMessage) -> None:
        if self.section is None:
            raise WireError("a floor of no section")
        is_known = message.executions and not message.error
        why = "" if is_known else shown(message.text, 300) or "the probe gave no reason"
        floor = SectionFloor(
            executions=message.executions,
            floor_ns=message.floor_ns,
            with_ns=message.with_ns,
            without_ns=message.without_ns,
            why=why,
        )
        name = "floor_after" if message.after else "floor_before"
        self.section = msgspec.structs.replace(self.section, **{name: floor})

    def _add_bins(self, message: ExecutionBins | SectionArm) -> None:
        if isinstance(message, SectionArm):
            self._add_arm(message)
            return
        if self.section is None or any(cpu.cpu == message.cpu for cpu in self.section.cpus):
            raise WireError("bins of no section, or twice of one CPU")
        cpus = [*self.section.cpus, decode_bins(message)]
        self.section = msgspec.structs.replace(self.section, cpus=cpus)

    def _add_arm(self, message: SectionArm) -> None:
        section = self.section
        if section is None or not self.has_arms or len(section.arms) != message.treated:
            raise WireError("an arm of no experiment, or in no order")
        arms = [*section.arms, decode_arm(message)]
        self.section = msgspec.structs.replace(section, arms=arms)

    def _add_result(self, message: SectionResult) -> None:
        if self.section is None or self.section.account is not None:
            raise WireError("an account of no section, or a second one")
        account = SectionAccount(
            **{name: getattr(message, name) for name in SectionAccount.__struct_fields__}
        )
        self.section = msgspec.structs.replace(self.section, account=account)
