"""A kernel log as lines with their times, from the last boot in it on.

Two shapes come in: what syslog(2) gives ("<6>[    0.000000] text") and what a console shows (the
same without the level, after the boot loader's own words, and perhaps boot upon boot).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from whylate.boards.facts.reading import LIST_LIMIT, clean, make_fact
from whylate.recording.manifest import Fact, FactValue

#: Lines of one boot that are looked at, and characters of each. A PC of many CPUs says some
#: 3,000 lines until its init starts.
LINE_LIMIT = 16_384
LENGTH_LIMIT = 2048

# Level, time, and with CONFIG_PRINTK_CALLER the thread or CPU that spoke. Logs out of mails have
# no-break spaces.
_BLANKS = r"[\s\xa0]{0,80}"
_LINE = re.compile(
    rf"{_BLANKS}(?:<\d{{1,4}}>)?"
    rf"(?:\[{_BLANKS}(\d{{1,9}}\.\d{{1,9}})\]\s?)?"
    rf"(?:\[{_BLANKS}[TC]\d{{1,10}}\]\s?)?(.*)",
    re.ASCII | re.DOTALL,
)
_BANNER = re.compile(r"Linux version \d")
_FIRST_WORD = "Booting Linux on "
#: The banner comes at the very start; a later one is /proc/version read aloud.
_BANNER_BEFORE_S = 5.0


@dataclass(frozen=True)
class LogLine:
    """One line: seconds since boot where the kernel says them, its text, and how to show it."""

    time_s: float | None
    text: str

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
    #: The kernel's first words are there: nothing has been lost before what follows.
    has_start: bool

    def all(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], LogLine]]:
        """Every line whose beginning matches, in order."""
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
        # What was not understood has to keep its note, whatever the length of the line.
        return make_fact(name, value, f"{clean(f'{self.source}: {shown}', 300)}{note}", limit)


def parse(lines: Iterable[str], source: str) -> BootLog:
    """Return the last boot in some lines; all of them where no boot begins there."""
    kept: list[LogLine] = []
    has_start = timed = False
    previous: LogLine | None = None
    for raw in lines:
        line = _line(raw)
        if _begins_a_boot(line, timed):
            # Some architectures say one line before the banner.
            said = previous is not None and previous.text.startswith(_FIRST_WORD)
            kept = [previous] if previous is not None and said else []
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
