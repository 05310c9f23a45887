"""The rows of the benchmark `clock`, from the messages of the probe."""

from __future__ import annotations

from whylate.recording.turns import Nature, Sharing
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler, check_figures
from whylate.wire.codec import WireError
from whylate.wire.constants import ClockCalls
from whylate.wire.messages import ClockProperties, ClockRepetition, ClockSharing


class ClockAssembler(RepetitionAssembler):
    """Builds rows of clock reads, one for each thread."""

    row = ClockRepetition
    details = (ClockProperties, ClockSharing)

    def place(self, message: ClockRepetition) -> tuple[int, int]:
        """Return the repetition, and the thread."""
        return message.repetition, message.thread

    def add_detail(self, message: ClockProperties | ClockSharing) -> None:
        """Add how the clock is read, or what sharing its reads costs."""
        if isinstance(message, ClockSharing):
            self._add_sharing(message)
            return
        check_figures(message.resolution_ns)
        calls: dict[int, bool] = {ClockCalls.NONE: False, ClockCalls.MADE: True}
        system_call = calls.get(message.system_call)
        self.report(message.turn, nature=Nature(system_call, message.resolution_ns))

    def _add_sharing(self, message: ClockSharing) -> None:
        figures = {name: getattr(message, name) for name in Sharing.__struct_fields__}
        check_figures(*figures.values())
        if message.stale > message.checks:
            raise WireError("more stale values than values")
        self.report(message.turn, sharing=Sharing(**figures))
