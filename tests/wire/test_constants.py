"""Names that Python types as literals are those of the schema, in the order of their numbers."""

from __future__ import annotations

from enum import IntEnum

import pytest

from whylate.recording.recorder.windows import REASONS, SUMS
from whylate.recording.workloads.clock import HOWS
from whylate.recording.workloads.memory import PAGES, ROUTINES, SOURCES, WHATS
from whylate.recording.workloads.switch import OVERS
from whylate.wire.constants import (
    BufferContent,
    BufferPages,
    ChannelKind,
    ClockMethod,
    MemoryOperation,
    MemoryRoutine,
    RecorderSum,
    WindowReason,
)


@pytest.mark.parametrize(
    ("names", "enumeration"),
    [
        (OVERS, ChannelKind),
        (WHATS, MemoryOperation),
        (SOURCES, BufferContent),
        (PAGES, BufferPages),
        (ROUTINES, MemoryRoutine),
        (HOWS, ClockMethod),
        ([name.removesuffix("_ns") for name in SUMS], RecorderSum),
    ],
)
def test_names_are_in_the_order_of_the_wire(
    names: tuple[str, ...] | list[str], enumeration: type[IntEnum]
) -> None:
    assert [*names] == [value.name.lower().replace("_", "-") for value in enumeration]
    assert [value.value for value in enumeration] == [*range(len(names))]


def test_every_reason_for_a_window_has_a_name() -> None:
    assert len(REASONS) == len(WindowReason)
