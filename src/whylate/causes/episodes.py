"""Late activations of one CPU whose windows overlap are one episode: its time is counted once.

Activations of the wakeup workload that come due during another's stall are overruns, and belong
to it already. Threads of a program wake as they do: a stall that holds up three of them is one
episode, from when the first was due until the last one ran.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece


def merge_episodes(late: Iterable[Breakdown]) -> list[Breakdown]:
    """Return one for each episode, in order for each CPU.

    Time in which several waited is taken from the activation that was due first; what was not
    recorded of an episode is not observed. An episode has the number of its recorded activation
    with the longest latency.
    """
    return [_joined(together) for together in group_overlapping(late)]


def group_overlapping(late: Iterable[Breakdown]) -> list[list[Breakdown]]:
    """Return what belongs together, each in the order in which it was due."""
    by_cpu: dict[int, list[Breakdown]] = defaultdict(list)
    for activation in late:
        by_cpu[activation.cpu].append(activation)
    groups: list[list[Breakdown]] = []
    for own in by_cpu.values():
        together: list[Breakdown] = []
        end_ns = 0
        for activation in sorted(
            own, key=lambda activation: (activation.due_ns, -activation.latency_ns)
        ):
            if together and activation.due_ns >= end_ns:
                groups.append(together)
                together = []
            together.append(activation)
            run_ns = activation.due_ns + activation.latency_ns
            end_ns = max(end_ns, run_ns) if len(together) > 1 else run_ns
        groups.append(together)
    return groups


def _joined(together: Sequence[Breakdown]) -> Breakdown:
    """Return activations that overlap, in the order in which they were due, as one."""
    if len(together) == 1:
        return together[0]
    pieces: list[Piece] = []
    start_ns = at = together[0].due_ns
    for activation in together:
        run_ns = activation.due_ns + activation.latency_ns
        own = activation.pieces or (Piece(activation.due_ns, run_ns, Cause.NOT_OBSERVED),)
        pieces += [replace(p, start_ns=max(p.start_ns, at)) for p in own if p.end_ns > at]
        at = max(at, run_ns)
    recorded = any(activation.pieces is not None for activation in together)
    latest = max(
        (late for late in together if late.pieces is not None or not recorded),
        key=lambda late: late.latency_ns,
    )
    return Breakdown(
        latest.cpu, latest.activation, start_ns, at - start_ns, tuple(pieces) if recorded else None
    )
