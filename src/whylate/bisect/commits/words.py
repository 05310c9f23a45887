"""What a bisection of commits has found, in at most fifteen lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from whylate.bisect.commits.carry_out import Result
from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.model import RUN_KINDS, CommitsPlan, Step
from whylate.bisect.commits.reverted import Reverted
from whylate.quantities import format_number, format_seconds_up
from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.confirmation import Confirmation
from whylate.text import plain

#: Commits that are printed of each step.
_MOST = 4
_HASH = 12


def lines_of(
    plan: CommitsPlan, commits: Commits, steps: Sequence[Step], result: Result
) -> Iterator[str]:
    """Yield the result, a sentence a line."""
    runs = sum(step.kind in RUN_KINDS for step in steps)
    built = len({step.commit for step in steps if step.kind not in ("unbuildable", "reverted")})
    failed = sum(step.kind == "unbuildable" for step in steps)
    took_s = sum(step.took_s for step in steps)
    text = (
        f"{plan.statistic} of {len(commits.hashes) - 1} commits after {commits.hashes[0][:_HASH]}: "
        f"{runs} runs of {built} commits, {format_seconds_up(took_s)} of runs"
    )
    yield text + (f"; {failed} commits cannot be built or run" if failed else "")
    answer = result.answer
    if answer is None:
        yield "Not over: the same `whylate bisect commits` resumes it."
        return
    yield from _result(commits, answer)
    if result.confirmation is not None:
        yield _confirmed(result.confirmation)
        if result.reverted is not None:
            yield _reverted(result.reverted)
    elif answer.kind is Kind.ONE_VERSION:
        yield "Not confirmed: it, or its parent, cannot be run."


def _result(commits: Commits, answer: Answer) -> Iterator[str]:
    sure = f"probability {answer.probability:.3f}"
    times = "" if answer.step is None else f"{format_number(math.exp(answer.step))} times as much"
    match answer.kind:
        case Kind.NO_STEP:
            yield f"There is no step: GOOD and BAD are most probably alike ({sure})."
        case Kind.GRADUAL:
            yield f"It changed gradually, {times} in all ({sure}): no commit makes the difference."
        case Kind.ONE_VERSION:
            yield f"This commit makes it {times} ({sure}):"
            yield from _names(commits, answer.versions)
        case Kind.VERSIONS:
            yield f"One of these {len(answer.versions)} commits makes it {times} ({sure}):"
            yield from _names(commits, answer.versions)
        case Kind.TWO_STEPS:
            yield f"Two commits make it {times} together ({sure}). The first is of"
            yield from _names(commits, answer.versions)
            yield "and the second of"
            yield from _names(commits, answer.second_versions)


def _names(commits: Commits, versions: Sequence[int]) -> Iterator[str]:
    for place in versions[:_MOST]:
        yield f"  {commits.hashes[place][:_HASH]} {plain(commits.subjects[place], 100)}"
    if len(versions) > _MOST:
        yield f"  and {len(versions) - _MOST} more"


def _confirmed(confirmation: Confirmation) -> str:
    low, high = (
        math.exp(confirmation.difference + side * confirmation.half_width) for side in (-1, 1)
    )
    times = format_number(math.exp(confirmation.difference))
    interval = f"{times} [{format_number(low)}, {format_number(high)}] times its parent"
    if confirmation.confirmed:
        return f"Confirmed by {confirmation.pairs} pairs of fresh runs: {interval}."
    return f"Not confirmed by {confirmation.pairs} pairs of fresh runs: {interval}."


def _reverted(reverted: Reverted) -> str:
    """Return what becomes of BAD without the culprit."""
    back = reverted.back
    if back is None:
        return f"Reverted on BAD, it was not measured: {plain(reverted.reason, 300)}."
    interval, gives = "", "it is not shown to give back anything:"
    if back.low is not None and back.high is not None:
        interval = f" [{100 * back.low:.0f}, {100 * back.high:.0f}]"
        gives = "it gives back" if back.low > 0 else gives
    part = f"{100 * back.part:.0f} %{interval} of the difference between GOOD and BAD"
    return f"Reverted on BAD, {gives} {part}, by {reverted.pairs} pairs of fresh runs."
