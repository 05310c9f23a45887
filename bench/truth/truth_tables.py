"""The marks of all cases as tables: the bar, cause by cause, and what was taken for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from truth_mark import Marked, Share, TrueFault, names_it

from whylate.lab.faults.catalogue import fault as fault_of
from whylate.lab.faults.catalogue import names
from whylate.stats.limits import binomial_limits

CONFIDENCE = 0.95
#: The sizes that must be found; a half is only reported.
DEMANDED = (2.0, 10.0)
#: The bar.
FIRST, BOTH, WINDOWS, INSIDE, WIDTH, CLEAN = 0.99, 0.95, 0.99, 0.90, 0.15, 0.005
UNEXPLAINED, UNEXPLAINED_P95 = 0.03, 0.10
RUNS = 400
NOTHING = "nothing"


Singles = Sequence[tuple[Marked, TrueFault]]


@dataclass(frozen=True)
class Count:
    """So many of so many."""

    good: int
    of: int

    @classmethod
    def of_all(cls, values: Iterable[bool]) -> Count:
        """Count what is true."""
        found = list(values)
        return cls(sum(found), len(found))

    @property
    def rate(self) -> float:
        """The part that is good; 0 of none."""
        return self.good / self.of if self.of else 0.0

    def text(self) -> str:
        """Return `96.2 % (25 of 26, 80.4–99.9)`: with the interval of Clopper and Pearson."""
        if not self.of:
            return "none run"
        low, high = binomial_limits(self.good, self.of, CONFIDENCE)
        part = f"{100 * self.rate:.1f} %"
        return f"{part} ({self.good:,} of {self.of:,}; {100 * low:.1f}–{100 * high:.1f})"


def tables(marked: Sequence[Marked], planned: int, failed: Sequence[str]) -> str:
    """Return all tables as Markdown. planned: cases of the plan; failed: what could not be run."""
    parts = [
        f"{len(marked)} of the {planned} runs of the plan were made.",
        _bar(marked),
        "### Cause by cause\n\n" + _by_cause(marked),
        "### What was called first\n\n" + _confusion(marked),
    ]
    if failed:
        lines = "\n".join(f"- {line}" for line in failed)
        parts.append(f"### Runs that could not be made\n\n{lines}")
    return "\n\n".join(parts)


def _singles(marked: Sequence[Marked]) -> list[tuple[Marked, TrueFault]]:
    """Return runs with one cause that makes something late."""
    return [
        (mark, mark.causes[0])
        for mark in marked
        if len(mark.causes) == 1 and mark.causes[0].is_findable
    ]


def _is_first(mark: Marked, cause: TrueFault) -> bool:
    del mark
    return cause.place == 0


def _bar(marked: Sequence[Marked]) -> str:
    """Return what the test demands, what came out, and whether that is enough."""
    singles = _singles(marked)
    demanded = [(m, c) for m, c in singles if m.size in DEMANDED]
    pairs = [m for m in marked if len(m.causes) == 2 and all(c.is_findable for c in m.causes)]
    idle = sum(any(c.expected and not c.is_findable for c in mark.causes) for mark in marked)
    clean = [mark for mark in marked if not mark.causes]
    without = [mark for mark in marked if len(mark.causes) == 1 and not mark.causes[0].expected]
    injected = [mark for mark in marked if mark.causes]
    told = [(m, c) for m, c in singles if c.share is not None]
    bounded = _bounded(told)
    first = Count.of_all(_is_first(m, c) for m, c in demanded)
    own = Count.of_all(_is_first(m, c) for m, c in singles if not m.size)
    half = Count.of_all(_is_first(m, c) for m, c in singles if m.size and m.size not in DEMANDED)
    both = Count.of_all(all(c.rank in (0, 1) for c in m.causes) for m in pairs)
    significant = Count.of_all(calls_something(mark) for mark in clean)
    quiet = Count.of_all(not calls_something(mark) for mark in without)
    width = median([high - low for _, (low, high) in bounded]) if bounded else None
    digests = len({injection.digest for injection in injected})
    explained = Count.of_all(injection.unexplained <= UNEXPLAINED for injection in injected)
    explained_demanded = Count.of_all(m.unexplained <= UNEXPLAINED for m, _ in demanded)
    p95 = Count.of_all(injection.unexplained_p95 <= UNEXPLAINED_P95 for injection in injected)
    rows: list[tuple[str, str, str, bool | None]] = [
        ("injected runs, of them with different digests", f"≥ {RUNS}",
         f"{len(injected)}, {digests} different", digests >= RUNS),
        ("runs left out below: the fault acted in no late activation", "–", f"{idle}", None),
        ("cause called and first, 2× and 10×", f"≥ {FIRST:.0%}", first.text(), first.rate >= FIRST),
        ("the same, causes of their own size", "–", own.text(), None),
        ("the same, 0.5×", "–", half.text(), None),
        ("of two causes both in the first two", f"≥ {BOTH:.0%}", both.text(), both.rate >= BOTH),
        *_of_sizes("windows with the time located right", WINDOWS, told, _windows),
        *_of_sizes("true share inside the interval", INSIDE, told, _inside),
        ("median width of the interval", f"≤ {WIDTH}",
         "none run" if width is None else f"{width:.3f}", width is not None and width <= WIDTH),
        ("clean runs in which a cause of the catalogue is significant", f"≤ {CLEAN:.1%}",
         significant.text(), bool(significant.of) and significant.rate <= CLEAN),
        ("causes that make nothing late (softirqs with PREEMPT_RT): not significant", "all",
         quiet.text(), bool(quiet.of) and quiet.good == quiet.of),
        (f"unexplained at most {UNEXPLAINED:.0%} of the excess", "all", explained.text(),
         explained.good == explained.of),
        ("the same, one cause, 2× and 10×", "–", explained_demanded.text(), None),
        (f"unexplained at most {UNEXPLAINED_P95:.0%} of an episode, at the 95th percentile", "all",
         p95.text(), p95.good == p95.of),
    ]  # fmt: skip
    lines = ["| what | bar | result (interval at 95 %) | met |", "|---|---|---|---|"]
    told_met = {True: "yes", False: "no", None: "–"}
    lines += [f"| {a} | {b} | {c} | {told_met[met]} |" for a, b, c, met in rows]
    return "\n".join(lines)


def _windows(told: Singles) -> Count:
    """Count the windows whose time was located right."""
    return Count(sum(c.windows_right for _, c in told), sum(c.windows for _, c in told))


def _bounded(told: Singles) -> list[tuple[float, tuple[float, float]]]:
    """Return the true shares whose answer has an interval, and that."""
    return [(c.share or 0, found) for m, c in told if (found := c.interval(m.shares)) is not None]


def _inside(told: Singles) -> Count:
    """Count the true shares that lie inside the interval printed, of those that have one."""
    return Count.of_all(low <= share <= high for share, (low, high) in _bounded(told))


def _of_sizes(
    what: str, bar: float, told: Singles, count: Callable[[Singles], Count]
) -> list[tuple[str, str, str, bool | None]]:
    """Return the row of the bar, of the three sizes, and below it its parts and what has none."""
    whole = count([(m, c) for m, c in told if m.size])
    some = {
        "2× and 10×": [(m, c) for m, c in told if m.size in DEMANDED],
        "0.5×": [(m, c) for m, c in told if m.size and m.size not in DEMANDED],
        "causes of their own size": [(m, c) for m, c in told if not m.size],
    }
    return [
        (f"{what}, 0.5× to 10×", f"≥ {bar:.0%}", whole.text(), whole.rate >= bar),
        *((f"the same, {name}", "–", count(part).text(), None) for name, part in some.items()),
    ]


def held_up_by_the_probe(share: Share) -> bool:
    """Whether it is of the probe's own sending thread.

    While a higher-priority thread waits for a lock that it holds, it inherits that priority.
    """
    return share.detail.endswith(" in probe") or (share.cause, share.detail) == ("thread", "probe")


def calls_something(mark: Marked) -> bool:
    """Whether a run without a cause calls one of the catalogue's, by whatever name.

    Interrupts are left out, and time of the probe's sending thread: the board has them,
    and they are no false alarm.
    """
    pieces = [
        piece
        for entry in map(fault_of, names())
        if entry.kind != "outside" and entry.answer.kind != "interrupt"
        for piece in entry.answer.pieces
    ]
    return any(
        names_it(pieces, "", share.cause, share.detail)
        for share in mark.significant
        if not held_up_by_the_probe(share)
    )


def _by_cause(marked: Sequence[Marked]) -> str:
    groups: dict[tuple[str, str, float], list[tuple[Marked, TrueFault]]] = {}
    for _single, cause in _singles(marked):
        groups.setdefault((cause.name, _single.rig, _single.size), []).append((_single, cause))
    columns = ("cause", "board.CPUs.engine", "size", "runs", "episodes", "called and first",
               "windows right", "share inside", "unexplained", "p95")  # fmt: skip
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for (name, rig, size), some in sorted(groups.items()):
        causes = [cause for _, cause in some]
        bounded = [
            (cause.share, found)
            for mark, cause in some
            if cause.share is not None and (found := cause.interval(mark.shares)) is not None
        ]
        windows = Count(sum(c.windows_right for c in causes), sum(c.windows for c in causes))
        inside = Count.of_all(low <= share <= high for share, (low, high) in bounded)
        cells = [
            name, rig, f"{size:g}×" if size else "own", str(len(some)),
            f"{_mean(some, lambda m: m.episodes):.0f}",
            _of(Count.of_all(_is_first(m, c) for m, c in some)),
            f"{100 * windows.rate:.0f} % of {windows.of}" if windows.of else "–",
            _of(inside) if bounded else "–",
            f"{100 * max(m.unexplained for m, _ in some):.1f} %",
            f"{100 * max(m.unexplained_p95 for m, _ in some):.1f} %",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _of(count: Count) -> str:
    return f"{count.good} of {count.of}"


def _mean(some: Sequence[tuple[Marked, TrueFault]], value: Callable[[Marked], float]) -> float:
    return sum(value(mark) for mark, _ in some) / len(some)


def _confusion(marked: Sequence[Marked]) -> str:
    """Return a row for each injected cause, at the demanded sizes, and a column for each answer."""
    rows: dict[str, Counter[str]] = {}
    right: dict[str, set[str]] = {}
    for mark in marked:
        if len(mark.causes) > 1 or (mark.causes and mark.size == 0.5):
            continue
        name = mark.causes[0].name if mark.causes else "(clean)"
        if mark.causes and not mark.causes[0].expected:
            name += " (makes nothing late)"
        elif mark.causes and not mark.causes[0].is_findable:
            name += " (acted in no late activation)"
        answer = mark.significant[0].cause if mark.significant else NOTHING
        if mark.causes and mark.causes[0].place == 0:
            right.setdefault(name, set()).add(answer)
        rows.setdefault(name, Counter())[answer] += 1
    columns = sorted({answer for row in rows.values() for answer in row})
    lines = ["| injected | " + " | ".join(columns) + " |", "|---" * (1 + len(columns)) + "|"]
    for name, row in sorted(rows.items()):
        cells = [
            (f"**{row[c]}**" if c in right.get(name, set()) else str(row[c])) if row[c] else ""
            for c in columns
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
