"""Clocks and timers: what time is read from, and what raises timer interrupts."""

from __future__ import annotations

from collections.abc import Iterator

from whylate.boards.facts.reading import Files, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromFile, FromProbe, Source
from whylate.recording.manifest import Fact

_SOURCE = "/sys/devices/system/clocksource/clocksource0"
_EVENTS = "/sys/devices/system/clockevents"
_BROADCAST = FromFile("clock_broadcast_device", f"{_EVENTS}/broadcast/current_device", 64)


def _event_devices(files: Files) -> Iterator[Fact]:
    source = f"{_EVENTS}/clockevent*/current_device"
    if devices := {text for _, path in files.match(source) if (text := files.text(path))}:
        yield make_fact("clock_event_devices", sorted(devices), source)
    if files.text(_BROADCAST.path):
        yield from _BROADCAST.facts(files)


CLOCKS: tuple[Source, ...] = (
    FromFile("clock_source", f"{_SOURCE}/current_clocksource", 64),
    FromFile("clock_sources_available", f"{_SOURCE}/available_clocksource", 256, str.split),
    Derived(
        _event_devices,
        (FileRequest(f"{_EVENTS}/clockevent[0-9]*/current_device", 64), *_BROADCAST.requests),
    ),
    FromFile("timer_migration", "/proc/sys/kernel/timer_migration", 16, integer),
    FromProbe(
        "clock_resolution_ns", lambda p: p.clock_resolution_ns, "clock_getres(CLOCK_MONOTONIC)"
    ),
    FromProbe("clock_read_ns", lambda p: p.clock_read_ns, "timed by the probe"),
)
