"""The log of a fault's actions: lab/faults/shared/log.txt has the format."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import FaultUse

#: More than the longest log: the probe reads no more of a file.
LOG_LIMIT = 1 << 20
_HEADER = re.compile(rb"whylate-fault-log 1 dropped (\d{1,20})")
_LINE = re.compile(rb"(\d{1,20}) (\d{1,20}) (-?)(\d{1,4})")


class Event(msgspec.Struct, frozen=True, array_like=True):
    """One action of a fault, by the board's CLOCK_MONOTONIC."""

    start_ns: int
    length_ns: int
    cpu: int


class FaultLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault as it was used, and its actions."""

    fault: FaultUse
    events: list[Event]
    #: How many events did not fit into its log.
    dropped: int = 0
    #: Its name on the board, which differs from its own where it was disguised.
    alias: str = ""
    #: Interruptions of its actions by others, as far as it could see them.
    taken: list[Event] = []


def parse_log(data: bytes) -> tuple[list[Event], list[Event], int]:
    """Return the events in a log, their interruptions by others, and the number of lost events.

    Raises LabError where it is not a log. An incomplete last line is skipped: it was being
    written.
    """
    text = data.split(b"\0", 1)[0]
    lines = text.split(b"\n")
    header = _HEADER.fullmatch(lines[0])
    if header is None:
        raise LabError("the fault's output is not a log")
    events: list[Event] = []
    taken: list[Event] = []
    for line in lines[1:-1]:
        match = _LINE.fullmatch(line)
        if match is None:
            raise LabError("the fault's log has an invalid line")
        event = Event(int(match[1]), int(match[2]), int(match[4]))
        (taken if match[3] else events).append(event)
    return events, taken, int(header[1])


def fault_log(used: FaultUse, data: bytes, alias: str = "") -> FaultLog:
    """Return the log of a fault from its bytes; raises LabError."""
    try:
        events, taken, dropped = parse_log(data)
    except LabError as error:
        raise LabError(f"{used.name}: {error}") from None
    return FaultLog(used, events, dropped, alias, taken)


def pack(logs: list[FaultLog]) -> bytes:
    """Return faults.json: the faults of a run and their actions."""
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
