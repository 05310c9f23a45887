"""Integers of plans and manifests, each with its range: what is beyond is refused when it is read.

The limits are those of the wire (schema/wire.toml). numpy, Parquet and float64 hold all of them, so
that no arithmetic on what a file says overflows.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from whylate.wire.constants import (
    HIGHEST_CPU,
    HIGHEST_PRIORITY,
    LATEST_NS,
    LEAST_INTERVAL_NS,
    LONGEST_BLOCK_NS,
    LONGEST_INTERVAL_NS,
    LONGEST_PHASE_NS,
    LONGEST_RUN_NS,
    MOST_REPETITIONS,
    MOST_TURNS,
)

INT64_MAX = (1 << 63) - 1

#: A time on a board's clock, or a duration, in ns.
TimeNs = Annotated[int, Meta(ge=0, le=LATEST_NS)]
#: The duration of a run with activations, in ns.
RunNs = Annotated[int, Meta(ge=1, le=LONGEST_RUN_NS)]
#: A limit on a latency, in ns.
LimitNs = Annotated[int, Meta(ge=0, le=LONGEST_RUN_NS)]
IntervalNs = Annotated[int, Meta(ge=LEAST_INTERVAL_NS, le=LONGEST_INTERVAL_NS)]
PhaseNs = Annotated[int, Meta(ge=0, le=LONGEST_PHASE_NS)]
BlockNs = Annotated[int, Meta(ge=0, le=LONGEST_BLOCK_NS)]
#: How many there are of something, or a number of bytes.
Count = Annotated[int, Meta(ge=0, le=INT64_MAX)]
#: Any integer.
Integer = Annotated[int, Meta(ge=-INT64_MAX, le=INT64_MAX)]
#: A number that 32 bits hold: an errno, an exit status, a version.
Small = Annotated[int, Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
#: The number of a block of time in a run.
Block = Annotated[int, Meta(ge=0, le=(1 << 16) - 1)]
Cpu = Annotated[int, Meta(ge=0, le=HIGHEST_CPU)]
Priority = Annotated[int, Meta(ge=0, le=HIGHEST_PRIORITY)]
Repetition = Annotated[int, Meta(ge=1, le=MOST_REPETITIONS)]
Turn = Annotated[int, Meta(ge=0, le=MOST_TURNS)]
