"""Find crashes on a console: what the kernel printed of what went wrong, and where.

Pure functions on text. Consoles are noisy: time stamps, log levels, colours, carriage returns and
half a shell prompt before a message are taken off; lines of other CPUs between its lines are no
harm. A program that crashed is a kind of its own: the kernel goes on.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from whylate.recording.console.crash_signs import MAY_BEGIN, SIGNS, Kind
from whylate.recording.console.escapes import without_escapes
from whylate.recording.console.program_crashes import program_crash

#: After one of these a measurement is worth nothing. "out of memory" and "program crash" only where
#: they hit the probe.
FATAL: frozenset[Kind] = frozenset(
    {"panic", "oops", "bug", "soft lockup", "hard lockup", "rcu stall", "hung task"}
)

#: Bounds of what is kept: a console may repeat itself forever.
MAX_CRASHES = 32
#: Of each kind of program crash, beside those.
MAX_PROGRAM_CRASHES = 32
MAX_FRAMES = 64
MAX_HEADLINE = 300
MAX_FRAME = 160
#: Of a line twice as long, the beginning and the end are searched, this many characters each: a
#: message ends its line, whatever precedes it.
_MAX_LINE = 1000
#: A panic this many lines behind the last line of an oops belongs to it.
_REPORT_LINES = 150


#: The probe, as the kernel names a process in its messages.
_PROBE = re.compile(r"\bwhylate")


@dataclass(frozen=True)
class Crash:
    """One thing that went wrong on a board. Its text is printable and holds no line break."""

    kind: Kind
    #: The first line of the report, without time stamp.
    headline: str
    #: Where it was, innermost first, as the kernel printed it; empty where it did not.
    backtrace: tuple[str, ...]
    #: The line of the console's text on which the headline stands, from 1.
    line: int
    #: How many more of its sort came for which there was no place.
    more: int = 0

    @property
    def sort(self) -> str:
        """What is counted together: crashes of programs by their kind, others by theirs."""
        return _program(self) or self.kind

    @property
    def fatal(self) -> bool:
        """Whether the board, or the probe on it, cannot be trusted from here on."""
        ours = self.kind in ("out of memory", "program crash") and _PROBE.search(self.headline)
        return self.kind in FATAL or bool(ours)


_BSD_PANIC = re.compile(r"\bpanic: .+")
_BSD_NEXT = re.compile(r"^(?:cpuid = \d|time = \d|KDB: (?:stack backtrace|enter))")
_TRACE = re.compile(r"^(?:Call [Tt]race|Backtrace|KDB: stack backtrace):")
_CUT_HERE = re.compile(r"^-+\[ cut here \]-+$")
_END = re.compile(r"^-+\[ end (?:trace|Kernel panic)")
_BOOT = re.compile(r"^(?:Linux version |Booting Linux on |FreeBSD/SMP: |U-Boot )")
_CPU = re.compile(r"^CPU: \d+ (?:UID: \d+ )?PID: \d+ Comm: ")

_FRAME = re.compile(
    r"[A-Za-z_][\w.$]{0,120}\+0x[0-9a-f]{1,16}/0x[0-9a-f]{1,16}"
    r"|^[A-Za-z_]\w{0,120}\(\) at \S"
    r"|^\[<[0-9a-f]{8,16}>\] \("
    r"|^[A-Za-z_]\w{0,120} from \w"
)

_STAMP = re.compile(
    r"(?:<\d{1,2}>)?\[ {0,10}\d{1,10}\.\d{1,9}\](?:\[ {0,10}[TC]\d{1,10}\])? ?"
    r"|^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ?"  # dmesg -T
    r"|(?:^| )kernel: (?:\[ {0,10}\d{1,10}\.\d{1,9}\] ?)?"
)
_LEVEL = re.compile(r"^<\d{1,2}>")
_TIMES = re.compile(r"\d+(?:s\b| seconds| jiffies)|:\d+(?=\])")


def find_crashes(console: str | bytes) -> tuple[Crash, ...]:
    """Return what went wrong according to a console, in the order in which it was printed.

    At most MAX_CRASHES; where there are more, those that are fatal. Crashes of programs have
    places of their own, MAX_PROGRAM_CRASHES of each kind. The last one of a sort has the number of
    those that got no place. Takes time in proportion to the text. Never raises for any text.
    """
    if isinstance(console, bytes):
        console = console.decode("utf-8", "backslashreplace")
    finder = CrashFinder()
    finder.feed_text(console)
    return finder.finish()


class CrashFinder:
    """find_crashes() for a console that comes in pieces, in bounded memory."""

    def __init__(self) -> None:
        self._reader = _Reader()
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._line = 1
        #: What came of a message that has not ended.
        self._partial = ""

    def feed(self, data: bytes) -> None:
        """Add what was printed next."""
        self.feed_text(self._decoder.decode(data))

    def feed_text(self, text: str) -> None:
        """Add what was printed next."""
        *lines, last = (self._partial + text).split("\n")
        for line in lines:
            # The text before a carriage return may be the half line of another writer.
            self._read(line.split("\r"))
            self._line += 1
        *parts, rest = last.split("\r")
        self._read(parts)
        if len(rest) > 4 * _MAX_LINE:
            rest = rest[: 2 * _MAX_LINE] + rest[-2 * _MAX_LINE :]
        self._partial = rest

    def crashes(self) -> tuple[Crash, ...]:
        """Return the crashes in the lines that have ended."""
        return tuple(self._reader.crashes())

    def finish(self) -> tuple[Crash, ...]:
        """Return all crashes; nothing more comes."""
        self.feed_text(self._decoder.decode(b"", final=True) + "\n")
        return self.crashes()

    def _read(self, parts: Iterable[str]) -> None:
        for part in parts:
            for piece in _looked_at(part):
                if message := _message(piece):
                    self._reader.add_line(self._line, message)


@dataclass(eq=False)
class _Report:
    """A crash while its lines come in."""

    crash: Crash
    frames: list[str]
    #: The last line that belonged to it.
    until: int
    #: Whether the kernel has drawn a line under its report.
    ended: bool = False
    #: Whether it is printed again: its frames are known.
    repeated: bool = False
    #: The sort with which it is counted while it has no place.
    counted_as: str | None = None


class _Reader:
    """Puts the lines of a console together into reports.

    An event is one report, though the kernel may print several messages of it:

    - within a report, until the kernel ends it ("---[ end trace"), a further sign of an oops
      or a bug is a part of it ("BUG: unable to handle", then "Oops: 0000"; or another CPU that
      fell over the same);
    - a panic soon after a fatal report is the end of it: the report becomes a panic and keeps its
      headline and backtrace, which show what went wrong. After a warning only a panic by
      panic_on_warn is;
    - "invoked oom-killer" and the process it killed are one report, named after the process;
    - a repeated message ("stuck for 22s", "stuck for 48s") is the same report.

    A boot ends every report.
    """

    def __init__(self) -> None:
        self._reports: list[_Report] = []
        self._open: _Report | None = None
        #: Crashes of programs, by their kind.
        self._of_programs: defaultdict[str, list[_Report]] = defaultdict(list)
        #: How many got no place, by sort.
        self._more: Counter[str] = Counter()
        #: By whose places they take: the fatal ones have their own.
        self._known: defaultdict[str, dict[tuple[Kind, str], _Report]] = defaultdict(dict)
        #: The messages before this one, latest last: some reports begin with their reason.
        self._before: list[tuple[int, str]] = []
        #: A "panic:" that is FreeBSD's if the next lines look like it.
        self._bsd: tuple[int, str] | None = None

    def add_line(self, number: int, message: str) -> None:
        """Add the next line, without its prefixes."""
        self._forget(number, message)
        sign = _sign(message)
        if self._bsd is not None and _BSD_NEXT.search(message):
            at, headline = self._bsd
            self._bsd = None
            self._begin("panic", headline, at, number)
        elif sign is not None:
            self._begin(sign[0], sign[1], number, number)
        elif _TRACE.search(message):
            self._trace(number)
        elif (bsd := _BSD_PANIC.search(message)) is not None:
            self._bsd = number, bsd[0]
        if self._open is not None and not self._open.ended:
            self._go_on(self._open, number, message)
        self._before = [*self._before[-2:], (number, message)]

    def crashes(self) -> Iterator[Crash]:
        """Yield the crashes in the order in which they were printed."""
        # A report may be kept only after later ones have begun.
        kept = sorted(
            chain(self._reports, *self._of_programs.values()), key=lambda report: report.crash.line
        )
        last = {report.crash.sort: report for report in kept}
        for report in kept:
            sort = report.crash.sort
            more = self._more[sort] if last[sort] is report else 0
            yield replace(report.crash, backtrace=tuple(report.frames), more=more)

    def _forget(self, number: int, message: str) -> None:
        """Close what can have nothing more to come."""
        if self._open is not None and (
            _BOOT.search(message) or number - self._open.until > _REPORT_LINES
        ):
            self._open = None
        if self._bsd is not None and number - self._bsd[0] > 8:
            self._bsd = None

    def _begin(self, kind: Kind, headline: str, line: int, number: int) -> None:
        last = self._open
        if kind != "program crash" and last is not None and self._belongs(last, kind, headline):
            last.until = number
            if kind == "out of memory":
                last.crash = replace(last.crash, headline=_plain(headline, MAX_HEADLINE))
                last.ended = True
                self._keep(last)
            elif kind == "panic" and last.crash.kind != "panic":
                both = f"{last.crash.headline}; then {headline}"
                last.crash = replace(last.crash, kind="panic", headline=_plain(both, MAX_HEADLINE))
                self._keep(last)
            return
        if kind in {"warning", "bug"}:
            headline = self._with_reason(headline)
        key = kind, _TIMES.sub("#", headline)
        crash = Crash(kind, _plain(headline, MAX_HEADLINE), (), line)
        program = _program(crash)
        known = self._known["fatal" if crash.fatal else program or "harmless"]
        again = known.get(key)
        if again is not None:
            # Nothing new, but a panic may follow.
            if kind != "program crash":
                again.until, again.ended, again.repeated = number, False, True
                self._open = again
            return
        # Where the console shows errors only, the line that invoked the killer is missing.
        killed = kind == "out of memory" and "invoked oom" not in headline
        report = _Report(crash, [], number, ended=killed)
        if kind != "program crash":
            # A program's crash is one line, which may stand within a report of the kernel's.
            self._open = report
        self._keep(report)
        # Each process that is killed for memory is a new report.
        if len(known) < MAX_CRASHES and kind != "out of memory":
            known[key] = report

    def _keep(self, report: _Report) -> None:
        """Keep a report where there is room, and count it otherwise."""
        program = _program(report.crash)
        if report in self._reports or any(report in kept for kept in self._of_programs.values()):
            return
        if report.counted_as is not None:
            # It may get a place after all, since it turned out to be fatal.
            self._more[report.counted_as] -= 1
            report.counted_as = None
        if program is None:
            self._keep_among_all(report)
        elif len(self._of_programs[program]) < MAX_PROGRAM_CRASHES:
            self._of_programs[program].append(report)
        else:
            self._count(report)

    def _keep_among_all(self, report: _Report) -> None:
        """Keep a report as long as there is room; the last place is for a panic.

        A fatal report replaces the oldest that is not: many warnings do not hide a lockup after
        them.
        """
        if len(self._reports) >= MAX_CRASHES - (report.crash.kind != "panic"):
            harmless = next((report for report in self._reports if not report.crash.fatal), None)
            if harmless is None or not report.crash.fatal:
                self._count(report)
                return
            self._reports.remove(harmless)
            self._count(harmless)
        self._reports.append(report)

    def _count(self, report: _Report) -> None:
        report.counted_as = report.crash.sort
        self._more[report.counted_as] += 1

    def _belongs(self, last: _Report, kind: Kind, headline: str) -> bool:
        if kind == "panic":
            return last.crash.fatal or "panic_on_warn" in headline
        if kind == "out of memory":
            # The process that ran out of memory, and many lines later the one that was killed.
            return last.crash.kind == kind and not last.ended and "invoked oom" not in headline
        return not last.ended and (
            (kind in {"oops", "bug"} and last.crash.kind in {"oops", "bug", "panic"})
            or (kind == last.crash.kind == "rcu stall")
        )

    def _with_reason(self, headline: str) -> str:
        """Prepend the reason, which stands between "cut here" and the headline."""
        if len(self._before) >= 2 and _CUT_HERE.search(self._before[-2][1]):
            return f"{self._before[-1][1]}: {headline}"
        return headline

    def _trace(self, number: int) -> None:
        """Begin a report for a call trace that belongs to none."""
        if self._open is not None and not self._open.ended:
            return
        # dump_stack() prints the CPU and the hardware; the reason is in the line before.
        reason = ""
        for at, (_, message) in enumerate(self._before):
            if at and _CPU.search(message):
                reason = self._before[at - 1][1]
        self._begin("call trace", reason or "a call trace without a reason", number, number)

    def _go_on(self, report: _Report, number: int, message: str) -> None:
        if _END.search(message):
            report.ended = True
        elif _FRAME.search(message) and not _is_headline(message):
            report.until = number
            if len(report.frames) < MAX_FRAMES and not report.repeated:
                report.frames.append(_plain(message.strip(), MAX_FRAME))
        elif _TRACE.search(message) or _CPU.search(message):
            report.until = number


def _program(crash: Crash) -> str | None:
    """Return the kind of a program's crash; None of what takes a place of the kernel's."""
    return None if crash.fatal else program_crash(crash.kind, crash.headline)


def _sign(message: str) -> tuple[Kind, str] | None:
    """Return what a message begins, and its headline; None for most."""
    if not MAY_BEGIN.search(message):
        return None
    for kind, pattern in SIGNS:
        match = pattern.search(message)
        if match:
            return kind, match[0]
    return None


def _is_headline(message: str) -> bool:
    """Whether a line names a function without being a frame."""
    return _sign(message) is not None


def _looked_at(part: str) -> tuple[str, ...]:
    """Return the parts of a line that are searched."""
    if len(part) <= 2 * _MAX_LINE:
        return (part,)
    return part[:_MAX_LINE], part[-_MAX_LINE:]


def _message(line: str) -> str:
    """Return the kernel's message in a line."""
    line = without_escapes(line)
    match = _STAMP.search(line)
    if match:
        line = line[match.end() :]
    return _LEVEL.sub("", line.strip())


def _plain(text: str, limit: int) -> str:
    """Return text in which nothing acts: what is not printable becomes visible."""
    shown = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in text[: limit + 1]
    )
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
