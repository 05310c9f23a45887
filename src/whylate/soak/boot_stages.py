"""When each stage of a cycle's boot came, and how long one took after the other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from whylate.recording.console.boot_stages import find_boot_stages
from whylate.soak.console import Stamp
from whylate.soak.model import BootStage, Cycle

#: What the first stage comes after, and the end of a boot: the board takes commands.
POWER = "power"
UP = "up"


def boot_stages(
    log: bytes,
    stamps: Sequence[Stamp],
    switched_on_s: float,
    stages: Mapping[str, Sequence[str]],
    booted: int | None,
) -> list[BootStage]:
    """Return the stages in a cycle's log with their times; one whose time is not known is left out.

    switched_on_s: when the order to switch on was given, on the clock of the stamps. booted: bytes
    of the log when the board was up.
    """
    ends = [stamp.end for stamp in stamps]
    stages_seen = []
    for seen in find_boot_stages(log, stages, booted):
        at = bisect_left(ends, seen.end)
        if at == len(stamps):
            continue
        stamp = stamps[at]
        # What was printed before the order is not of this boot.
        if stamp.latest_s < switched_on_s:
            continue
        stages_seen.append(
            BootStage(
                name=seen.name,
                at_s=round(stamp.latest_s - switched_on_s, 4),
                within_s=round(stamp.latest_s - max(stamp.earliest_s, switched_on_s), 4),
                kernel_s=seen.kernel_s,
                times=seen.times,
            )
        )
    return stages_seen


def steps(cycle: Cycle) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield each step of a boot, from one stage to the next that was seen, with its time in s.

    Between two lines with the kernel's time it is the kernel's; else the host's.
    """
    before, before_s, before_kernel_s = POWER, 0.0, None
    for stage in cycle.boot_stages or []:
        took_s = stage.at_s - before_s
        # The kernel's time goes back where the board started again.
        if before_kernel_s is not None and (stage.kernel_s or -1.0) >= before_kernel_s:
            took_s = (stage.kernel_s or 0.0) - before_kernel_s
        yield (before, stage.name), took_s
        before, before_s, before_kernel_s = stage.name, stage.at_s, stage.kernel_s
    if cycle.boot_stages and cycle.boot_s is not None and cycle.boot_s >= before_s:
        yield (before, UP), cycle.boot_s - before_s
