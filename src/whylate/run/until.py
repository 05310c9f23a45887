"""Measuring until something can be said: that latencies above a limit are rarer than so much.

When that is, the plan says, by how many came. Each of them counts, several of one stall too, which
makes the run longer than episodes would; whether episodes cluster, the finished recording tells.
"""

from __future__ import annotations

from whylate.run.record import Run


def can_be_said(run: Run) -> bool:
    """Whether the run may end by now."""
    until = run.plan.until
    if until is None or run.tally.above >= len(until.after_ns):
        return False
    return run.tally.board_elapsed_s * 1e9 >= until.after_ns[run.tally.above]


def said(run: Run) -> str:
    """Return why the run ended before its time."""
    until = run.plan.until
    limit_us = until.limit_ns / 1e3 if until is not None else 0.0
    return (
        f"ended after {run.tally.board_elapsed_s:.0f} s with {run.tally.above} activations above "
        f"{limit_us:g} us, when it could be said that they are rare enough"
    )
