"""What a bisection has found, in at most fifteen lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from whylate.bisect.settings.model import BisectPlan, MadeRun
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
    NoGap,
    NotAmong,
    Undecided,
)
from whylate.text import plain

#: Culprits, and candidates, that are printed.
_MOST = 4


def lines_of(plan: BisectPlan, runs: Sequence[MadeRun], answer: Answer | None) -> Iterator[str]:
    """Yield the result, a sentence a line."""
    yield _work(plan, runs)
    if answer is None:
        yield "Not over: the same `whylate bisect settings` resumes it."
        return
    gap = answer.gap
    if gap is not None:
        yield _gap(plan, gap)
    yield from _result(plan, answer)


def _work(plan: BisectPlan, runs: Sequence[MadeRun]) -> str:
    untestable = sum(made.value is None for made in runs)
    took_s = sum(made.took_s for made in runs) / len(plan.study.boards)
    text = (
        f"{plan.statistic} by {len(plan.items)} settings: {plan.first.name} and "
        f"{plan.second.name}, {len(runs)} runs in {format_seconds_up(took_s)}"
    )
    return text + (f", {untestable} of them untestable" if untestable else "")


def _gap(plan: BisectPlan, gap: Gap) -> str:
    estimate = gap.estimate
    ratio = math.exp(estimate.value)
    bounds = (
        ""
        if estimate.low is None or estimate.high is None
        else f" [{format_number(math.exp(estimate.low))}, {format_number(math.exp(estimate.high))}]"
    )
    return (
        f"{plan.second.name} has {format_number(ratio)}{bounds} times the {plan.statistic} of "
        f"{plan.first.name}: {format_number(gap.in_sd)} standard deviations of a run"
    )


def _result(plan: BisectPlan, answer: Answer) -> Iterator[str]:
    match answer:
        case Culprits():
            several = len(answer.effects) > 1
            yield f"{'These settings make' if several else 'This setting makes'} the difference:"
            yield from (_effect(plan, effect) for effect in answer.effects[:_MOST])
            yield from _confirmed(plan, answer.confirmation)
        case ExplainsPart():
            yield (
                f"These settings make {_share(answer.share)} of the difference; the rest is in "
                "none of those listed:"
            )
            yield from (_effect(plan, effect) for effect in answer.effects[:_MOST])
            yield from _confirmed(plan, answer.confirmation)
        case NotAmong():
            yield "None of the settings makes the difference."
            yield from _confirmed(plan, answer.confirmation)
        case NoGap():
            names = f"{plan.first.name} and {plan.second.name}"
            yield f"{names} do not differ: there is nothing to find."
        case GapTooSmall():
            yield (
                f"The difference is small beside that of equal runs: about {answer.needed} runs "
                f"are needed, and {plan.runs} were permitted (--runs). Longer runs differ less."
            )
        case Undecided():
            yield f"Undecided: {answer.reason}. The most probable sets:"
            for candidate in answer.candidates[:_MOST]:
                names = " and ".join(_name(plan, item) for item in candidate.items)
                yield f"  {100 * candidate.probability:3.0f} %  {names or 'none of them'}"


def _effect(plan: BisectPlan, effect: Effect) -> str:
    item = plan.items[effect.item]
    first, second = (_value(value) for value in (item.first, item.second))
    return f"  {plain(item.knob, 100)}: {first} -> {second}   {_share(effect.share)} of it"


def _name(plan: BisectPlan, item: int) -> str:
    return plain(plan.items[item].knob, 100) if item < len(plan.items) else "something else"


def _value(value: str | None) -> str:
    return "as found" if value is None else plain(value, 60)


def _confirmed(plan: BisectPlan, confirmation: Confirmation) -> Iterator[str]:
    first, second = plan.first.name, plan.second.name
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
