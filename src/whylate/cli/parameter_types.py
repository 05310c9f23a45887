"""Types of the command line: durations, CPU lists, loads, settings, requirements, lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from whylate.files import check_new_path
from whylate.quantities import parse_ns
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_count
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.recording.plan import LoadPlan, Setting
    from whylate.summary.requirements import RateLimit

_T = TypeVar("_T")
_CPUS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_MAX_CPU = 65535
_SETTING_ROOTS = ("/proc/sys/", "/proc/irq/", "/sys/")
#: The model is evaluated thread by thread.
_MAX_PREDICTED = 10_000


class Parsed(click.ParamType[_T]):
    """A type that a function parses; the function raises ValueError or RequestError."""

    def __init__(self, name: str, parse: Callable[[str], _T]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> _T:
        """Return what the text means; a default that is no text is returned as it is."""
        if not isinstance(value, str):
            return value  # type: ignore[return-value]
        try:
            return self._parse(value)
        except (ValueError, RequestError) as error:
            self.fail(str(error), param, ctx)


class NewPath(click.ParamType[Path]):
    """The name of something that is made: it is checked before anything is measured."""

    name = "path"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path."""
        path = Path(str(value))
        try:
            check_new_path(path)
        except OSError as error:
            shown_path = plain(str(path), 80)
            self.fail(f"{shown_path} cannot be created: {error.strerror}", param, ctx)
        return path


class CommaList(Parsed[tuple[_T, ...]]):
    """A list with commas between its words, each kept once; `word` returns None for an invalid one.

    example: a valid list, for the message.
    """

    def __init__(self, name: str, word: Callable[[str], _T | None], example: str) -> None:
        super().__init__(name, self._parse_words)
        self._word = word
        self._example = example

    def _parse_words(self, text: str) -> tuple[_T, ...]:
        values: dict[_T, None] = {}
        for word in text.split(","):
            value = self._word(word.strip())
            if value is None:
                raise ValueError(f"{word[:40]!r}: write it like {self._example}")
            values[value] = None
        return tuple(values)


def _parse_duration(text: str) -> int:
    ns = parse_ns(text, latency=False)
    if ns is None:
        raise ValueError(
            f"{text[:40]!r} is no time above zero in whole nanoseconds: write it like 30s, 1ms, "
            "250us or 8h"
        )
    return ns


def _parse_cpus(text: str) -> tuple[int, ...]:
    cpus: list[int] = []
    for part in text.split(","):
        match = _CPUS.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2]) if match and match[2] else first
        if match is None or last < first or last > _MAX_CPU:
            raise ValueError(f"{text!r} is no list of CPUs: write it like 0,1 or 0-3,8")
        cpus.extend(range(first, last + 1))
    return tuple(cpus)


def _parse_load(text: str) -> LoadPlan:
    from whylate.run.loads import parse_load

    return parse_load(text)


def _parse_setting(text: str) -> Setting:
    from whylate.recording.plan import THREADS, Setting
    from whylate.run.knobs.files import threads_setting

    if text.startswith(THREADS):
        # The name of a thread may have any character.
        name, _, priority = text.rpartition("=")
        return threads_setting(name.removeprefix(THREADS), priority)
    path, equals, value = text.partition("=")
    if not equals or not value or not path.startswith(_SETTING_ROOTS) or "/../" in path:
        raise ValueError(
            f"{text!r}: write PATH=VALUE with a path under {', '.join(_SETTING_ROOTS)}, or "
            f"{THREADS}NAME=N"
        )
    return Setting(path, value)


def _check_requirement(text: str) -> str:
    from whylate.summary.requirements import parse_requirement

    parse_requirement(text)
    return text


def _parse_claim(text: str) -> RateLimit:
    from whylate.summary.requirements import RateLimit, parse_requirement

    claim = parse_requirement(text)
    if not isinstance(claim, RateLimit):
        raise ValueError(f"{text!r} is no rate: write it like over(200us)<1/1h")
    return claim


def _parse_predicted(text: str) -> int | None:
    number = parse_count(text)
    return number if number is not None and 1 <= number <= _MAX_PREDICTED else None


#: In whole nanoseconds.
DURATION = Parsed("time", _parse_duration)
#: Their numbers, in the order given.
CPUS = Parsed("cpus", _parse_cpus)
LOAD = Parsed("load", _parse_load)
#: A file under /proc/sys, /proc/irq or /sys, and its value for the run; or a priority of threads.
SETTING = Parsed("path=value", _parse_setting)
#: Checked here, and kept as it was written.
REQUIREMENT = Parsed("limit", _check_requirement)
#: A rate: over(200us)<1/1h.
CLAIM = Parsed("over(time)<1/time", _parse_claim)
#: Numbers of threads.
PREDICTED = CommaList("numbers", _parse_predicted, f"72,240, up to {_MAX_PREDICTED}")
