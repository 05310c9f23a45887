"""A virtual board with a module that logs its own executions, and sections timed there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernel_modules import build_module
from whylate import __version__
from whylate.boards.board import notify_nobody
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.files import CollectedFiles, read_commands
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.lab.description import VirtualBoard, virtual_board
from whylate.lab.faults.log import LOG_LIMIT
from whylate.lab.faults.place import SERVICES
from whylate.probe.client import Client
from whylate.probe.errors import ProbeGoneError
from whylate.recording.decode_sections import decode_bins
from whylate.recording.workloads.section import Section
from whylate.run.unattended import Script
from whylate.run.workloads.counters import counters_command, resolve_counters
from whylate.run.workloads.section import SectionRules
from whylate.wire.app_samples import PARTS
from whylate.wire.constants import ExecutionFlag
from whylate.wire.executions import decode_counts, decode_executions
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    Done,
    ExecutionBins,
    ExecutionCounts,
    Executions,
    Failed,
    Finish,
    FloorCounts,
    Hello,
    Message,
    Note,
    Phase,
    SectionLock,
    SectionPath,
    SectionResult,
    SectionStarted,
    Setting,
)

SOURCE = Path(__file__).with_name("executions.c")
#: The kinds of executions that the module makes, by their bits in `active`.
KINDS = ("fixed", "nested", "sleeps", "exits", "crossed", "two", "many", "marked", "mixed", "waits",
         "counted", "loops")  # fmt: skip
#: Why executions of kind mixed take longer, by their numbers: as the class of each is called.
REASONS = ("", "interrupted", "preempted", "asleep", "waiting for a lock", "page fault",
           "page fault that sleeps", "longer path", "spin")  # fmt: skip
ACTIVE = "/sys/module/executions/parameters/active"
#: Whether kind loops begins in the middle of a run.
LATER = "/sys/module/executions/parameters/later"
#: By a board's architecture. With kprobes Debian's 6.1 for arm64 has damaged its free lists in some
#: runs; with these checks it says of each allocation whether it is whole, and has been so far.
_CHECKS = {"arm64": ("slub_debug=FZPU",)}
#: By a board's architecture, where not 2. Setting a kprobe on 32-bit ARM stops all CPUs for a
#: moment, which in virtual time with two CPUs has taken 30 s: QEMU let the second one wait.
_CPUS = {"armhf": 1}
_MODULE = "/whylate/executions.ko"
LOGS = "/sys/kernel/debug/executions"
LOG_COLUMNS = 9


@dataclass(frozen=True)
class Known:
    """What the module logged of a kind, in order of begin_ns; each shape (n,).

    end_ns: 0 where it did not return. reason: a place in REASONS. wait_begin_ns, wait_end_ns: of a
    wait for a lock within it, or before it; 0 where there is none. rounds: of the loop of kind
    counted, and how often kind loops called its function.
    """

    pid: NDArray[np.int64]
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    begin_cpu: NDArray[np.int64]
    end_cpu: NDArray[np.int64]
    reason: NDArray[np.int64]
    wait_begin_ns: NDArray[np.int64]
    wait_end_ns: NDArray[np.int64]
    rounds: NDArray[np.int64]

    @property
    def returned(self) -> NDArray[np.bool_]:
        """Which of them returned."""
        return self.end_ns > 0

    def between(self, begin_ns: int, end_ns: int) -> NDArray[np.bool_]:
        """Return which of them began then."""
        return (self.begin_ns >= begin_ns) & (self.begin_ns < end_ns)


@dataclass(frozen=True)
class Timed:
    """What the probe sent of a section; rows in order of begin_ns, each shape (n,).

    parts: shape (n, len(PARTS)). counts: of as many counters as were asked for, (n, counters).
    hook_counts: what an empty section counts, (counters,).
    """

    started: SectionStarted
    account: SectionResult
    start_ns: int
    end_ns: int
    in_bins: int
    dropped: int
    pid: NDArray[np.int64]
    begin_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    begin_cpu: NDArray[np.int64]
    end_cpu: NDArray[np.int64]
    has_moved: NDArray[np.bool_]
    parts: NDArray[np.int64]
    counts: NDArray[np.int64]
    hook_counts: tuple[int, ...]
    samples: list[SectionPath]
    locks: list[SectionLock]
    notes: list[str]

    @property
    def closes(self) -> bool:
        """Whether each entry is accounted for, and each return has its row."""
        account = self.account
        parts = account.returned + account.in_flight + account.left
        parts += account.too_deep + account.no_room
        rows = self.pid.size + self.dropped
        return account.entries == parts and account.returned == self.in_bins == rows


def time_sections(name: str, sections: Sequence[tuple[str, Section]]) -> list[tuple[Timed, Known]]:
    """Boot a board with the module, and time sections one after the other in virtual time.

    sections: each with the kind of the executions that it times. Returns what came of each, and
    the module's log of that kind after it.
    """
    board_is = virtual_board(name)
    script = Script()
    script.add(Hello(__version__), set())
    script.add(Phase(0), set())
    for kind, section in sections:
        script.add(Setting(ACTIVE, str(1 << KINDS.index(kind))), set())
        script.add(counters_command(resolve_counters(section.counters, None)), set())
        script.add(SectionRules().start(section, ()), set())
        for command in read_commands([FileRequest(f"{LOGS}/{kind}", LOG_LIMIT)]):
            script.add(command, set())
    messages, console = carry_out(board_is, script)
    refused = [message for message in messages if isinstance(message, Failed)]
    assert not refused, (refused, console[-2000:])
    runs: list[list[Message]] = [[]]
    for message in messages:
        # What is read after a section belongs to it.
        if isinstance(message, SectionStarted):
            runs.append([])
        runs[-1].append(message)
    return [
        (_timed(run, len(section.counters)), _known(run, console))
        for run, (_, section) in zip(runs[1:], sections, strict=True)
    ]


def carry_out(board_is: VirtualBoard, script: Script) -> tuple[list[Message], str]:
    """Boot a board with the module in virtual time, and do what a script has.

    Returns the answers, and what the console shows.
    """
    last: set[int] = set()
    script.add(Finish(), last)
    files = (
        (_MODULE, module_for(board_is), 0o644),
        (SERVICES, f"insmod {_MODULE}\n".encode(), 0o755),
    )
    checks = _CHECKS.get(board_is.description.debian_arch, ())
    options = VirtualOptions(
        cpus=_CPUS.get(board_is.description.debian_arch, 2), kernel_args=checks, files=files
    )
    board = QemuBoard(board_is, options)
    board.hold(notify_nobody)
    try:
        started = board.carry_out(bytes(script.frames), 1, notify_nobody)
        with closing(started.stream):
            messages = _messages(Client(started.stream), last)
            console = board.console.log.read_text(errors="replace")
    finally:
        board.close()
    # The kernel's checks of its memory report with these words.
    assert not re.search(r"BUG|Oops|Unable to handle", console), console[-6000:]
    return messages, console


def _messages(client: Client, last: set[int]) -> list[Message]:
    """Return all messages until the last command is done: not every board switches itself off."""
    got: list[Message] = []
    while not any(isinstance(message, Done) and message.command in last for message in got):
        try:
            got += client.pump(0.5)
        except ProbeGoneError:
            break
    return got


def _known(messages: Sequence[Message], console: str) -> Known:
    collected = CollectedFiles()
    for message in messages:
        collected.receive(message)
    (content,) = collected.files.values()
    text = content.data.split(b"\0")[0]
    assert text, f"the module left no log: {console[-2000:]}"
    rows = np.fromstring(text.decode("ascii"), np.int64, sep=" ").reshape(-1, LOG_COLUMNS)
    # What was logged before it began.
    rows = rows[rows[:, 1] > 0]
    return Known(*rows[np.argsort(rows[:, 1], kind="stable")].T)


def _timed(messages: Sequence[Message], counters: int) -> Timed:
    (started,) = [m for m in messages if isinstance(m, SectionStarted)]
    (account,) = [m for m in messages if isinstance(m, SectionResult)]
    starts = [m for m in messages if isinstance(m, CpuStarted)]
    results = [m for m in messages if isinstance(m, CpuResult)]
    columns: list[list[NDArray[np.int64]]] = [[] for _ in range(6)]
    parts = [np.empty((0, len(PARTS)), np.int64)]
    counts = [np.empty((0, counters), np.int64)]
    for message in messages:
        if isinstance(message, ExecutionCounts):
            counts.append(decode_counts(message, counters).values)
        if isinstance(message, Executions):
            decoded = decode_executions(message, starts[0].start_ns)
            assert decoded.threads.parts is not None
            parts.append(decoded.threads.parts)
            fields = (decoded.threads.pid, decoded.threads.due_ns, decoded.rows.latency_ns,
                      decoded.threads.parts[:, 0], np.full(message.count, message.cpu),
                      decoded.flags & int(ExecutionFlag.MOVED))  # fmt: skip
            for column, field in zip(columns, fields, strict=True):
                column.append(np.asarray(field, np.int64))
    merged = [np.concatenate([np.empty(0, np.int64), *column]) for column in columns]
    order = np.argsort(merged[1], kind="stable")
    pid, begin_ns, duration_ns, begin_cpu, end_cpu, moved = (column[order] for column in merged)
    bins = [decode_bins(m) for m in messages if isinstance(m, ExecutionBins)]
    return Timed(
        started=started,
        account=account,
        start_ns=starts[0].start_ns,
        end_ns=results[0].end_ns,
        in_bins=sum(part.count for cpu in bins for part in cpu.bins),
        dropped=sum(result.dropped for result in results),
        pid=pid,
        begin_ns=begin_ns,
        duration_ns=duration_ns,
        begin_cpu=begin_cpu,
        end_cpu=end_cpu,
        has_moved=moved > 0,
        parts=np.concatenate(parts)[order],
        counts=np.concatenate(counts)[order] if counters else counts[0],
        hook_counts=tuple(v for m in messages if isinstance(m, FloorCounts) for v in m.values),
        samples=[m for m in messages if isinstance(m, SectionPath) and m.sampled],
        locks=[m for m in messages if isinstance(m, SectionLock)],
        notes=[m.text for m in messages if isinstance(m, Note)],
    )


def module_for(board: VirtualBoard) -> bytes:
    """Return the module for a board's kernel, built where its source or the kernel changed."""
    return build_module(board, SOURCE)
