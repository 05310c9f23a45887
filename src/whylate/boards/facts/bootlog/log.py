"""A kernel log as lines with their times, from its last boot on, and rows for tables of facts.

Two formats come in: that of syslog(2) ("<6>[    0.000000] text") and that of a console (the same
without the level, after the boot loader's output, and perhaps with several boots).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from whylate.boards.facts.reading import LIST_LIMIT, make_fact
from whylate.recording.manifest import Fact, FactValue
from whylate.text import clean

#: Lines of one boot that are examined, and characters of each. A PC with many CPUs prints some
#: 3,000 lines until its init starts.
LINE_LIMIT = 16_384
LENGTH_LIMIT = 2048

# Level, time, and with CONFIG_PRINTK_CALLER the thread or CPU that printed. Logs copied from mails
# have no-break spaces.
_BLANKS = r"[\s\xa0]{0,80}"
_LINE = re.compile(
    rf"{_BLANKS}(?:<\d{{1,4}}>)?"
    rf"(?:\[{_BLANKS}(\d{{1,9}}\.\d{{1,9}})\]\s?)?"
    rf"(?:\[{_BLANKS}[TC]\d{{1,10}}\]\s?)?(.*)",
    re.ASCII | re.DOTALL,
)
_BANNER = re.compile(r"Linux version \d")
_FIRST_WORD = "Booting Linux on "
#: The banner comes at the very start; a later one is /proc/version, printed again.
_BANNER_BEFORE_S = 5.0


@dataclass(frozen=True)
class LogLine:
    """One line: seconds since boot where the kernel prints them, and its text."""

    time_s: float | None
    text: str

    @property
    def at(self) -> str:
        """The time, to follow a text; "" where the kernel prints none."""
        return "" if self.time_s is None else f" at {self.time_s:.6f} s"

    @property
    def shown(self) -> str:
        """The line as the kernel's log shows it, clean and bounded."""
        time = "" if self.time_s is None else f"[{self.time_s:12.6f}] "
        return clean(time + self.text)


@dataclass(frozen=True)
class BootLog:
    """The lines of one boot, and where they were read ("kernel log", "console.log")."""

    lines: Sequence[LogLine]
    source: str
    #: The kernel's first lines are there: nothing was lost before the rest.
    has_start: bool

    def all(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], LogLine]]:
        """Yield every line whose beginning matches, in order."""
        for line in self.lines:
            match = pattern.match(line.text)
            if match is not None:
                yield match, line

    def first(self, pattern: re.Pattern[str]) -> tuple[re.Match[str], LogLine] | None:
        """Return the first line whose beginning matches, or None."""
        return next(self.all(pattern), None)

    def fact(
        self, name: str, value: FactValue, *lines: LogLine, note: str = "", limit: int = LIST_LIMIT
    ) -> Fact:
        """Return a fact whose source is the line, or the lines, that it was read from."""
        shown = " / ".join(line.shown for line in lines)
        note = f" ({note})" if note else ""
        # A note is kept, whatever the length of the line.
        return make_fact(name, value, f"{clean(f'{self.source}: {shown}', 300)}{note}", limit)


def parse(lines: Iterable[str], source: str) -> BootLog:
    """Return the last boot in some lines; all of them where no boot begins there."""
    kept: list[LogLine] = []
    has_start = timed = False
    previous: LogLine | None = None
    for raw in lines:
        line = _line(raw)
        if _begins_a_boot(line, timed):
            # Some architectures print one line before the banner.
            first = previous is not None and previous.text.startswith(_FIRST_WORD)
            kept = [previous] if previous is not None and first else []
            has_start, timed = True, line.time_s is not None
        timed = timed or line.time_s is not None
        if len(kept) < LINE_LIMIT:
            kept.append(line)
        previous = line
    return BootLog(tuple(kept), clean(source, 80), has_start)


def _line(raw: str) -> LogLine:
    match = _LINE.match(raw[:LENGTH_LIMIT])
    if match is None:
        return LogLine(None, "")
    time, text = match.groups()
    return LogLine(None if time is None else float(time), text.rstrip())


def _begins_a_boot(line: LogLine, timed: bool) -> bool:
    if _BANNER.match(line.text) is None:
        return False
    return not timed if line.time_s is None else line.time_s < _BANNER_BEFORE_S


class Row(Protocol):
    """One row of a table of facts."""

    def facts(self, log: BootLog) -> Iterable[Fact]:
        """Return the facts, [] where no line matches."""


@dataclass(frozen=True)
class FirstLine:
    """Facts of the first line that matches: of each the name, the group and the group's parser."""

    pattern: re.Pattern[str]
    fields: tuple[tuple[str, int, Callable[[str], FactValue]], ...]

    def facts(self, log: BootLog) -> Iterator[Fact]:
        """Yield a fact for each group that took part in the match."""
        if (first := log.first(self.pattern)) is not None:
            match, line = first
            for name, group, parse in self.fields:
                if match[group] is not None:
                    yield log.fact(name, parse(match[group]), line)


@dataclass(frozen=True)
class EveryLine:
    """The fact that lists a text of every line that matches, its first group by default.

    `sources`: how many of the lines are shown as source.
    """

    name: str
    pattern: re.Pattern[str]
    sources: int = 1
    text: Callable[[LogLine, re.Match[str]], str] | None = None
    unique: bool = False

    def facts(self, log: BootLog) -> Iterator[Fact]:
        """Yield the fact."""
        if matches := list(log.all(self.pattern)):
            text = self.text or (lambda _, match: str(match[1]))
            texts = [text(line, match) for match, line in matches]
            texts = list(dict.fromkeys(texts)) if self.unique else texts
            yield log.fact(self.name, texts, *(line for _, line in matches[: self.sources]))


@dataclass(frozen=True)
class Derived:
    """Facts that a function makes of the log."""

    facts: Callable[[BootLog], Iterable[Fact]]
