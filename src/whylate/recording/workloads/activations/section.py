"""Building the samples of the workload `section`: a row for each execution that is kept."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from whylate.recording.manifest import Problem
from whylate.recording.sections import (
    HOOKS,
    MOST_CALLERS,
    OBSERVED,
    CpuBins,
    LockReport,
    SectionAccount,
    SectionFloor,
    SectionReport,
)
from whylate.recording.waits import WaitBin
from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.app import MAX_THREADS, AppAssembler
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.text import shown
from whylate.wire.codec import WireError
from whylate.wire.constants import HIGHEST_PID, LONGEST_COMM, MOST_LOCK_GROUPS, NameTable
from whylate.wire.executions import decode_bins, decode_executions
from whylate.wire.messages import (
    ExecutionBins,
    Executions,
    Message,
    Name,
    Samples,
    SampleStages,
    SampleThreads,
    SectionLock,
    SectionResult,
    SectionStarted,
)
from whylate.wire.messages import SectionFloor as SectionFloorMessage

#: Characters of a function's name with its offset and module.
_LONGEST_NAME = 128


class SectionAssembler(AppAssembler):
    """Builds rows of executions, and the sample accounting of all of them."""

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
                )
            case SectionLock():
                self._add_lock(message)
            case SectionFloorMessage():
                self._add_floor(message)
            case Executions():
                self._add_executions(message)
            case Name() if message.table == NameTable.PID:
                self._add_name(message)
            case ExecutionBins():
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
        return [
            Problem("account", f"the accounting of executions does not close: {fault}", fatal=True)
            for fault in faults
        ]

    @property
    def _bins(self) -> list[CpuBins]:
        return self.section.cpus if self.section is not None else []

    def _add_executions(self, message: Executions) -> None:
        accounting = self.accountings.get(message.cpu)
        if accounting is None:
            raise WireError("executions on a CPU that is not watched")
        decoded = decode_executions(message, accounting.started.start_ns)
        if not accounting.add(decoded.rows):
            return
        accounting.extend(decoded.rows, decoded.threads)
        self.digest.add(message.cpu, decoded.rows)
        if len(self.threads) < MAX_THREADS:
            self.threads.update(np.unique(decoded.threads.pid).tolist())
        self.sink(message.cpu, decoded.rows, None, decoded.threads)

    def _add_name(self, message: Name) -> None:
        if len(self.names) < MAX_THREADS and 0 < message.id <= HIGHEST_PID:
            self.names[message.id] = shown(message.text, LONGEST_COMM)

    def _add_lock(self, message: SectionLock) -> None:
        section = self.section
        if section is None or len(section.locks) == MOST_LOCK_GROUPS:
            raise WireError("waits for locks of no section, or more groups than there can be")
        if (
            len(message.callers) > MOST_CALLERS
            or not message.count
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

    def _add_bins(self, message: ExecutionBins) -> None:
        if self.section is None or any(cpu.cpu == message.cpu for cpu in self.section.cpus):
            raise WireError("bins of no section, or twice of one CPU")
        bins = [WaitBin(number, count) for number, count in decode_bins(message)]
        self.section = msgspec.structs.replace(
            self.section, cpus=[*self.section.cpus, CpuBins(message.cpu, bins)]
        )

    def _add_result(self, message: SectionResult) -> None:
        if self.section is None or self.section.account is not None:
            raise WireError("an account of no section, or a second one")
        account = SectionAccount(
            **{name: getattr(message, name) for name in SectionAccount.__struct_fields__}
        )
        self.section = msgspec.structs.replace(self.section, account=account)
