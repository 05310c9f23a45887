"""The rows of the benchmark `switch`, from the messages of the probe."""

from __future__ import annotations

from whylate.recording.flush_reasons import FLUSH_REASONS
from whylate.recording.turns import Flushes, FlushReasons
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler, check_figures
from whylate.recording.workloads.switch import Switch
from whylate.wire.codec import WireError
from whylate.wire.constants import MOST_TRACE_BYTES
from whylate.wire.messages import (
    FlushReasons as FlushReasonsMessage,
)
from whylate.wire.messages import (
    SwitchFlushes,
    SwitchRepetition,
    SwitchTrace,
)


class SwitchAssembler(RepetitionAssembler):
    """Builds rows of rings, reports of TLB flushes, and the traces of turns."""

    row = SwitchRepetition
    details = (SwitchFlushes, FlushReasonsMessage, SwitchTrace)

    def __init__(self, workload: BenchmarkWorkload) -> None:
        super().__init__(workload)
        self._traces: dict[int, bytearray] = {}

    def add_detail(self, message: SwitchFlushes | FlushReasonsMessage | SwitchTrace) -> None:
        """Add the flushes of a turn, by reason too, or a piece of its trace."""
        if isinstance(message, SwitchTrace):
            self._add_trace(message)
            return
        if isinstance(message, FlushReasonsMessage):
            if len(message.flushes) not in (0, len(FLUSH_REASONS)):
                raise WireError("flushes of other reasons")
            check_figures(*message.flushes)
            reasons = FlushReasons(list(message.flushes), message.error)
            self.report(message.turn, flush_reasons=reasons)
            return
        check_figures(message.hops, message.switches, message.flushes)
        flushes = Flushes(message.hops, message.switches, message.flushes, message.error)
        self.report(message.turn, flushes=flushes)

    def _add_trace(self, message: SwitchTrace) -> None:
        trace = self._traces.setdefault(message.turn, bytearray())
        if not isinstance(self.workload, Switch) or not self.workload.record:
            raise WireError("a trace that was not asked for")
        if len(trace) + len(message.data) > MOST_TRACE_BYTES:
            raise WireError("more of a trace than the probe sends")
        trace += message.data
        self.report(message.turn, trace_error=message.error, trace_bytes=len(trace))

    def switch_traces(self) -> dict[int, bytes] | None:
        """Return the lines of each turn's trace; None where none was asked for.

        Comments are left out: what a thread is called begins no line of another turn.
        """
        if not isinstance(self.workload, Switch) or not self.workload.record:
            return None
        return {
            turn: b"".join(
                line + b"\n"
                for line in bytes(trace).split(b"\n")
                if line.strip() and not line.startswith(b"#")
            )
            for turn, trace in self._traces.items()
        }
