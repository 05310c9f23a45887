"""What is seen of a board from beside, as the terminal, the page and --json show it.

All text is plain (whylate.text.plain): one line, no control characters.
"""

from __future__ import annotations

from typing import Literal

import msgspec

PowerState = Literal["on", "off", "unknown"]
#: Whether a line begins the report of a crash, or of one that is fatal.
CrashMark = Literal["no", "crash", "fatal"]


class Line(msgspec.Struct, frozen=True):
    """A line of a console. crash: whether it begins the report of one."""

    text: str
    crash: CrashMark = "no"


class ConsoleView(msgspec.Struct, frozen=True):
    """The end of a board's console.

    skipped_bytes: printed faster than it is read here, or before the watch began: neither shown nor
    searched for crashes. crashes: the headlines of the latest ones in what was read, of fatal ones
    rather than others.
    """

    lines: list[Line]
    crashes: list[str]
    skipped_bytes: int


class Quantile(msgspec.Struct, frozen=True):
    """A figure of the run so far beside that of the previous run; ns. None: not known.

    Percentiles are known to 1 %, the maximum exactly. at_least: an overrun is among what the figure
    counts, so that it is a lower bound.
    """

    name: str
    now_ns: int | None
    before_ns: int | None
    now_at_least: bool = False
    before_at_least: bool = False


class RunView(msgspec.Struct, frozen=True):
    """A run in progress.

    planned_s: None where its plan has no duration. unread: the part of the journal that has not
    been read yet, 0 to 1: figures are of the rest. figures: none of a benchmark. before: what the
    figures of the previous run are of, or why there are none.
    """

    recording: str
    workload: str
    loads: list[str]
    elapsed_s: float
    planned_s: float | None
    seen: int
    overruns: int
    repetitions: int
    unread: float
    figures: list[Quantile]
    before: str


class LastRun(msgspec.Struct, frozen=True):
    """The latest finished run. result: "complete", or what was wrong with it, in a few words."""

    recording: str
    created: str
    result: str
    sound: bool


class UseView(msgspec.Struct, frozen=True):
    """Who uses a board. command: the verb and its arguments; "" where they are not known."""

    holder: str
    command: str
    since: str


class BoardView(msgspec.Struct, frozen=True):
    """A board. seen: when a whylate of this user last did anything with it, ISO 8601."""

    name: str
    power: PowerState
    power_note: str
    uses: list[UseView]
    image: str
    seen: str
    console: ConsoleView | None
    run: RunView | None
    last: LastRun | None
    temperature: str
    frequency: str
