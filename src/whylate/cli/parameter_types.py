"""Types of the command line: durations, CPU lists, loads, settings, requirements."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from whylate.recording.plan import LoadPlan, Setting
from whylate.run.errors import RequestError
from whylate.run.loads import parse_load

if TYPE_CHECKING:
    from whylate.summary.requirements import RateLimit

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([a-zµ]+)")
_CPUS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
MAX_CPU = 65535


class Duration(click.ParamType[int]):
    """A time with its unit, as whole nanoseconds: 30s, 1ms, 250us, 1.5h."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return nanoseconds."""
        if isinstance(value, int):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        if match is None or match[2] not in _UNITS:
            self.fail(f"{value!r} is no time: write it like 30s, 1ms, 250us or 8h", param, ctx)
        ns = Decimal(match[1]) * _UNITS[match[2]]
        if ns <= 0 or ns != int(ns):
            self.fail(f"{value!r} must be above zero, in whole nanoseconds", param, ctx)
        return int(ns)


class Cpus(click.ParamType[tuple[int, ...]]):
    """A list of CPUs: 0,1 or 0-3,8."""

    name = "cpus"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the CPUs' numbers in the order given."""
        if isinstance(value, tuple):
            return value
        cpus: list[int] = []
        for part in str(value).split(","):
            match = _CPUS.fullmatch(part.strip())
            first = int(match[1]) if match else 0
            last = int(match[2]) if match and match[2] else first
            if match is None or last < first or last > MAX_CPU:
                self.fail(f"{value!r} is no list of CPUs: write it like 0,1 or 0-3,8", param, ctx)
            cpus.extend(range(first, last + 1))
        return tuple(cpus)


class Load(click.ParamType[LoadPlan]):
    """A load: memory, net:2, or cmd:COMMAND."""

    name = "load"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> LoadPlan:
        """Return the load's plan."""
        if isinstance(value, LoadPlan):
            return value
        try:
            return parse_load(str(value))
        except RequestError as error:
            self.fail(str(error), param, ctx)


class SettingType(click.ParamType[Setting]):
    """A kernel setting for the run: PATH=VALUE under /proc/sys, /proc/irq or /sys."""

    name = "path=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Setting:
        """Return the setting."""
        if isinstance(value, Setting):
            return value
        path, equals, wanted = str(value).partition("=")
        roots = ("/proc/sys/", "/proc/irq/", "/sys/")
        if not equals or not wanted or not path.startswith(roots) or "/../" in path:
            self.fail(
                f"{value!r}: write PATH=VALUE with a path under {', '.join(roots)}", param, ctx
            )
        return Setting(path, wanted)


class RequirementType(click.ParamType[str]):
    """A limit that the run must keep; only checked here, kept as it was written."""

    name = "limit"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the requirement's text."""
        from whylate.summary.requirements import RequirementError, parse_requirement

        try:
            parse_requirement(str(value))
        except RequirementError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class ClaimType(click.ParamType["RateLimit"]):
    """A claim that something is rare: over(200us)<1/1h."""

    name = "over(time)<1/time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> RateLimit:
        """Return the claim."""
        from whylate.summary.requirements import RateLimit, RequirementError, parse_requirement

        if isinstance(value, RateLimit):
            return value
        try:
            found = parse_requirement(str(value))
        except RequirementError as error:
            self.fail(str(error), param, ctx)
        if not isinstance(found, RateLimit):
            self.fail(f"{value!r} is no rate: write it like over(200us)<1/1h", param, ctx)
        return found
