"""Clocks and timers: what time is read from, and what rings the bell."""

from __future__ import annotations

from whylate.boards.facts.reading import Files, file_fact, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts
from whylate.recording.manifest import Fact

_SOURCE = "/sys/devices/system/clocksource/clocksource0"
_EVENTS = "/sys/devices/system/clockevents"

WANTED = (
    FileRequest(f"{_SOURCE}/current_clocksource", 64),
    FileRequest(f"{_SOURCE}/available_clocksource", 256),
    FileRequest(f"{_EVENTS}/clockevent[0-9]*/current_device", 64),
    FileRequest(f"{_EVENTS}/broadcast/current_device", 64),
    FileRequest("/proc/sys/kernel/timer_migration", 16),
)


def clock_facts(files: Files, probe: ProbeFacts) -> list[Fact]:
    """Clock source, clock event devices, resolution, timer migration."""
    facts: list[Fact] = []
    facts += file_fact(files, "clock_source", f"{_SOURCE}/current_clocksource")
    available = f"{_SOURCE}/available_clocksource"
    facts += file_fact(files, "clock_sources_available", available, str.split)
    devices = {
        text
        for _, path in files.match(f"{_EVENTS}/clockevent*/current_device")
        if (text := files.text(path))
    }
    if devices:
        source = f"{_EVENTS}/clockevent*/current_device"
        facts.append(make_fact("clock_event_devices", sorted(devices), source))
    broadcast = f"{_EVENTS}/broadcast/current_device"
    if files.text(broadcast):
        facts += file_fact(files, "clock_broadcast_device", broadcast)
    facts += file_fact(files, "timer_migration", "/proc/sys/kernel/timer_migration", integer)
    for name, value, how in (
        ("clock_resolution_ns", probe.clock_resolution_ns, "clock_getres(CLOCK_MONOTONIC)"),
        ("clock_read_ns", probe.clock_read_ns, "timed by the probe"),
    ):
        if value is not None:
            facts.append(make_fact(name, value, how))
    return facts
