"""The rows of the benchmark `flush`, from the messages of the probe."""

from __future__ import annotations

from whylate.recording.turns import VictimFlushes
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler, check_figures
from whylate.wire.messages import FlushCounting, FlushRepetition
from whylate.wire.messages import VictimFlushes as VictimFlushesMessage


class FlushAssembler(RepetitionAssembler):
    """Builds rows of a victim's work, and reports whether flushes were counted."""

    row = FlushRepetition
    details = (FlushCounting, VictimFlushesMessage)

    def add_detail(self, message: FlushCounting | VictimFlushesMessage) -> None:
        """Add whether flushes of a turn were counted, or how many interrupted the victim."""
        if isinstance(message, FlushCounting):
            self.report(message.turn, counting_error=message.error)
            return
        check_figures(message.shared, message.other)
        counted = VictimFlushes(message.shared, message.other, message.error)
        self.report(message.turn, victim_flushes=counted)
