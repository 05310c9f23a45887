"""What a bisection has found, in at most fifteen lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.quantities import format_number, format_seconds_up
from whylate.stats.comparison.shifts import Estimate
from whylate.stats.search.model import (
    Answer,
    Confirmation,
    Culprits,
    Effect,
    ExplainsPart,
    Gap,
    GapTooSmall,
    Items,
    NoGap,
    NotAmong,
    Undecided,
    not_apart,
)
from whylate.text import plain

#: Culprits, and candidates, that are printed.
_MOST = 4


def lines_of(sets: Sets, runs: Sequence[MadeRun], answer: Answer | None) -> Iterator[str]:
    """Yield the result, a sentence a line."""
    yield _work(sets, runs)
    if answer is None:
        yield f"Not over: the same `whylate bisect {sets.nouns.verb}` resumes it."
        return
    gap = answer.gap
    if gap is not None:
        yield _gap(sets, gap)
    yield from _result(sets, answer, _took_s(sets, runs) / max(len(runs), 1))


def _took_s(sets: Sets, runs: Sequence[MadeRun]) -> float:
    """Return how long runs took, all boards at work."""
    return sum(made.took_s for made in runs) / len(sets.plan.study.boards)


def _work(sets: Sets, runs: Sequence[MadeRun]) -> str:
    untestable = sum(made.value is None for made in runs)
    text = (
        f"{sets.plan.statistic} by {len(sets.items):,} {sets.nouns.plural}: "
        f"{sets.plan.first.name} and {sets.plan.second.name}, "
        f"{len(runs)} runs in {format_seconds_up(_took_s(sets, runs))}"
    )
    return text + (f", {untestable} of them untestable" if untestable else "")


def _gap(sets: Sets, gap: Gap) -> str:
    estimate = gap.estimate
    ratio = math.exp(estimate.value)
    bounds = (
        ""
        if estimate.low is None or estimate.high is None
        else f" [{format_number(math.exp(estimate.low))}, {format_number(math.exp(estimate.high))}]"
    )
    return (
        f"{sets.plan.second.name} has {format_number(ratio)}{bounds} times the "
        f"{sets.plan.statistic} of {sets.plan.first.name}: "
        f"{format_number(gap.in_sd)} standard deviations of a run"
    )


def _result(sets: Sets, answer: Answer, run_s: float) -> Iterator[str]:
    nouns = sets.nouns
    match answer:
        case Culprits():
            several = len(list(_told_apart(answer))) > 1
            yield f"{nouns.these if several else nouns.this} the difference:"
            yield from _effects(sets, answer)
            yield from _confirmed(sets, answer.confirmation)
        case ExplainsPart():
            yield (
                f"{nouns.these} {_share(answer.share)} of the difference; the rest is in none of "
                "those listed:"
            )
            yield from _effects(sets, answer)
            yield from _never_set(sets, answer.not_set)
            yield from _confirmed(sets, answer.confirmation)
        case NotAmong():
            yield nouns.none if not answer.not_set else nouns.none_set
            yield from _never_set(sets, answer.not_set)
            yield from _confirmed(sets, answer.confirmation)
        case NoGap():
            names = f"{sets.plan.first.name} and {sets.plan.second.name}"
            yield f"{names} do not differ: there is nothing to find."
        case GapTooSmall():
            yield (
                f"The difference is small beside that of equal runs: about {answer.needed} runs "
                f"are needed, {format_seconds_up(answer.needed * run_s)} in all, and "
                f"{sets.plan.runs} were permitted (--runs). Longer runs differ less."
            )
        case Undecided():
            yield f"Undecided: {answer.reason}. The most probable sets:"
            for candidate in answer.candidates[:_MOST]:
                names = " and ".join(_name(sets, item) for item in candidate.items)
                yield f"  {100 * candidate.probability:3.0f} %  {names or 'none of them'}"


def _told_apart(answer: Culprits | ExplainsPart) -> Iterator[tuple[Effect, Items]]:
    """Yield each effect once, with the items that it may as well be of: none ran without them."""
    seen: set[int] = set()
    for effect in answer.effects:
        if effect.item in seen:
            continue
        others = not_apart(answer.atoms, effect.item)
        seen |= set(others)
        yield effect, others


def _effects(sets: Sets, answer: Culprits | ExplainsPart) -> Iterator[str]:
    for effect, others in list(_told_apart(answer))[:_MOST]:
        yield _effect(sets, effect)
        if others:
            yield f"    or, never run apart from it: {_names(sets, others)}"


def _never_set(sets: Sets, items: Items) -> Iterator[str]:
    """Say in which items the gap may be all the same."""
    if items:
        count = f"{len(items):,} of the {len(sets.items):,} {sets.nouns.plural}"
        yield (
            f"{count} never ran apart from what is not listed, and it may be in these: "
            f"{_names(sets, items)}"
        )


def _names(sets: Sets, items: Items) -> str:
    names = ", ".join(_name(sets, item) for item in items[:_MOST])
    return names if len(items) <= _MOST else f"{names} and {len(items) - _MOST:,} more"


def _effect(sets: Sets, effect: Effect) -> str:
    item = sets.items[effect.item]
    first, second = (_value(sets, value) for value in (item.first, item.second))
    return f"  {plain(item.name, 100)}: {first} -> {second}   {_share(effect.share)} of it"


def _name(sets: Sets, item: int) -> str:
    return plain(sets.items[item].name, 100) if item < len(sets.items) else "something else"


def _value(sets: Sets, value: str | None) -> str:
    return sets.nouns.absent if value is None else plain(value.rstrip("\n"), 60)


def _confirmed(sets: Sets, confirmation: Confirmation) -> Iterator[str]:
    first, second = sets.plan.first.name, sets.plan.second.name
    ways = []
    if confirmation.fast is not None:
        way = _share(confirmation.fast)
        ways.append(f"{first} with the values of {second} goes {way} of the way")
    if confirmation.slow is not None:
        back = _share(confirmation.slow)
        ways.append(f"{second} with the values of {first} goes back {back} of it")
    if ways:
        yield f"Confirmed by {confirmation.runs} fresh runs: {'; '.join(ways)}."


def _share(share: Estimate) -> str:
    value = f"{100 * share.value:.0f} %"
    if share.low is None or share.high is None:
        return value
    return f"{value} [{100 * share.low:.0f}, {100 * share.high:.0f}]"
