"""What the probe read of a board at one moment: raw bytes by path, nothing interpreted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class FileRequest:
    """A request for every path on the board that matches a glob(7) pattern.

    kind "read": the first `limit` bytes of the file from `offset`; "link": the target of a
    symbolic link; "list": the names in a directory, separated by NUL bytes, without "." and "..";
    "kernel log": the oldest `limit` bytes of the kernel's log, the pattern being only the name
    under which it is answered.
    A pattern without wildcards that matches nothing is answered with ENOENT; one with wildcards
    that matches nothing is not answered at all.
    """

    pattern: str
    limit: int
    offset: int = 0
    kind: Literal["read", "link", "list", "kernel log"] = "read"


@dataclass(frozen=True)
class FileContent:
    """The answer for one path.

    `error` is the errno's name ("EACCES") and `data` is then what was read before it, mostly
    nothing. `truncated`: the file had more than the request's limit.
    """

    data: bytes
    error: str | None = None
    truncated: bool = False


@dataclass(frozen=True)
class Snapshot:
    """All answers of one moment, by path. Paths and bytes are the board's: not to be trusted.

    WANTED never requests one path in two ways, which would collide here.
    """

    files: Mapping[str, FileContent]


@dataclass(frozen=True)
class CpuCounts:
    """What a CPU's counters counted, in user mode, over a chain of `chain` instructions.

    `instructions` includes the loop around the chain. An error is an errno's name, and the count is
    then invalid: "ENOENT" without such a counter, "EBUSY" where others held it.
    """

    chain: int
    cycles: int
    cycles_error: str | None
    instructions: int
    instructions_error: str | None


@dataclass(frozen=True)
class CpuFrequency:
    """The frequency at which one CPU ran, as the probe timed it, in Hz, and its counters."""

    cpu: int
    hz: int
    counts: CpuCounts | None = None


@dataclass(frozen=True)
class ProbeFacts:
    """What the probe knows of its board by system calls and by measuring, not from files.

    None: not available. `arch` is the probe's own ("x86_64", "aarch64", "arm",
    "riscv64"). `capabilities` is the effective set as the bit mask of capget(2).
    The rlimits are soft limits; RLIM_INFINITY comes as -1.
    """

    sysname: str
    nodename: str
    release: str
    version: str
    machine: str
    arch: str
    pointer_bits: int
    effective_uid: int | None = None
    capabilities: int | None = None
    rlimit_rtprio: int | None = None
    rlimit_memlock_bytes: int | None = None
    clock_resolution_ns: int | None = None
    clock_read_ns: int | None = None
    cpu_frequencies: tuple[CpuFrequency, ...] = field(default=())


NO_PROBE_FACTS = ProbeFacts("", "", "", "", "", "", pointer_bits=0)
