"""The rows of the benchmark `bulk`, from the messages of the probe."""

from __future__ import annotations

from whylate.recording.turns import Tuning
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler, check_figures
from whylate.wire.messages import BulkRepetition, BulkTuning


class BulkAssembler(RepetitionAssembler):
    """Builds rows of cleaned lines, and reports of what the tuner makes of their costs."""

    row = BulkRepetition
    details = (BulkTuning,)

    def add_detail(self, message: BulkTuning) -> None:
        """Add the tuner's choice of a turn."""
        figures = {name: getattr(message, name) for name in Tuning.__struct_fields__}
        check_figures(*figures.values())
        self.report(message.turn, tuning=Tuning(**figures))
