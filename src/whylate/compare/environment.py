"""What two sides ran on: the clock of the CPUs, their temperature, the kernel, its command line.

Compared at every comparison, from the facts of each run. A CPU that runs 3 % faster makes all
times 3 % shorter, and would be taken for the effect of what is studied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from statistics import median

import msgspec

from whylate.compare.model import EnvironmentRow
from whylate.compare.run_environment import Environment
from whylate.compare.runs import Arm, Run
from whylate.compare.words import percent_text

CLOCK, TEMPERATURE = "CPU clock", "temperature"
KERNEL, COMMAND_LINE = "kernel release", "kernel command line"
#: What a comparison may be about, by the words of --studied.
STUDIED = {
    "clock": CLOCK, "temperature": TEMPERATURE, "kernel": KERNEL, "command-line": COMMAND_LINE
}  # fmt: skip
#: Clocks that differ by more than this part differ.
CLOCK_PART = 0.01
#: Temperatures that differ by more than this differ: sensors are read in steps of 1 °C or so, and
#: a CPU moves by some degrees within seconds.
DEGREES = 5.0
#: Words of a command line that are listed.
_WORDS = 4


def compare_environments(first: Arm, second: Arm, studied: Collection[str]) -> list[EnvironmentRow]:
    """Return a row for each part of the environment; none for runs of other tools.

    studied: parts that differ on purpose. In virtual time a clock is no clock.
    """
    runs = [*first.runs, *second.runs]
    if not any(run.environment is not None for run in runs):
        return []
    rows = [
        _numbers(
            CLOCK, "MHz", first, second, lambda run: _environment(run).clock_mhz, _clocks_differ
        ),
        _numbers(
            TEMPERATURE,
            "°C",
            first,
            second,
            lambda run: _environment(run).temperature_c,
            _degrees_differ,
        ),
        _texts(KERNEL, first, second, lambda run: _environment(run).kernel),
        _texts(COMMAND_LINE, first, second, _command_line),
    ]
    if all(run.repeats for run in runs):
        rows = rows[2:]
    return [msgspec.structs.replace(row, studied=row.name in studied) for row in rows]


def _environment(run: Run) -> Environment:
    return run.environment if run.environment is not None else Environment()


def _command_line(run: Run) -> str | None:
    words = _environment(run).command_line
    return None if words is None else " ".join(words)


def _clocks_differ(first: float, second: float) -> bool:
    return abs(second / first - 1) > CLOCK_PART if first > 0 else second > 0


def _degrees_differ(first: float, second: float) -> bool:
    return abs(second - first) > DEGREES


def _numbers(
    name: str,
    unit: str,
    first: Arm,
    second: Arm,
    value_of: Callable[[Run], float | None],
    differ: Callable[[float, float], bool],
) -> EnvironmentRow:
    """Compare the medians over runs; text: with the range of each side's runs."""
    sides = [
        [value for run in arm.runs if (value := value_of(run)) is not None]
        for arm in (first, second)
    ]
    ours, theirs = (median(known) if known else None for known in sides)
    shown = _amount(ours, unit), _amount(theirs, unit)
    if ours is None or theirs is None:
        return EnvironmentRow(name, *shown, None)
    if not differ(ours, theirs):
        return EnvironmentRow(name, *shown, False)
    change = f" ({percent_text(theirs / ours)})" if unit == "MHz" and ours > 0 else ""
    text = f"{name}: {_ranged(sides[0], unit)} in A and {_ranged(sides[1], unit)} in B{change}"
    if max(map(min, sides)) <= min(map(max, sides)) and max(map(len, sides)) > 1:
        text += ", where single runs overlap"
    return EnvironmentRow(name, *shown, True, text)


def _ranged(values: Sequence[float], unit: str) -> str:
    """Write the median, and the range where it is more than that."""
    low, high = _amount(min(values), unit), _amount(max(values), unit)
    spread = "" if low == high else f" ({low} … {high})"
    return f"{_amount(median(values), unit)}{spread}"


def _amount(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:,.{0 if unit == 'MHz' else 1}f} {unit}"


def _texts(
    name: str, first: Arm, second: Arm, text_of: Callable[[Run], str | None]
) -> EnvironmentRow:
    """Compare texts: all that each side has."""
    sides = [list(dict.fromkeys(text_of(run) for run in arm.runs)) for arm in (first, second)]
    shown = [" / ".join(text or "not known" for text in side[:3]) for side in sides]
    if None in sides[0] or None in sides[1]:
        known = [None if None in side else text for side, text in zip(sides, shown, strict=True)]
        return EnvironmentRow(name, known[0], known[1], None)
    ours, theirs = ({text for text in side if text is not None} for side in sides)
    text = ""
    if ours != theirs:
        text = (
            _words_text(name, shown[0], shown[1])
            if name == COMMAND_LINE and len(ours) == len(theirs) == 1
            else f"{name}: {shown[0]} in A and {shown[1]} in B"
        )
    elif len(ours) > 1:
        text = f"{name} differs within each side: {shown[0]}"
    return EnvironmentRow(name, shown[0], shown[1], bool(text), text)


def _words_text(name: str, first: str, second: str) -> str:
    """Say which words only one of two command lines has."""
    ours, theirs = first.split(" "), second.split(" ")
    only = [
        f"{' '.join(words[:_WORDS])}{' …' if len(words) > _WORDS else ''} in {side} alone"
        for side, words in (
            ("A", [word for word in ours if word not in theirs]),
            ("B", [word for word in theirs if word not in ours]),
        )
        if words
    ]
    return f"{name}: {'; '.join(only) or 'the same words in another order'}"


def clock_warning(rows: Sequence[EnvironmentRow]) -> str | None:
    """Return the warning that belongs into a verdict: the clocks differ, and are not studied."""
    row = next((row for row in rows if row.name == CLOCK), None)
    if row is None or not row.differs or row.studied:
        return None
    return f"{row.text}: that alone makes times differ as much"


def environment_cautions(rows: Sequence[EnvironmentRow]) -> list[str]:
    """Return what else differs, and is not studied."""
    return [row.text for row in rows if row.differs and not row.studied and row.name != CLOCK]
