"""Counted events: perf's names, their codes for perf_event_open(2), and the command that counts."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator, Sequence

from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.workloads.benchmarks import CounterPlan, with_counter_name
from whylate.run.errors import RequestError
from whylate.wire.constants import MOST_COUNTERS
from whylate.wire.messages import Counters

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
#: Caches, and operation and result of an access: PERF_COUNT_HW_CACHE_*.
_CACHES = {"L1-dcache": 0, "L1-icache": 1, "LLC": 2, "dTLB": 3, "iTLB": 4, "branch": 5, "node": 6}
_ACCESSES = {
    "loads": (0, 0),
    "load-misses": (0, 1),
    "stores": (1, 0),
    "store-misses": (1, 1),
    "prefetches": (2, 0),
    "prefetch-misses": (2, 1),
}
#: Events of some CPUs alone: raw codes from the technical reference manuals of the Cortex-A9, A53
#: and A72, and of Intel's cores from Skylake on, under perf's names. l1i-stall and l1d-stall are
#: whichever event of a CPU counts cycles in which it waits for the first-level cache, by the
#: kernel's tools/perf/pmu-events: IC_DEP_STALL and LD_DEP_STALL of the A53, STALL_FRONTEND_CACHE
#: and STALL_BACKEND_LD_CACHE of the A55, ICACHE_16B.IFDATA_STALL (ICACHE.IFETCH_STALL,
#: ICACHE_DATA.STALLS) and CYCLE_ACTIVITY.STALLS_L1D_MISS of Ivy Bridge to Sapphire Rapids; of the
#: A9 by its manual.
_INTEL_CORES = "Intel's cores from Ivy Bridge to Sapphire Rapids"
_CPU_EVENTS = {
    "Cortex-A9": {"icache-stall": 0x60, "dispatch-stall": 0x66, "renamed-instructions": 0x68,
                  "dcache-stall": 0x61, "l1i-stall": 0x60, "l1d-stall": 0x61},
    "Cortex-A53": {"icache-dependent-stall": 0xE1, "iutlb-dependent-stall": 0xE2,
                   "l1i-stall": 0xE1, "l1d-stall": 0xE7},
    "Cortex-A55": {"l1i-stall": 0xE1, "l1d-stall": 0xE9},
    "Cortex-A72": {"icache-refill": 0x01, "icache-access": 0x14},
    "Intel": {"icache_16b.ifdata_stall": 0x0480, "icache_64b.iftag_stall": 0x0483},
    _INTEL_CORES: {"l1i-stall": 0x0480, "l1d-stall": 0x0C000CA3},
}  # fmt: skip
#: What to count where a CPU has no event for a name that is not its own.
_INSTEAD = {
    "l1i-stall": ("stalled-cycles-frontend", "L1-icache-load-misses"),
    "l1d-stall": ("stalled-cycles-backend", "L1-dcache-load-misses"),
}
_MODES = {"u": 1 | 4, "k": 2 | 4, "h": 1 | 2}
_NAME = re.compile(r"([A-Za-z0-9._-]{1,60})(?::([ukh]{1,3}))?")
_RAW_CODE = re.compile(r"r([0-9a-fA-F]{1,16})")


def parse_counters(names: Sequence[str], model: str | None) -> tuple[CounterPlan, ...]:
    """Return the events of these names, without duplicates; raises RequestError for an unknown one.

    Known are generic events, cache events (L1-icache-load-misses), raw codes (r60), and events of
    the board's CPU, by its model (the fact cpu_model; None: unknown); l1i-stall and l1d-stall are
    whichever its own are. A suffix says where an event is counted: :u in user mode, :k in the
    kernel, :h in the hypervisor.
    """
    return tuple(_counter(name, model) for name in dict.fromkeys(names))


def resolve_counters(counters: Sequence[CounterPlan], model: str | None) -> list[CounterPlan]:
    """Return counters with their codes on a CPU of that model; raises RequestError."""
    return list(parse_counters([counter.name for counter in counters], model))


def check_counters(names: Sequence[str]) -> None:
    """Raise RequestError for too many events, or for one that no CPU has."""
    if len(names) > MOST_COUNTERS:
        raise RequestError(f"--counters takes up to {MOST_COUNTERS} events")
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or not _cpus_with(match[1]):
            _counter(name, None)


def counters_command(counters: Sequence[CounterPlan]) -> Counters:
    """Return the command that has these events counted."""
    return Counters(
        types=tuple(counter.type or 0 for counter in counters),
        configs=tuple(counter.config for counter in counters),
        modes=tuple(counter.mode for counter in counters),
    )


def start_counters(client: Client, counters: Sequence[CounterPlan]) -> None:
    """Have events counted; raises ProbeRefusedError with the event and the reason."""
    if not counters:
        return
    with naming(counters):
        client.call(counters_command(counters))


@contextlib.contextmanager
def naming(counters: Sequence[CounterPlan]) -> Iterator[None]:
    """Raise ProbeRefusedError of the probe with the name of the event, which it does not know."""
    try:
        yield
    except ProbeRefusedError as error:
        raise ProbeRefusedError(_refusal(counters, error), error.error) from None


def _refusal(counters: Sequence[CounterPlan], error: ProbeRefusedError) -> str:
    """Return why an event cannot be counted; the probe's text is its index, or has its number."""
    index = int(str(error)) if str(error).isdecimal() else len(counters)
    if index >= len(counters):
        return with_counter_name(str(error), counters)
    name = counters[index].name
    if error.error in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return (
            f"{name} cannot be counted here: this board's CPU has no such counter, or the kernel "
            "does not know how to read it (a virtual machine mostly has none); leave it out, or "
            "count an event of the kernel's own, like page-faults"
        )
    if error.error in (errno.EACCES, errno.EPERM):
        return (
            f"{name} may not be counted: run as root, lower kernel.perf_event_paranoid, or count "
            f"user mode alone ({name.partition(':')[0]}:u)"
        )
    return f"{name} cannot be counted here: {os.strerror(error.error)}"


