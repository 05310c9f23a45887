"""Reading a board's files and identity through its probe."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from whylate.boards.facts.snapshot import (
    CpuCounts,
    CpuFrequency,
    FileContent,
    FileRequest,
    ProbeFacts,
    Snapshot,
)
from whylate.probe.client import Client
from whylate.wire import messages
from whylate.wire.constants import MOST_READ_BYTES, ReadMethod
from whylate.wire.messages import Read, Welcome

METHODS = {
    "read": ReadMethod.FILE,
    "link": ReadMethod.LINK,
    "list": ReadMethod.LIST,
    "kernel log": ReadMethod.KERNEL_LOG,
}
#: Bounds on what is kept of a board's answers.
MAX_BYTES = 32 << 20
MAX_FILES = 20_000
UNLIMITED = (1 << 64) - 1


def read_files(client: Client, requests: Sequence[FileRequest]) -> Snapshot:
    """Read the requested files; raises ProbeError.

    Anything beyond MAX_BYTES or MAX_FILES is dropped.
    """
    commands = read_commands(requests)
    collected = CollectedFiles()
    if commands:
        client.call_all(commands, collected.receive)
    return Snapshot(collected.files)


def read_long_file(client: Client, path: str, most: int) -> FileContent | None:
    """Read a file that may be larger than one read; None: there is no answer. Raises ProbeError.

    A file that changes meanwhile may be one that never was.
    """
    data = b""
    while True:
        limit = min(MOST_READ_BYTES, most - len(data))
        request = FileRequest(path, limit, offset=len(data))
        content = read_files(client, [request]).files.get(path)
        if content is None or content.error is not None:
            return content
        data += content.data
        if not content.truncated or not content.data or len(data) >= most:
            return FileContent(data, truncated=content.truncated)


def read_commands(requests: Sequence[FileRequest]) -> list[Read]:
    """Return the probe's commands for these requests."""
    return [Read(METHODS[r.kind], r.limit, r.offset, r.pattern) for r in requests]


@dataclass
class CollectedFiles:
    """Assembles files from their pieces, within the bounds."""

    files: dict[str, FileContent] = field(default_factory=dict)
    _parts: dict[str, list[bytes]] = field(default_factory=dict)
    _bytes: int = 0

    def receive(self, message: messages.Message) -> None:
        """Add a piece of a file; other messages are ignored."""
        if not isinstance(message, messages.File):
            return
        self._bytes += len(message.data) + len(message.path)
        if self._bytes > MAX_BYTES or len(self.files) + len(self._parts) >= MAX_FILES:
            return
        self._parts.setdefault(message.path, []).append(message.data)
        if not message.more:
            self.files[message.path] = FileContent(
                b"".join(self._parts.pop(message.path)),
                _errno_name(message.error),
                bool(message.truncated),
            )


def _errno_name(error: int) -> str | None:
    return errno.errorcode.get(error, f"error {error}") if error else None


def measure_frequencies(client: Client, cpus: Iterable[int]) -> tuple[CpuFrequency, ...]:
    """Let the probe time every CPU and read its counters, except CPUs that it cannot run on.

    Raises ProbeError.
    """
    return frequencies(client.call(messages.Frequency(tuple(cpus))))


def frequencies(answers: Sequence[messages.Message]) -> tuple[CpuFrequency, ...]:
    """Return the frequencies in the answers to a frequency command."""
    counts = {m.cpu: _counts(m) for m in answers if isinstance(m, messages.CpuCounts)}
    return tuple(
        CpuFrequency(m.cpu, m.hz, counts.get(m.cpu))
        for m in answers
        if isinstance(m, messages.CpuFrequency) and m.hz
    )


def _counts(answer: messages.CpuCounts) -> CpuCounts:
    return CpuCounts(
        answer.chain,
        answer.cycles,
        _errno_name(answer.cycles_error),
        answer.instructions,
        _errno_name(answer.instructions_error),
    )


def probe_facts(welcome: Welcome, frequencies: tuple[CpuFrequency, ...]) -> ProbeFacts:
    """Return what the probe reports of itself and its board."""
    return ProbeFacts(
        sysname=welcome.sysname,
        nodename=welcome.nodename,
        release=welcome.release,
        version=welcome.kernel_version,
        machine=welcome.machine,
        arch=welcome.arch,
        pointer_bits=32 if welcome.arch == "armv7" else 64,
        effective_uid=welcome.uid,
        capabilities=welcome.capabilities,
        rlimit_rtprio=_limit(welcome.rtprio_limit),
        rlimit_memlock_bytes=_limit(welcome.memlock_limit),
        clock_resolution_ns=welcome.clock_resolution_ns,
        clock_read_ns=welcome.clock_read_ns,
        cpu_frequencies=frequencies,
    )


def _limit(value: int) -> int:
    return -1 if value >= UNLIMITED >> 1 else value
