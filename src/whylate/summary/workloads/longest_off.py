"""The longest time in which interrupts or preemption were disabled, as samples bound it."""

from __future__ import annotations

from whylate.recording.manifest import Manifest
from whylate.recording.off import SHOWN
from whylate.recording.workloads.off import Off


def longest_off_ns(manifest: Manifest) -> dict[str, int]:
    """Return for `irqs-off` or `preempt-off` the most that the longest stretch can have taken, ns.

    It began at most a period before it was first seen, and ended at most a period after it was
    last seen. A stretch that no sample saw is not in it. Empty for another workload.
    """
    workload = manifest.plan.workload
    longest: dict[str, int] = {}
    if not isinstance(workload, Off):
        return longest
    for turn in manifest.turns:
        point = workload.points[workload.order[turn.turn]]
        for group in turn.off.groups if turn.off is not None else []:
            if group.why in SHOWN and group.stretches:
                most_ns = group.longest_ns + 2 * point.period_ns
                longest[point.what] = max(longest.get(point.what, 0), most_ns)
    return longest