def _counter(name: str, model: str | None) -> CounterPlan:
    match = _NAME.fullmatch(name)
    event = None if match is None else _event(match[1]) or _cpu_event(match[1], model)
    if match is None or event is None:
        raise RequestError(
            f"there is no event {name[:60]!r}: write it as perf does: cycles, instructions:u, "
            "L1-icache-load-misses, or a raw code like r60"
        )
    mode = 7 if match[2] else 0
    for modifier in match[2] or "":
        mode &= _MODES[modifier]
    return CounterPlan(name, *event, mode)


def _event(name: str) -> tuple[int, int] | None:
    """Return type and config of a generic event, a raw code or a cache event."""
    if name in _EVENTS:
        return _EVENTS[name]
    raw = _RAW_CODE.fullmatch(name)
    if raw is not None:
        return _RAW, int(raw[1], 16)
    for cache, number in _CACHES.items():
        access = name.removeprefix(cache + "-")
        if access != name and access in _ACCESSES:
            operation, result = _ACCESSES[access]
            return _CACHE, number | operation << 8 | result << 16
    return None


def _cpu_event(name: str, model: str | None) -> tuple[int, int] | None:
    """Return an event of some CPUs alone; raises RequestError for one of another CPU."""
    cpus = _cpus_with(name)
    for cpu in cpus:
        if model is not None and _is_model(cpu, model):
            return _RAW, _CPU_EVENTS[cpu][name.lower()]
    if cpus:
        here = f"this board's CPU is {model[:60]}" if model else "this board's CPU is unknown"
        if name.lower() in _INSTEAD:
            stalls, misses = _INSTEAD[name.lower()]
            raise RequestError(
                f"no event that is {name} is known of this board, only of {' and '.join(cpus)}, "
                f"and {here}: count {stalls} (all that this side waits for) or {misses} (not for "
                "how long), or write a raw code like r60"
            )
        raise RequestError(
            f"the event {name} exists on {' and '.join(cpus)}, and {here}: write a raw code like "
            "r60"
        )
    return None


def _cpus_with(name: str) -> list[str]:
    """Return the CPUs that have a specific event of that name."""
    return [cpu for cpu, events in _CPU_EVENTS.items() if name.lower() in events]


#: "Core(TM) i7-1165G7" and "i5-8250U", with their generation: of four digits the first, or the
#: first two before a G. "Xeon(R) Gold 6130": the second digit. "Xeon(R) CPU E3-1230 v5".
_CORE = re.compile(r"Core\(TM\) i[3579]-(?:(1[01])\d\d(?=G)|(\d)\d{3}(?!\d|G)|(1[01])\d{3}(?!\d))")
_XEON = re.compile(
    r"Xeon\(R\) (?:Platinum|Gold|Silver|Bronze) [3-9][1-4]\d\d|E[357]-\d{4}\w? v[2-6]"
)


def _is_intel_core(model: str) -> bool:
    """Whether the name is of a core from Ivy Bridge to Sapphire Rapids.

    Cores from generation 3 to 11, for later ones are of two kinds; and Xeons of those years.
    """
    core = _CORE.search(model)
    if core is None:
        return _XEON.search(model) is not None
    return 3 <= int(next(digits for digits in core.groups() if digits)) <= 11


def _is_model(cpu: str, model: str) -> bool:
    """Whether all cores of a board are such CPUs: a raw code differs on others."""
    if cpu == _INTEL_CORES:
        return re.search(r"\bIntel\b", model) is not None and _is_intel_core(model)
    if cpu == "Intel":
        # "11th Gen Intel(R) Core(TM) i7-1165G7"; Atoms have other events.
        return re.search(r"\bIntel\b", model) is not None and not re.search(
            r"\b(?:Atom|Celeron|Pentium)\b", model
        )
    # "Cortex-A9 r2p10", not "Cortex-A97".
    return all(re.match(rf"{re.escape(cpu)}(?![0-9])", core) for core in model.split(" + "))
