"""Building the samples of the workload `wakeup`: the stages of a block follow it, or are lost."""

from __future__ import annotations

from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.assembler import ActivationAssembler, Sink, Stages
from whylate.wire.codec import WireError
from whylate.wire.events import decode_stages
from whylate.wire.messages import CpuStarted, Samples, SampleStages
from whylate.wire.samples import Rows, decode_samples

#: A few bytes say millions of overruns: these are 1.9 hours of stalls at 50 us, and 2 GB of rows
#: (they are kept block by block).
MOST_OVERRUNS = 1 << 27


class WakeupAssembler(ActivationAssembler):
    """Builds rows of periodic wakeups."""

    def __init__(self, sink: Sink, duration_ns: int) -> None:
        super().__init__(sink, duration_ns)
        self._waiting: dict[int, tuple[Samples, Rows]] = {}
        self._overruns = 0

    def start(self, message: CpuStarted) -> None:
        """Add a CPU with a schedule."""
        if message.interval_ns and message.cpu not in self.accountings:
            self.accountings[message.cpu] = CpuAccounting(message)

    def add_samples(self, accounting: CpuAccounting, message: Samples) -> None:
        """Add a block, and pass on the previous one; raises WireError."""
        if message.first < accounting.next:
            # It would be unpacked for nothing, and may say that millions were overrun.
            accounting.refused += 1
            return
        rows = decode_samples(message, accounting.started.interval_ns, accounting.planned)
        self._overruns += int(rows.overrun.sum())
        if self._overruns > MOST_OVERRUNS:
            raise WireError(f"more than {MOST_OVERRUNS} overruns in a run")
        self._pass_on(message.cpu)
        if accounting.add(rows):
            self.digest.add(message.cpu, rows)
            self._waiting[message.cpu] = message, rows

    def add_stages(self, message: SampleStages) -> None:
        """Pass on a block with its stages; raises WireError where they are of none."""
        stages = decode_stages(message)
        samples, _ = self._waiting.get(message.cpu, (None, None))
        if samples is None or (samples.first, samples.count) != (message.first, message.count):
            raise WireError("stages of no block of samples")
        self._pass_on(message.cpu, stages)

    def close(self) -> None:
        """Pass on the last block of each CPU."""
        for cpu in list(self._waiting):
            self._pass_on(cpu)

    def _pass_on(self, cpu: int, stages: Stages | None = None) -> None:
        if cpu in self._waiting:
            self.sink(cpu, self._waiting.pop(cpu)[1], stages, None)
