"""A virtual board with faults on it, measured in virtual time by a plan of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate import __version__
from whylate.boards.board import notify_nobody
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.files import CollectedFiles, read_commands
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.lab.description import virtual_board
from whylate.lab.faults.catalogue import FaultUse
from whylate.lab.faults.log import LOG_LIMIT, Event
from whylate.lab.faults.place import logs, place, services
from whylate.probe.client import Client
from whylate.probe.errors import ProbeGoneError
from whylate.run.unattended import Script
from whylate.wire.messages import CpuStarted, Finish, Hello, Message, Phase, Samples, Wakeup
from whylate.wire.samples import decode_samples

INTERVAL_NS = 1_000_000
#: Causes are put at least so far apart from each other.
APART_NS = 1_200_000


@dataclass(frozen=True)
class Hits:
    """Activations that came due while a fault acted: how late, and what was left of it then."""

    latency_ns: NDArray[np.int64]
    left_ns: NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """What came of a run: when each activation was due and how late it was, and the logs."""

    due_ns: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    events: dict[str, list[Event]]
    digest: str
    files: dict[str, bytes]
    console: str

    def hits(self, name: str) -> Hits:
        """Return the activations due while this fault acted, and none of the others near."""
        latency, left = [], []
        for event in self.events[name]:
            end = event.start_ns + event.length_ns
            for i in np.flatnonzero((self.due_ns > event.start_ns) & (self.due_ns < end)):
                if not self._others_near(name, int(self.due_ns[i])):
                    latency.append(int(self.latency_ns[i]))
                    left.append(end - int(self.due_ns[i]))
        return Hits(np.array(latency, np.int64), np.array(left, np.int64))

    def after(self, name: str) -> NDArray[np.int64]:
        """Return the latency of the first activation after each time that this fault acted."""
        latency = []
        for event in self.events[name]:
            i = int(np.searchsorted(self.due_ns, event.start_ns + event.length_ns))
            if i < len(self.due_ns) and not self._others_near(name, int(self.due_ns[i])):
                latency.append(int(self.latency_ns[i]))
        return np.array(latency, np.int64)

    def ordinary(self) -> NDArray[np.int64]:
        """Return the latencies of activations that no fault is near.

        The first after a fault is none of them, however far: pages that were taken are missed then.
        """
        far = np.array([not self._others_near("", int(due)) for due in self.due_ns])
        ends = [event.start_ns + event.length_ns for of in self.events.values() for event in of]
        first_after = np.searchsorted(self.due_ns, ends)
        far[first_after[first_after < len(far)]] = False
        return np.extract(far, self.latency_ns)

    def _others_near(self, name: str, due_ns: int) -> bool:
        return any(
            event.start_ns - APART_NS < due_ns < event.start_ns + event.length_ns + APART_NS
            for other, events in self.events.items()
            if other != name
            for event in events
        )


def run_with(
    name: str,
    uses: Sequence[FaultUse],
    *,
    cpus: int = 1,
    duration_ns: int = 1_000_000_000,
    hold_idle: bool = True,
    disguise: str = "",
    also_read: Sequence[str] = (),
    files: Sequence[tuple[str, bytes, int]] = (),
) -> Seen:
    """Boot a board with faults, measure its wakeup latency on CPU 0, and read the logs.

    files: more of the image, which has the services of faults unless one of these is them.
    """
    board_is = virtual_board(name)
    placed = place(
        uses,
        machine=board_is.description.arch,
        board=board_is,
        cpus=cpus,
        notify=notify_nobody,
        disguise=disguise,
    )
    script = Script()
    script.add(Hello(__version__), set())
    script.add(Phase(0), set())
    script.add(Wakeup(INTERVAL_NS, duration_ns, 95, int(hold_idle), 0, (0,)), set())
    wanted = [*(fault.log for fault in placed), *also_read]
    for command in read_commands([FileRequest(path, LOG_LIMIT) for path in wanted]):
        script.add(command, set())
    script.add(Finish(), set())
    started_with = (*(services(placed) if placed else ()), *files)
    board = QemuBoard(board_is, VirtualOptions(cpus=cpus, files=started_with))
    board.hold(notify_nobody)
    try:
        started = board.carry_out(bytes(script.frames), 1, notify_nobody)
        with closing(started.stream):
            messages = _messages(Client(started.stream))
            console = board.console.log.read_text(errors="replace")
    finally:
        board.close()
    collected = CollectedFiles()
    for message in messages:
        collected.receive(message)
    read = {path: content.data for path, content in collected.files.items()}
    events = {log.fault.name: log.events for log in logs(placed, read)}
    return _seen(messages, events, read, console)


def _messages(client: Client) -> list[Message]:
    got: list[Message] = []
    while True:
        try:
            got += client.pump(0.5)
        except ProbeGoneError:
            return got


def _seen(
    messages: list[Message], events: dict[str, list[Event]], files: dict[str, bytes], console: str
) -> Seen:
    start = next((m for m in messages if isinstance(m, CpuStarted)), None)
    assert start is not None, f"the workload did not start: {console[-2000:]}"
    digest = hashlib.sha256()
    due, latency = [], []
    for message in messages:
        if isinstance(message, Samples):
            digest.update(message.data)
            rows = decode_samples(message, start.interval_ns, 1 << 40)
            due.append(start.start_ns + rows.activation * start.interval_ns)
            latency.append(rows.latency_ns)
    return Seen(
        np.concatenate(due), np.concatenate(latency), events, digest.hexdigest(), files, console
    )
