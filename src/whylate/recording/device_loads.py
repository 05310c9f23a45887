"""Loads that drive a device: what is asked of them, and what the board's kernel counted of it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from whylate.recording.manifest import LoadDevice
from whylate.text import shown
from whylate.wire.messages import LoadDevice as Counted

#: The load of a network interface, which a user writes as net:HOST, and of a disk.
NIC, BLOCK = "nic", "block"
_DIRECTIONS = ("in", "out", "both")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_SIZES = {"": 1, "k": 1 << 10, "M": 1 << 20}
_HIGHEST_RATE = 100 * 10**9
#: Of UDP over IPv4.
_LONGEST_DATAGRAM = 65_507
_TOKEN_BYTES = 32
#: Names of interrupts that are kept.
_MOST_LINES = 64


@dataclass(frozen=True)
class NetLoad:
    """Packets between the board and a host. rate: bits/s in each direction; size: bytes."""

    host: str
    protocol: Literal["udp", "tcp"] = "udp"
    rate: int = 10**7
    size: int = 1400
    direction: str = "both"

    @property
    def in_bits_s(self) -> int:
        """Bits/s that are sent to the board."""
        return self.rate if self.direction != "out" else 0

    @property
    def out_bits_s(self) -> int:
        """Bits/s that the board sends."""
        return self.rate if self.direction != "in" else 0


@dataclass(frozen=True)
class BlockLoad:
    """Reads of a disk or file. size: bytes of each; iops: a second, 0: as many as there can be."""

    path: str
    size: int = 4096
    iops: int = 0


def parse_net(text: str) -> NetLoad:
    """Return what HOST[,udp|tcp][,rate=R][,size=N][,direction=D] asks for; raises ValueError."""
    host, *words = text.split(",")
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        raise ValueError(
            f"{host[:60]!r} is no IPv4 address: write the one of this machine as the board sees it"
        ) from None
    protocols = [word for word in words if word in ("udp", "tcp")]
    if len(protocols) > 1:
        raise ValueError("name one of udp and tcp")
    given = _parameters(
        [word for word in words if word not in protocols],
        {
            "rate": lambda value: _amount(value, _UNITS, 1000, _HIGHEST_RATE),
            "size": lambda value: _amount(value, _SIZES, _TOKEN_BYTES, _LONGEST_DATAGRAM),
            "direction": lambda value: value if value in _DIRECTIONS else None,
        },
        "udp, tcp, rate=100M (bits/s), size=1400 (bytes), direction=in|out|both",
    )
    if protocols:
        given["protocol"] = protocols[0]
    return NetLoad(str(address), **given)


def parse_block(text: str) -> BlockLoad:
    """Return what PATH[,size=N][,iops=N] asks for; raises ValueError."""
    path, *words = text.split(",")
    if not path.startswith("/") or len(path) > 200 or not path.isprintable():
        raise ValueError("write the whole path of a disk or file on the board: block:/dev/mmcblk0")
    given = _parameters(
        words,
        {
            "size": lambda value: _amount(value, _SIZES, 512, 1 << 20),
            "iops": lambda value: _amount(value, _UNITS, 1, 10**7),
        },
        "size=4k (bytes), iops=1000 (a second)",
    )
    if given.get("size", 512) % 512:
        raise ValueError("the size of a read is a multiple of 512 bytes")
    return BlockLoad(path, **given)


def asked_text(load: NetLoad | BlockLoad) -> str:
    """Return all that is asked of a load, as a user writes it behind its kind."""
    first, *others = [(field.name, getattr(load, field.name)) for field in fields(load)]
    words = [
        str(value) if name == "protocol" else f"{name}={value}"
        for name, value in others
        if not (name == "iops" and value == 0)
    ]
    return ",".join([str(first[1]), *words])


def written_kind(kind: str) -> str:
    """Return a load's kind as a user writes it."""
    return "net" if kind == NIC else kind


def load_name(kind: str, count: int, command: str | None) -> str:
    """Return a load as a user writes it."""
    return f"{written_kind(kind)}:{count if command is None else command}"


def asked_bits_s(kind: str, command: str | None) -> tuple[int, int]:
    """Return the bits/s that a load is to send to the board and from it; 0, 0: none is asked."""
    if kind != NIC or command is None:
        return 0, 0
    try:
        load = parse_net(command)
    except ValueError:
        return 0, 0
    return load.in_bits_s, load.out_bits_s


def device_report(
    before: Sequence[Counted], during: Sequence[Counted], asked: tuple[int, int]
) -> LoadDevice | None:
    """Return what was counted a second; None where the load drives no device, or too shortly."""
    points = [*before[-1:], *during]
    if len(points) < 2 or points[-1].now_ns <= points[0].now_ns:
        return None
    last = points[-1]
    return LoadDevice(
        name=shown(last.device, 31) or "its device",
        lines=[shown(line, 60) for line in last.lines.split(",")[:_MOST_LINES] if line],
        asked_in_bits_per_s=asked[0],
        asked_out_bits_per_s=asked[1],
        interrupts_before_per_s=_per_s(before, "interrupts"),
        **{f"{name}_per_s": _per_s(points, name) or 0.0 for name in _COUNTED},
    )


_COUNTED = ("interrupts", "softirqs", "in_count", "in_bytes", "out_count", "out_bytes",
            "received", "delivered")  # fmt: skip


def _per_s(points: Sequence[Counted], name: str) -> float | None:
    if len(points) < 2 or points[-1].now_ns <= points[0].now_ns:
        return None
    more: int = getattr(points[-1], name) - getattr(points[0], name)
    return max(more, 0) * 1e9 / (points[-1].now_ns - points[0].now_ns)


def _parameters(
    words: Sequence[str], known: dict[str, Callable[[str], Any]], form: str
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        parsed = known[name](value) if name in known and name not in given else None
        if parsed is None:
            raise ValueError(f"{word[:60]!r} is not understood: {form}")
        given[name] = parsed
    return given


def _amount(text: str, units: dict[str, int], least: int, most: int) -> int | None:
    match = re.fullmatch(r"([0-9]{1,12})([kMG]?)", text)
    if match is None or match[2] not in units:
        return None
    amount = int(match[1]) * units[match[2]]
    return amount if least <= amount <= most else None
