"""Memory: its size, and the kernel's background work on it. Clocks and timers."""

from __future__ import annotations

from collections.abc import Iterator

from whylate.boards.facts.reading import Files, chosen, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromFile, FromProbe, Source
from whylate.recording.manifest import Fact

MEMINFO = "/proc/meminfo"
SWAPS = "/proc/swaps"
_THP = "/sys/kernel/mm/transparent_hugepage"

#: Keys of /proc/meminfo, the fact, and the bytes in one unit.
_SIZES = (
    ("MemTotal", "memory_total_bytes", 1024),
    ("MemAvailable", "memory_available_bytes", 1024),
    ("SwapTotal", "swap_total_bytes", 1024),
    ("SwapFree", "swap_free_bytes", 1024),
    ("Hugepagesize", "huge_page_bytes", 1024),
    ("HugePages_Total", "huge_pages", 1),
)


def _sizes(files: Files) -> Iterator[Fact]:
    numbers: dict[str, int] = {}
    for line in files.lines(MEMINFO):
        key, _, rest = line.partition(":")
        value = integer(rest.strip().partition(" ")[0])
        if value is not None and 0 <= value < 2**50:
            numbers[key.strip()] = value
    for key, name, unit in _SIZES:
        if key in numbers:
            yield make_fact(name, numbers[key] * unit, MEMINFO)


def _swap_areas(files: Files) -> Iterator[Fact]:
    if files.data(SWAPS) is not None:
        areas = [line.split()[0] for line in files.lines(SWAPS)[1:] if line.split()]
        yield make_fact("swap_areas", areas, SWAPS)


MEMORY: tuple[Source, ...] = (
    Derived(_sizes, (FileRequest(MEMINFO, 4096),)),
    Derived(_swap_areas, (FileRequest(SWAPS, 1024),)),
    FromFile("transparent_hugepage", f"{_THP}/enabled", 64, chosen),
    FromFile("transparent_hugepage_defrag", f"{_THP}/defrag", 64, chosen),
    FromFile("khugepaged_defrag", f"{_THP}/khugepaged/defrag", 16, integer),
    FromFile("ksm", "/sys/kernel/mm/ksm/run", 16, integer),
    FromFile("numa_balancing", "/proc/sys/kernel/numa_balancing", 16, integer),
    FromFile("vm_swappiness", "/proc/sys/vm/swappiness", 16, integer),
    FromFile("vm_stat_interval", "/proc/sys/vm/stat_interval", 16, integer),
    FromFile("vm_compaction_proactiveness", "/proc/sys/vm/compaction_proactiveness", 16, integer),
    FromFile("vm_zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode", 16, integer),
)


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
