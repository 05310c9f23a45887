"""The rows of the benchmark `offsets`, from the messages of the probe."""

from __future__ import annotations

from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler
from whylate.wire.messages import OffsetRepetition


class OffsetsAssembler(RepetitionAssembler):
    """Builds rows of exchanges."""

    row = OffsetRepetition
