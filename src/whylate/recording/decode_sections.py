"""Bins and arms of a section from the messages of the probe."""

from __future__ import annotations

import msgspec

from whylate.recording.sections import ArmReport, CpuBins
from whylate.wire.blocks import decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.messages import ExecutionBins, OffBins, SectionArm


def decode_bins(message: ExecutionBins | OffBins) -> CpuBins:
    """Return the bins that have any; raises WireError for what no board can have counted."""
    rows = decode_rows(decode_numbers(message.data), message.bins, "waits").tolist()
    try:
        return msgspec.convert({"cpu": message.cpu, "bins": rows}, CpuBins)
    except msgspec.ValidationError as error:
        raise WireError(f"bins of executions: {error}") from None


def decode_arm(message: SectionArm) -> ArmReport:
    """Return an arm; raises WireError for what no board can have counted."""
    fields = {
        name: getattr(message, name) for name in ArmReport.__struct_fields__ if name != "bins"
    }
    bins = decode_rows(decode_numbers(message.data), message.bins, "waits").tolist()
    try:
        return msgspec.convert(fields | {"treated": bool(message.treated), "bins": bins}, ArmReport)
    except msgspec.ValidationError as error:
        raise WireError(f"an arm of an experiment: {error}") from None
