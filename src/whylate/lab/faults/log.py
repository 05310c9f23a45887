"""What a fault says that it really did: lab/faults/shared/log.txt has the format."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import FaultUse

#: More than the longest log: what the probe reads of a file at most.
LOG_LIMIT = 1 << 20
_HEADER = re.compile(rb"whylate-fault-log 1 dropped (\d{1,20})")
_LINE = re.compile(rb"(\d{1,20}) (\d{1,20}) (-?)(\d{1,4})")


class Event(msgspec.Struct, frozen=True, array_like=True):
    """One time that a fault acted, by the board's CLOCK_MONOTONIC."""

    start_ns: int
    length_ns: int
    cpu: int


class FaultLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault as it was used, and what it did."""

    fault: FaultUse
    events: list[Event]
    #: How many events found no room in its log.
    dropped: int = 0
    #: The name that it went by on the board: another than its own where it was disguised.
    alias: str = ""
    #: What others took out of the time in which it acted, as far as it could see that.
    taken: list[Event] = []


def parse_log(data: bytes) -> tuple[list[Event], list[Event], int]:
    """Return the events in a log, what others took out of them, and how many it could not hold.

    Raises LabError where it is none. A last line that is not whole is left out: it was being
    written.
    """
    text = data.split(b"\0", 1)[0]
    lines = text.split(b"\n")
    header = _HEADER.fullmatch(lines[0])
    if header is None:
        raise LabError("what the fault wrote is not a fault's log")
    events: list[Event] = []
    taken: list[Event] = []
    for line in lines[1:-1]:
        found = _LINE.fullmatch(line)
        if found is None:
            raise LabError("the fault's log has a line that is none")
        one = Event(int(found[1]), int(found[2]), int(found[4]))
        (taken if found[3] else events).append(one)
    return events, taken, int(header[1])


def fault_log(used: FaultUse, data: bytes, alias: str = "") -> FaultLog:
    """Return what a fault did, of the bytes of its log; raises LabError."""
    try:
        events, taken, dropped = parse_log(data)
    except LabError as error:
        raise LabError(f"{used.name}: {error}") from None
    return FaultLog(used, events, dropped, alias, taken)


def pack(logs: list[FaultLog]) -> bytes:
    """Return faults.json: the faults of a run and what they did."""
    return msgspec.json.encode(logs)


def unpack(data: bytes) -> list[FaultLog]:
    """Decode faults.json, or its former format with the key "cause"; raises LabError."""
    try:
        logs = msgspec.json.decode(data, type=list[dict[str, Any]])
        for log in logs:
            if "cause" in log:
                log["fault"] = log.pop("cause")
        return msgspec.convert(logs, list[FaultLog])
    except msgspec.MsgspecError as error:
        raise LabError(f"this is not what pack() wrote: {error}") from None
