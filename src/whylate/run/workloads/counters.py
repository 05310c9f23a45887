"""Events by perf's names: what perf_event_open(2) takes for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whylate.recording.workloads.benchmarks import CounterPlan

_HARDWARE, _SOFTWARE, _CACHE, _RAW = 0, 1, 3, 4
#: enum perf_hw_id and perf_sw_ids of linux/perf_event.h, with perf's own names and short ones.
_EVENTS = {
    "cycles": (_HARDWARE, 0),
    "cpu-cycles": (_HARDWARE, 0),
    "instructions": (_HARDWARE, 1),
    "cache-references": (_HARDWARE, 2),
    "cache-misses": (_HARDWARE, 3),
    "branches": (_HARDWARE, 4),
    "branch-instructions": (_HARDWARE, 4),
    "branch-misses": (_HARDWARE, 5),
    "bus-cycles": (_HARDWARE, 6),
    "stalled-cycles-frontend": (_HARDWARE, 7),
    "stalled-cycles-backend": (_HARDWARE, 8),
    "ref-cycles": (_HARDWARE, 9),
    "cpu-clock": (_SOFTWARE, 0),
    "task-clock": (_SOFTWARE, 1),
    "page-faults": (_SOFTWARE, 2),
    "faults": (_SOFTWARE, 2),
    "context-switches": (_SOFTWARE, 3),
    "cs": (_SOFTWARE, 3),
    "cpu-migrations": (_SOFTWARE, 4),
    "migrations": (_SOFTWARE, 4),
    "minor-faults": (_SOFTWARE, 5),
    "major-faults": (_SOFTWARE, 6),
    "alignment-faults": (_SOFTWARE, 7),
    "emulation-faults": (_SOFTWARE, 8),
}
#: Caches, what is done to them, and how it ended: PERF_COUNT_HW_CACHE_*.
_CACHES = {"L1-dcache": 0, "L1-icache": 1, "LLC": 2, "dTLB": 3, "iTLB": 4, "branch": 5, "node": 6}
_DONE = {
    "loads": (0, 0),
    "load-misses": (0, 1),
    "stores": (1, 0),
    "store-misses": (1, 1),
    "prefetches": (2, 0),
    "prefetch-misses": (2, 1),
}
#: Events that only some CPUs have, by their model: raw codes of the technical
#: reference manuals of the Cortex-A9, A53 and A72; and of Intel's cores from Skylake on, under the
#: names that perf has for them.
_OF_PARTS = {
    "Cortex-A9": {"icache-stall": 0x60, "dispatch-stall": 0x66, "renamed-instructions": 0x68},
    "Cortex-A53": {"icache-dependent-stall": 0xE1, "iutlb-dependent-stall": 0xE2},
    "Cortex-A72": {"icache-refill": 0x01, "icache-access": 0x14},
    "Intel": {"icache_16b.ifdata_stall": 0x0480, "icache_64b.iftag_stall": 0x0483},
}
_MODES = {"u": 1 | 4, "k": 2 | 4, "h": 1 | 2}
_NAMED = re.compile(r"([A-Za-z0-9._-]{1,60})(?::([ukh]{1,3}))?")
_RAW_CODE = re.compile(r"r([0-9a-fA-F]{1,16})")


class CounterError(ValueError):
    """An event was asked for that there is not: one line that says what to ask instead."""


def counters_named(names: Sequence[str], model: str | None) -> tuple[CounterPlan, ...]:
    """Return the events of these names; raises CounterError for one that there is not.

    Generic events, those of caches (L1-icache-load-misses) and raw codes (r60) are known, and some
    of the board's CPU by its model (the fact cpu_model; None: it is not known); behind a colon
    stands where they are counted: u in user mode, k in the kernel, h in the hypervisor.
    """
    return tuple(_counter(name, model) for name in dict.fromkeys(names))


def check_counters(names: Sequence[str]) -> None:
    """Raise CounterError for a name that means nothing on any CPU."""
    for name in names:
        match = _NAMED.fullmatch(name)
        if match is None or not _parts(match[1]):
            _counter(name, None)


def _parts(name: str) -> list[str]:
    """Return the CPUs that have an event of their own of that name."""
    return [part for part, events in _OF_PARTS.items() if name.lower() in events]


def _is_of(part: str, model: str) -> bool:
    """Whether all CPUs of a board are of a part: a raw code means something else on others."""
    if part == "Intel":
        # "11th Gen Intel(R) Core(TM) i7-1165G7"; its Atoms have events of their own.
        return re.search(r"\bIntel\b", model) is not None and not re.search(
            r"\b(?:Atom|Celeron|Pentium)\b", model
        )
    # "Cortex-A9 r2p10" and no "Cortex-A97".
    return all(re.match(rf"{re.escape(part)}(?![0-9])", one) for one in model.split(" + "))


def _of_part(name: str, model: str | None) -> tuple[int, int] | None:
    """Return an event that only some CPUs have; raises CounterError for another's."""
    parts = _parts(name)
    for part in parts:
        if model is not None and _is_of(part, model):
            return _RAW, _OF_PARTS[part][name.lower()]
    if parts:
        here = f"this board's is {model[:60]}" if model else "which this board's is was not told"
        raise CounterError(
            f"the event {name} is of {' and '.join(parts)}, and {here}: write a raw code like r60"
        )
    return None


def _counter(name: str, model: str | None) -> CounterPlan:
    match = _NAMED.fullmatch(name)
    found = None if match is None else _event(match[1]) or _of_part(match[1], model)
    if match is None or found is None:
        raise CounterError(
            f"there is no event {name[:60]!r}: write it as perf does: cycles, instructions:u, "
            "L1-icache-load-misses, or a raw code like r60"
        )
    mode = 7 if match[2] else 0
    for letter in match[2] or "":
        mode &= _MODES[letter]
    return CounterPlan(name, *found, mode)


def _event(name: str) -> tuple[int, int] | None:
    if name in _EVENTS:
        return _EVENTS[name]
    raw = _RAW_CODE.fullmatch(name)
    if raw is not None:
        return _RAW, int(raw[1], 16)
    for cache, number in _CACHES.items():
        rest = name.removeprefix(cache + "-")
        if rest != name and rest in _DONE:
            done, ended = _DONE[rest]
            return _CACHE, number | done << 8 | ended << 16
    return None
