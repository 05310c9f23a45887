"""The longest time in which interrupts or preemption were disabled: measured, or bounded."""

from __future__ import annotations

from whylate.recording.manifest import Manifest
from whylate.recording.off import SHOWN
from whylate.recording.workloads.off import Off
from whylate.summary.off import most_unseen_ns


def longest_off_ns(manifest: Manifest) -> dict[str, int]:
    """Return for `irqs-off` or `preempt-off` the most that the longest stretch can have taken, ns.

    Samples see less of a stretch than it lasts (most_unseen_ns); one that no sample saw is not in
    it. Empty for another workload.
    """
    workload = manifest.plan.workload
    longest: dict[str, int] = {}
    if not isinstance(workload, Off):
        return longest
    for turn in manifest.turns:
        point = workload.points[workload.order[turn.turn]]
        if turn.off is None:
            continue
        more_ns = most_unseen_ns(point.what, turn.off, point.period_ns)
        for group in turn.off.groups:
            if group.why in SHOWN and group.stretches:
                most_ns = group.longest_ns + more_ns
                longest[point.what] = max(longest.get(point.what, 0), most_ns)
    return longest
