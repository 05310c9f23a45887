"""When the recorder of a run is detached, so that the run shows what it adds to latencies.

The time is cut into blocks, and in one of four that follow each other, drawn at random, the
recorder is detached: 25 % of the time. A drift is the same with it and without, for each group of
four has both, and nothing periodic keeps step with a random order. Blocks are long against the
time that detaching takes (tens of ms), and there are enough groups for an interval.
"""

from __future__ import annotations

import random

from whylate.recording.workloads.activations import DetachPlan

#: Blocks of a group, of which one is detached.
EVERY = 4
SHORTEST_BLOCK_NS = 250_000_000
#: Fewer groups would say too little: the recorder stays attached in shorter runs.
FEWEST_GROUPS = 10
#: With more than the fewest groups, blocks last at least so long: to switch interrupts all CPUs,
#: and what comes meanwhile is a part of the run's tail.
BLOCK_NS = 1_000_000_000
#: Longer runs have longer blocks: how precise the figures are depends on all of the time.
MOST_GROUPS = 40
#: The shortest run in which it is detached.
SHORTEST_RUN_NS = FEWEST_GROUPS * EVERY * SHORTEST_BLOCK_NS


#: The fewest activations of a CPU in which it is detached: fewer have no figures.
FEWEST_ACTIVATIONS = 1000


def draw_detached(duration_ns: int, interval_ns: int, seed: int) -> DetachPlan | None:
    """Return the blocks of a run in which the recorder is detached; None in a short run."""
    groups = min(max(duration_ns // (EVERY * BLOCK_NS), FEWEST_GROUPS), MOST_GROUPS)
    if duration_ns < SHORTEST_RUN_NS or duration_ns // interval_ns < FEWEST_ACTIVATIONS:
        return None
    rng = random.Random(f"detached {seed}")  # noqa: S311 (a draw that repeats, no secret)
    blocks = [EVERY * group + rng.randrange(EVERY) for group in range(groups)]
    return DetachPlan(duration_ns // (EVERY * groups), EVERY, blocks)
