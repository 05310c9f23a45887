"""Why it was late, on one screen: the causes, the worst first, and the stories of single ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.causes.advice import load_advice
from whylate.causes.answer import FEW_EPISODES, Answer, TracedActivation
from whylate.causes.families import Families, Family
from whylate.causes.observability import Observability, Observable
from whylate.causes.population import SIGNIFICANT_NS, SIGNIFICANT_SHARE, CauseShare, Population
from whylate.causes.window.piece import Cause, Piece
from whylate.quantities import format_ns, format_short_ns
from whylate.text import plain

#: Lines of causes; the rest are one line together.
SHOWN = 7
#: Causes in one line, and the share below which one is not told there.
TOLD = 3
LEAST_TOLD = 0.05
#: Pieces of a story shorter than this part of it are left out.
SHORTEST_PIECE = 0.01


def cause_name(cause: Cause, detail: str) -> str:
    """Return a cause as a person reads it: `softirq NET_RX`."""
    return f"{cause.value} {plain(detail, 80)}".strip() if detail else cause.value


def print_answer(answer: Answer, console: Console, stories: int = 0) -> None:
    """Print the answer; what comes from the board is shown as plain text."""
    if answer.population is None:
        console.print(Text(plain(answer.why_not or "nothing was late", 500)))
        return
    found = answer.population
    console.print(Text(headline(answer, found), style="bold"))
    console.print()
    console.print(_table(found))
    if families_said(answer):
        console.print()
        console.print(_families(answer))
    for line in notes(found, answer.between):
        console.print(Text(line, style="dim"))
    if unseen := not_observable(answer.observability):
        console.print(Text(unseen, style="dim"))
    for story in answer.worst[:stories]:
        console.print()
        console.print(_story(story, answer))
    for cause in told_of(found):
        console.print()
        console.print(_advice(cause))


def told_of(found: Population) -> list[Cause]:
    """Return the causes that are worth a paragraph: those that are called, each once."""
    return list(dict.fromkeys(one.cause for one in found.significant))


def _advice(cause: Cause) -> Text:
    words = load_advice(cause)
    return Text.assemble(
        (f"{cause.value}: ", "bold"),
        words.what,
        ("\nCheck: ", "bold"),
        words.check,
        ("\nHelps: ", "bold"),
        words.helps,
    )


def headline(answer: Answer, found: Population) -> str:
    """Return what is explained: so many late episodes above a threshold."""
    took = format_short_ns(round(found.excess_ns / found.episodes))
    return (
        f"{_late_episodes(found.episodes)} above {format_short_ns(answer.threshold_ns)} "
        f"({answer.threshold_name}), {found.recorded:,} of them recorded; beyond the ordinary "
        f"{f'it took {took}' if found.episodes == 1 else f'they took {took} each'}"
    )


def notes(found: Population, between: int) -> list[str]:
    """Return what to know of the figures; between: as Answer has it."""
    least = format_short_ns(SIGNIFICANT_NS)
    lines = [
        "located share: where the time beyond the ordinary was spent; all sum to 100 %",
        f"▶ called: surely {SIGNIFICANT_SHARE:.0%} of it or more, and {least} or more each",
    ]
    if between:
        lines.append(
            f"{between:,} recorded activations lie between what the run called late and this "
            "threshold: they count as neither, and ordinary are those below both"
        )
    if any(one.low is None for one in found.causes):
        lines.append(
            f"no intervals: {_late_episodes(found.episodes)}, which is too few, or too close "
            "together; measure longer"
        )
    elif found.episodes < FEW_EPISODES:
        lines.append(f"{found.episodes} episodes say little of what the next ones will be")
    return lines


def not_observable(observability: Sequence[Observability]) -> str:
    """Return which causes no piece could be named after on that board, and for want of what."""
    wanting: dict[str, list[str]] = {}
    for one in observability:
        if one.observable is Observable.NO:
            wanting.setdefault(one.missing, []).append(one.cause.value)
    told = [f"{', '.join(names)} ({plain(missing, 300)})" for missing, names in wanting.items()]
    return f"not observable on this board: {'; '.join(told)}" if told else ""


def in_a_line(answer: Answer, recording: str) -> str:
    """Return the answer in one line, for the end of a summary."""
    ask = f"whylate explain {plain(recording, 400)}"
    if answer.population is None:
        return f"{plain(answer.why_not or 'nothing was late', 300)}"
    largest = [one for one in answer.population.causes if one.share >= LEAST_TOLD][:TOLD]
    told = ", ".join(f"{cause_name(one.cause, one.detail)} {one.share:.0%}" for one in largest)
    return f"{told} of what the late ones took beyond the ordinary ({ask})"


def _table(found: Population) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("cause")
    table.add_column("share", justify="right")
    table.add_column("95 %", justify="right")
    table.add_column("each", justify="right")
    table.add_column("in late", justify="right")
    table.add_column("in ordinary", justify="right")
    largest = shown(found.causes)
    for one in largest:
        table.add_row(*_row(one))
    rest = [one for one in found.causes if one not in largest]
    if rest:
        share = sum(one.share for one in rest)
        each = format_short_ns(round(sum(one.mean_ns for one in rest)))
        table.add_row("", f"{len(rest)} others", percent(share, 1), "", each, "", "")
    return table


def shown(causes: list[CauseShare]) -> list[CauseShare]:
    """Return the largest, and always what is not known."""
    unknown = {Cause.UNEXPLAINED, Cause.NOT_OBSERVED, Cause.STEAL}
    largest = sorted(causes, key=lambda one: -abs(one.share))[:SHOWN]
    return [
        one
        for one in causes
        if one in largest or (one.cause in unknown and abs(one.share) > 0.0005)
    ]


def percent(share: float, digits: int = 0) -> str:
    """Write a share; what rounds to nothing has no sign."""
    text = f"{share:.{digits}%}"
    return text.removeprefix("-") if not text.strip("-0.%") else text.replace("-", "−")


def _row(one: CauseShare) -> tuple[Text | str, ...]:
    style = "bold" if one.significant else ""
    interval = (
        "" if one.low is None or one.high is None else f"{percent(one.low)} to {percent(one.high)}"
    )
    return (
        "▶" if one.significant else " ",
        Text(cause_name(one.cause, one.detail), style=style),
        percent(one.share, 1),
        interval,
        format_short_ns(round(one.mean_ns)),
        percent(one.in_late),
        percent(one.in_control),
    )


def families_said(answer: Answer) -> list[tuple[str, str]]:
    """Say what late episodes have in common: a letter and a rule for each family.

    Nothing where there is only one: it would repeat the table.
    """
    found = answer.families
    if found is None or len(found.families) < 2:
        return []
    told = [(one.letter, family_rule(one, found)) for one in found.families]
    if found.unrecorded:
        told.append(("", f"{_episodes(found.unrecorded)} of which nothing was recorded"))
    return told


def family_rule(one: Family, found: Families) -> str:
    """Say what a family has in common: "41 episodes, all with ≥ 200 µs of softirq NET_RX"."""
    worst = f"the worst {format_ns(one.worst_ns)}"
    if one.cause is None:
        return f"{_episodes(one.episodes)} with no one thing in common; {worst}"
    name = cause_name(one.cause, one.detail or "")
    if one.cause not in (Cause.UNEXPLAINED, Cause.NOT_OBSERVED):
        name = f"of {name}" if one.detail is not None else f"of {name}, various"
    common = [f"median {format_ns(one.median_ns)}"]
    if found.control:
        common.append(f"ordinary ones: {one.ordinary:,} of {found.control:,}")
    return (
        f"{_episodes(one.episodes)}, all with ≥ {format_ns(one.at_least_ns, 2)} {name} "
        f"({'; '.join(common)}); {worst}"
    )


def _late_episodes(count: int) -> str:
    return f"{count:,} late episode{'' if count == 1 else 's'}"


def _episodes(count: int) -> str:
    return f"{count:,} episode{'' if count == 1 else 's'}"


def _families(answer: Answer) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for letter, rule in families_said(answer):
        grid.add_row(Text(letter, style="bold"), Text(rule))
    return grid


def _story(story: TracedActivation, answer: Answer) -> Text:
    one = story.breakdown
    letter = answer.families.of.get((one.cpu, one.activation)) if answer.families else None
    of = f" ({letter})" if letter and families_said(answer) else ""
    head = f"cpu {one.cpu} activation {one.activation:,}{of_thread(story)}: "
    head += f"{format_short_ns(one.latency_ns)}{of}"
    pieces = [
        f"{cause_name(cause, detail)} {format_short_ns(length)}"
        for cause, detail, length in told(one.pieces or (), one.latency_ns)
    ] or [cause_name(Cause.NOT_OBSERVED, "")]
    return Text.assemble((head, "bold"), " = " + " + ".join(pieces))


def of_thread(story: TracedActivation) -> str:
    """Say whose the activation was: " of jackd/312"; nothing where the probe measured itself."""
    return f" of {plain(story.thread, 60)}" if story.thread is not None else ""


def told(pieces: tuple[Piece, ...], latency_ns: int) -> list[tuple[Cause, str, int]]:
    """Return a story in order, the shortest left out; what they come between is told as one.

    What is cut into many short ones, as by interrupts, is told where together it is long enough.
    """
    least_ns = SHORTEST_PIECE * latency_ns
    found: list[tuple[Cause, str, int]] = []
    short: dict[tuple[Cause, str], int] = defaultdict(int)
    for piece in pieces:
        key = piece.cause, piece.detail
        if found and found[-1][:2] == key:
            found[-1] = (*key, found[-1][2] + piece.length_ns)
            continue
        short[key] += piece.length_ns
        if short[key] >= least_ns:
            found.append((*key, short[key]))
            short.clear()
    return found
