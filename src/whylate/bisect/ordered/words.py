"""What a bisection of an ordered history has found, in at most fifteen lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from whylate.bisect.ordered.carry_out import Result
from whylate.bisect.ordered.model import RUN_KINDS, OrderedPlan, Step
from whylate.bisect.ordered.reverted import Reverted
from whylate.bisect.ordered.versions import Versions
from whylate.quantities import format_number, format_seconds_up
from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.confirmation import Confirmation
from whylate.text import plain

#: Versions that are printed of each step.
_MOST = 4


def lines_of(
    plan: OrderedPlan, versions: Versions, steps: Sequence[Step], result: Result
) -> Iterator[str]:
    """Yield the result, a sentence a line."""
    nouns = versions.nouns
    runs = sum(step.kind in RUN_KINDS for step in steps)
    built = len({step.version for step in steps if step.kind not in ("unbuildable", "reverted")})
    failed = sum(step.kind == "unbuildable" for step in steps)
    took_s = sum(step.took_s for step in steps)
    text = (
        f"{plan.statistic} of {len(versions.names) - 1} {nouns.plural} after {versions.short(0)}: "
        f"{runs} runs of {built} {nouns.plural}, {format_seconds_up(took_s)} of runs"
    )
    if boards := {step.board for step in steps if step.board}:
        text += f" on {len(boards)} boards"
    yield text + (f"; {failed} {nouns.plural} cannot be built or run" if failed else "")
    answer = result.answer
    if answer is None:
        yield f"Not over: the same `whylate bisect {nouns.verb}` resumes it."
        return
    yield from _result(versions, answer)
    if result.confirmation is not None:
        yield _confirmed(versions, result.confirmation)
        if result.reverted is not None:
            yield _reverted(versions, result.reverted)
    elif answer.kind is Kind.ONE_VERSION:
        yield f"Not confirmed: it, or {nouns.before}, cannot be run."


def _result(versions: Versions, answer: Answer) -> Iterator[str]:
    nouns = versions.nouns
    sure = f"probability {answer.probability:.3f}"
    times = "" if answer.step is None else f"{format_number(math.exp(answer.step))} times as much"
    match answer.kind:
        case Kind.NO_STEP:
            ends = f"{nouns.first} and {nouns.last}"
            yield f"There is no step: {ends} are most probably alike ({sure})."
        case Kind.GRADUAL:
            none = f"no {nouns.singular} makes the difference"
            yield f"It changed gradually, {times} in all ({sure}): {none}."
        case Kind.ONE_VERSION:
            yield f"This {nouns.singular} makes it {times} ({sure}):"
            yield from _names(versions, answer.versions)
        case Kind.VERSIONS:
            yield f"One of these {len(answer.versions)} {nouns.plural} makes it {times} ({sure}):"
            yield from _names(versions, answer.versions)
        case Kind.TWO_STEPS:
            yield f"Two {nouns.plural} make it {times} together ({sure}). The first is of"
            yield from _names(versions, answer.versions)
            yield "and the second of"
            yield from _names(versions, answer.second_versions)


def _names(versions: Versions, places: Sequence[int]) -> Iterator[str]:
    for place in places[:_MOST]:
        yield f"  {plain(versions.title(place), 120)}"
    if len(places) > _MOST:
        yield f"  and {len(places) - _MOST} more"


def _confirmed(versions: Versions, confirmation: Confirmation) -> str:
    low, high = (
        math.exp(confirmation.difference + side * confirmation.half_width) for side in (-1, 1)
    )
    times = format_number(math.exp(confirmation.difference))
    interval = (
        f"{times} [{format_number(low)}, {format_number(high)}] times {versions.nouns.before}"
    )
    if confirmation.confirmed:
        return f"Confirmed by {confirmation.pairs} pairs of fresh runs: {interval}."
    return f"Not confirmed by {confirmation.pairs} pairs of fresh runs: {interval}."


def _reverted(versions: Versions, reverted: Reverted) -> str:
    """Return what becomes of the last version without the culprit."""
    first, last = versions.nouns.first, versions.nouns.last
    back = reverted.back
    if back is None:
        return f"Reverted on {last}, it was not measured: {plain(reverted.reason, 300)}."
    interval, gives = "", "it is not shown to give back anything:"
    if back.low is not None and back.high is not None:
        interval = f" [{100 * back.low:.0f}, {100 * back.high:.0f}]"
        gives = "it gives back" if back.low > 0 else gives
    part = f"{100 * back.part:.0f} %{interval} of the difference between {first} and {last}"
    return f"Reverted on {last}, {gives} {part}, by {reverted.pairs} pairs of fresh runs."
