"""What the headings of a table name: counters, durations, times, places and executions.

A heading is cut into words of a–z and 0–9 (`icache_stall_cycles` has three), and the first
line of the table below that fits decides. Units (ns, us, ms, s) may end it. Of several columns of
cycles, of instructions, of durations, of times, of places and of executions the first counts; more
cycles and instructions are other counters.

1. per, ratio, rate, percent, share, ipc, cpi: none, for a ratio is no counter.
2. stall, stalls, stalled, istall, dstall: stalls. They are of the instruction side with a word of
   it: i, icache, l1i, itlb, fetch, frontend, instruction (and more below), and of the data side
   with one of that: d, dcache, l1d, dtlb, data, load, store, memory, backend (and more below).
3. miss, refill, access, reference, branch, load, store, hit, fault, or several: another counter.
4. instructions, insn, insns, instr, inst: instructions.
5. cycles, cycle, ccnt, cyc: cycles; with ref or bus another counter.
6. duration, elapsed, latency, runtime, or a unit alone: a duration.
7. time, timestamp, ts, at, when: when a row came.
8. where, place, location, site, function, symbol, mark: a place.
9. execution, instance, id, seq: an execution. Rows of one execution have the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from whylate.recording.imported.executions.model import COUNTERS, MOST_NAME, Column, Role
from whylate.text import shown

#: A heading of more words is a sentence.
_MOST_WORDS = 6
_WORD = re.compile(r"[a-zµμ0-9]+")
_UNITS = {
    "ns": "ns", "nsec": "ns", "nsecs": "ns", "nanoseconds": "ns",
    "us": "µs", "µs": "µs", "μs": "µs", "usec": "µs", "usecs": "µs", "microseconds": "µs",
    "ms": "ms", "msec": "ms", "msecs": "ms", "milliseconds": "ms",
    "s": "s", "sec": "s", "secs": "s", "seconds": "s",
}  # fmt: skip
_RATIOS = frozenset(("per", "ratio", "rate", "percent", "pct", "share", "ipc", "cpi"))
_OTHERS = frozenset(
    ("miss", "misses", "refill", "refills", "access", "accesses", "reference", "references",
     "branch", "branches", "load", "loads", "store", "stores", "hit", "hits", "fault", "faults")
)  # fmt: skip
_INSTRUCTIONS = frozenset(("instructions", "instruction", "insn", "insns", "instr", "instrs",
                           "inst"))  # fmt: skip
_CYCLES = frozenset(("cycles", "cycle", "ccnt", "cyc"))
_NOT_OF_THE_CPU = frozenset(("ref", "bus"))
_STALLS = frozenset(("stall", "stalls", "stalled", "istall", "istalls", "dstall", "dstalls"))
#: Words that name the side on which a CPU stalls. The front end waits for the instruction side.
_INSTRUCTION_SIDE = frozenset(
    ("i", "ic", "icache", "l1i", "il1", "istall", "istalls", "ifetch", "fetch", "frontend", "front",
     "itlb", "iutlb", "ifdata", "iftag", *_INSTRUCTIONS)
)  # fmt: skip
#: The back end waits for the data side.
_DATA_SIDE = frozenset(("d", "dc", "dcache", "l1d", "dl1", "dstall", "dstalls", "dtlb", "udtlb",
                        "data", "backend", "back", "mem", "memory", "ld", "st", "load", "loads",
                        "store", "stores"))  # fmt: skip
#: Caches of both, and stages between them.
_NEITHER_SIDE = frozenset(("dispatch", "l2", "l3", "llc"))
_NAMES: tuple[tuple[Role, frozenset[str]], ...] = (
    ("duration", frozenset(("duration", "elapsed", "latency", "runtime"))),
    ("time", frozenset(("time", "timestamp", "ts", "at", "when"))),
    ("place", frozenset(("where", "place", "location", "site", "function", "symbol", "mark"))),
    ("execution", frozenset(("execution", "instance", "id", "seq"))),
)
#: Roles of which one column is read.
_ONCE = ("cycles", "instructions", "duration", "time", "place", "execution")
#: Roles that a table of executions has at least one of.
_MARKS = ("cycles", "instructions", "instruction stalls", "data stalls", "stalls")


def name_columns(headings: Sequence[str]) -> list[Column | None] | None:
    """Return what each heading names, None where that is nothing; None: no table of executions."""
    columns: list[Column | None] = []
    roles: set[str] = set()
    for heading in headings:
        role, unit = _role(heading)
        if role in _ONCE and role in roles:
            role = "other" if role in COUNTERS else None
        if role is not None:
            roles.add(role)
        name = shown(heading, MOST_NAME)
        columns.append(None if role is None else Column(name, role, unit))
    return columns if roles.intersection(_MARKS) else None


def heading_unit(heading: str) -> str:
    """Return the unit of time that ends a heading; "": none does."""
    words = _WORD.findall(heading[: 2 * MOST_NAME].lower())
    return _UNITS.get(words[-1], "") if words else ""


def _role(heading: str) -> tuple[Role | None, str]:
    """Return what a heading names, and its unit."""
    words, unit = _WORD.findall(heading[: 2 * MOST_NAME].lower()), heading_unit(heading)
    counted = frozenset(words)
    if len(words) > _MOST_WORDS:
        return None, ""
    role = None if unit or "%" in heading else _counter(counted)
    if role is not None or counted & _RATIOS:
        return role, ""
    if unit and len(words) == 1:
        return "duration", unit
    # Of "irqs_off_max_us" no word says whose time it is.
    named = next((role for role, names in _NAMES if counted & names), None)
    return named, unit if named in ("duration", "time") else ""


def _stalls(words: frozenset[str]) -> Role:
    sides = (bool(words & _INSTRUCTION_SIDE), bool(words & _DATA_SIDE))
    if words & _NEITHER_SIDE or sides[0] == sides[1]:
        return "stalls"
    return "instruction stalls" if sides[0] else "data stalls"


def _counter(words: frozenset[str]) -> Role | None:
    if words & _RATIOS:
        return None
    if words & _STALLS:
        return _stalls(words)
    if words & _OTHERS:
        return "other"
    if words & _INSTRUCTIONS:
        return "instructions"
    if words & _CYCLES:
        return "other" if words & _NOT_OF_THE_CPU else "cycles"
    return None
