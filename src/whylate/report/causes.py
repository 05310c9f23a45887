"""The rows and sentences of an answer that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.causes.answer import FEW_EPISODES, Answer, TracedActivation
from whylate.causes.observability import Observability, Observable
from whylate.causes.population import SIGNIFICANT_NS, SIGNIFICANT_SHARE, CauseShare, Population
from whylate.causes.timing import Timing
from whylate.causes.window.piece import Cause
from whylate.quantities import (
    format_count,
    format_ns,
    format_percent,
    format_short_ns,
    format_span_ns,
)
from whylate.text import plain

#: A cause and its detail.
Key = tuple[Cause, str]
#: Rows of causes; all smaller causes share one row.
MOST_ROWS = 7
#: Characters of a detail: a function, its module, a thread and a CPU fit.
LONGEST_DETAIL = 160
#: Causes in one line, and the share that each must have to be in it.
_MOST_IN_LINE, _LEAST_IN_LINE = 3, 0.05
#: These causes have a row, however small: they are what is not known.
_UNKNOWN = frozenset({Cause.UNEXPLAINED, Cause.NOT_OBSERVED, Cause.STEAL, Cause.OUTSIDE})
_LEAST_UNKNOWN = 0.0005


@dataclass(frozen=True)
class CauseRow:
    """A row of the table of causes. key: None for the row of all smaller causes."""

    key: Key | None
    name: str
    share: float
    interval: str
    each: str
    in_late: str = ""
    in_control: str = ""
    significant: bool = False


@dataclass(frozen=True)
class FamilyRow:
    """A row of the table of families: episodes that have a cause in common.

    key: of that cause; None for the episodes that have none in common.
    """

    letter: str
    key: Key | None
    common: str
    episodes: str
    lower_bound: str
    median: str
    in_control: str
    worst: str


def cause_name(cause: Cause, detail: str) -> str:
    """Return a cause as a person reads it: `softirq NET_RX`."""
    return f"{cause.value} {_bounded(detail)}".strip() if detail else cause.value


def _bounded(detail: str) -> str:
    """Return a detail of bounded length: its end, which names the thread, is never cut off."""
    if len(detail) > LONGEST_DETAIL:
        half = LONGEST_DETAIL // 2
        detail = f"{detail[:half]}…{detail[-half:]}"
    return plain(detail, LONGEST_DETAIL + 1)


def no_answer(answer: Answer) -> str:
    """Say why there is no population to explain."""
    return plain(answer.why_not or "no activation was late", 500)


def headline(answer: Answer, population: Population) -> str:
    """Return what is explained: the number of late episodes, and their threshold."""
    excess = format_short_ns(round(population.excess_ns / population.episodes))
    each = " each" if population.episodes != 1 else ""
    return (
        f"{_late_episodes(population, answer)} above {format_short_ns(answer.threshold_ns)} "
        f"({answer.threshold_name}), {population.recorded:,} of them recorded; "
        f"excess {answer.quantity}: {excess}{each}"
    )


def cause_rows(population: Population) -> list[CauseRow]:
    """Return the rows of the largest causes, of what is not known, and of the rest together."""
    causes = population.causes
    largest = sorted(causes, key=lambda cause: -abs(cause.share))[:MOST_ROWS]
    shown = [
        cause
        for cause in causes
        if cause in largest or (cause.cause in _UNKNOWN and abs(cause.share) > _LEAST_UNKNOWN)
    ]
    rows = [
        CauseRow(
            (cause.cause, cause.detail),
            cause_name(cause.cause, cause.detail),
            cause.share,
            _interval(cause),
            format_short_ns(round(cause.mean_ns)),
            format_percent(cause.in_late),
            format_percent(cause.in_control),
            cause.significant,
        )
        for cause in shown
    ]
    rest = [cause for cause in causes if cause not in shown]
    if rest:
        each = format_short_ns(round(sum(cause.mean_ns for cause in rest)))
        share = sum(cause.share for cause in rest)
        rows.append(CauseRow(None, f"{len(rest)} more", share, "", each))
    return rows


def significant_causes(population: Population) -> list[Cause]:
    """Return the causes that get a paragraph of advice, each once."""
    return list(dict.fromkeys(cause.cause for cause in population.significant))


def notes(answer: Answer, population: Population) -> list[str]:
    """Return what to know of the figures."""
    share, ns = format_percent(SIGNIFICANT_SHARE), format_short_ns(SIGNIFICANT_NS)
    lines = [
        f"located share: where the excess {answer.quantity} was spent; shares sum to 100 %",
        f"▶ significant: lower 95 % bound ≥ {share}, and excess ≥ {ns} each",
    ]
    if answer.is_of_executions:
        lines.append(
            "own code: the thread had the CPU, and nothing else was recorded there; what took "
            "longer in it is not known, so it is never significant"
        )
    elif any(traced.thread is not None for traced in answer.worst):
        lines.append(
            "a program's thread is due when what it waited for is over: waiting for a lock or a "
            "peer is in no latency"
        )
    if answer.between:
        lines.append(
            f"{answer.between:,} recorded {answer.counted} lie between the run's threshold and "
            "this one: they count neither as late nor as control"
        )
    if answer.detached:
        lines.append(
            f"{answer.detached:,} more late activations came while the recorder was detached, at "
            "times drawn at random, to measure what it adds: the shares are those of the others"
        )
    if any(cause.low is None for cause in population.causes):
        lines.append(
            f"no intervals: {_late_episodes(population, answer)} are too few or too close "
            "together; measure longer"
        )
    elif population.episodes < FEW_EPISODES:
        lines.append(f"{population.episodes} {late_unit(answer)}s say little about the next ones")
    lines += [text for timing in answer.timings if (text := timing_text(timing, late_unit(answer)))]
    if text := unobservable_text(answer.observability):
        lines.append(text)
    return lines


def timing_text(timing: Timing, unit: str = "episode") -> str:
    """Say when a cause acts, where that is not all through the run; "" otherwise."""
    parts = []
    if timing.first is not None and timing.last is not None:
        start, end = 10 * (timing.first - 1), 10 * timing.last
        parts.append(f"only between {start} and {end} % of the run")
    if timing.period_ns is not None:
        parts.append(f"always at about the same phase of {format_span_ns(timing.period_ns)}")
    if not parts:
        return ""
    name = cause_name(timing.cause, timing.detail)
    return f"{name}: {', '.join(parts)} ({format_count(timing.episodes)} {unit}s)"


def unobservable_text(observability: Sequence[Observability]) -> str:
    """Name the causes that the board cannot show, and what is missing; "" where it shows all."""
    causes: dict[str, list[str]] = {}
    for cause in observability:
        if cause.observable is Observable.NO:
            causes.setdefault(cause.missing, []).append(cause.cause.value)
    parts = [f"{', '.join(names)} ({plain(missing, 300)})" for missing, names in causes.items()]
    return f"not observable on this board: {'; '.join(parts)}" if parts else ""


def answer_line(answer: Answer, recording: str) -> str:
    """Return the answer in one line, for the end of a summary."""
    if answer.population is None:
        return no_answer(answer)
    largest = [cause for cause in answer.population.causes if cause.share >= _LEAST_IN_LINE]
    names = ", ".join(
        f"{cause_name(cause.cause, cause.detail)} {format_percent(cause.share)}"
        for cause in largest[:_MOST_IN_LINE]
    )
    return f"{names} of the excess {answer.quantity} (whylate explain {plain(recording, 400)})"


def family_rows(answer: Answer) -> list[FamilyRow]:
    """Return the families, then the rest; none for one family, which would repeat the causes."""
    families = answer.families
    if families is None or len(families.families) < 2:
        return []
    rows = []
    for family in families.families:
        episodes, worst = format_count(family.episodes), format_ns(family.worst_ns)
        if family.cause is None:
            rows.append(FamilyRow("", None, "no common cause", episodes, "", "", "", worst))
            continue
        detail = "(various)" if family.detail is None else family.detail
        rows.append(
            FamilyRow(
                family.letter,
                (family.cause, family.detail or ""),
                cause_name(family.cause, detail),
                episodes,
                f"≥ {format_ns(family.at_least_ns, 2)}",
                format_ns(family.median_ns),
                f"{family.controls:,} of {families.control:,}" if families.control else "",
                worst,
            )
        )
    return rows


def unrecorded_text(answer: Answer) -> str:
    """Say how many late episodes were not recorded, and so are in no family."""
    if answer.families is None or not answer.families.unrecorded:
        return ""
    return f"{format_count(answer.families.unrecorded)} late {late_unit(answer)}s were not recorded"


def activation_title(traced: TracedActivation, answer: Answer) -> str:
    """Name an activation: its CPU, number, thread, latency and family."""
    activation = traced.breakdown
    thread = f" of {plain(traced.thread, 60)}" if traced.thread is not None else ""
    families = answer.families
    key = activation.cpu, activation.activation
    letter = families.of.get(key) if families is not None and family_rows(answer) else None
    return (
        f"CPU {activation.cpu}, {answer.counted.removesuffix('s')} "
        f"{format_count(activation.activation)}{thread}: "
        f"{format_short_ns(activation.latency_ns)}{f', family {letter}' if letter else ''}"
    )


def _interval(cause: CauseShare) -> str:
    if cause.low is None or cause.high is None:
        return ""
    return f"{format_percent(cause.low).removesuffix(' %')} to {format_percent(cause.high)}"


def late_unit(answer: Answer) -> str:
    """Return what is late together: each execution is alone."""
    return "execution" if answer.is_of_executions else "episode"


def _late_episodes(population: Population, answer: Answer) -> str:
    number = population.episodes
    return f"{number:,} late {late_unit(answer)}{'' if number == 1 else 's'}"
