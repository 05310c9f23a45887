"""How faults are placed on a board, started and stopped."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whylate.lab.cache import building, cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.faults.build import modules, programs
from whylate.lab.faults.catalogue import Fault, FaultUse, alias, fault
from whylate.lab.faults.log import FaultLog, fault_log

#: Run by an image's init before it carries out a plan.
SERVICES = "/whylate/services"
#: Where faults are in an image. Their logs and output go to /run, which is writable.
DIRECTORY = "/whylate/faults"
RUN = "/run/whylate-faults"
#: Begins the line on a board's console about a fault that does not run.
FAILED = "whylate: the fault did not start:"


@dataclass(frozen=True)
class PlacedFault:
    """A fault on a board: its file, its log, how it starts and stops."""

    use: FaultUse
    alias: str
    path: str
    data: bytes
    #: The path of its log; see whylate.lab.faults.log.
    log: str
    #: Shell scripts. `start` waits until it runs, `stop` until it has ended; otherwise they fail.
    start: str
    stop: str


def place(
    uses: Sequence[FaultUse],
    *,
    machine: str,
    board: VirtualBoard | None,
    cpus: int,
    notify: Callable[[str], None],
    disguise: str = "",
    directory: str = DIRECTORY,
) -> list[PlacedFault]:
    """Return faults as they are put on a board; raises LabError where that is impossible.

    machine: uname's name of it. board: None unless it is virtual; other boards take only programs.
    cpus: how many it has. disguise: see whylate.lab.faults.catalogue.
    """
    entries = [fault(use.name) for use in uses]
    for entry in entries:
        _refuse(entry, machine, board, cpus)
    if len({entry.name for entry in entries}) < len(entries):
        raise LabError("a fault can be used once at a time")
    kinds = {kind: [e for e in entries if e.kind == kind] for kind in ("module", "program")}
    data = programs(machine, kinds["program"], notify, disguise)
    if board is not None and kinds["module"]:
        # Builds of a module differ in their bytes: of several processes, only one builds it.
        with building(cache_directory(), notify):
            data |= modules(board, kinds["module"], notify, disguise)
    return [
        _placed(use, entry, data[entry.name], alias(entry, disguise), directory)
        for use, entry in zip(uses, entries, strict=True)
    ]


def services(placed: Sequence[PlacedFault]) -> tuple[tuple[str, bytes, int], ...]:
    """Return the files (path, content, mode) that make an image's init start faults."""
    script = "".join(
        f"sh -c {shlex.quote(fault.start)} || echo {shlex.quote(f'{FAILED} {fault.alias}')}\n"
        for fault in placed
    )
    return (
        *((fault.path, fault.data, 0o755) for fault in placed),
        (SERVICES, script.encode(), 0o755),
    )


def logs(placed: Sequence[PlacedFault], files: Mapping[str, bytes]) -> list[FaultLog]:
    """Return the logs of faults among the files that were read of a board, by path.

    Raises LabError for a fault that left no log: it did not start.
    """
    results = []
    for item in placed:
        data = files.get(item.log, b"")
        if not data:
            raise LabError(
                f"{item.use.name} did not start on the board: its console has the reason "
                f"(look for {FAILED!r})"
            )
        results.append(fault_log(item.use, data, item.alias))
    return results


def _refuse(entry: Fault, machine: str, board: VirtualBoard | None, cpus: int) -> None:
    """Raise LabError for a fault that does not work on this board."""
    where = board.name if board is not None else "the board"
    if entry.kind == "outside":
        raise LabError(
            f"{entry.name} acts on the emulator in real time, not on a board: try it with "
            f"`whylate lab inject {entry.name}`"
        )
    if entry.kind == "module" and board is None:
        raise LabError(f"{entry.name} is a kernel module, which is built for virtual boards alone")
    if entry.machines and machine not in entry.machines:
        raise LabError(
            f"{entry.name} does nothing on {machine[:40]}: it is for {', '.join(entry.machines)}"
        )
    if cpus < entry.cpus:
        raise LabError(f"{entry.name} takes {entry.cpus} CPUs: {where} has {cpus}")


def _placed(use: FaultUse, entry: Fault, data: bytes, name: str, directory: str) -> PlacedFault:
    words = [f"{key}={value}" for key, value in use.parameters.items()]
    if entry.kind == "module":
        path = f"{directory}/{name}.ko"
        start = shlex.join(["insmod", path, *words])
        stop = f"rmmod {name}; [ ! -d /sys/module/{name} ]"
        return PlacedFault(use, name, path, data, f"/sys/kernel/debug/{name}", start, stop)
    path = f"{directory}/{name}"
    log = f"{RUN}/{name}.log"
    command = shlex.join([path, f"log={log}", *words])
    output, pid = shlex.quote(f"{RUN}/{name}.said"), shlex.quote(f"{RUN}/{name}.pid")
    start = (
        f"mkdir -p {RUN}; {command} </dev/null >{output} 2>&1 & echo $! >{pid}; "
        # It creates its log once its parameters are valid; otherwise it prints the reason and ends.
        f"n=0; while [ $n -lt 50 ] && kill -0 $! 2>/dev/null && [ ! -s {shlex.quote(log)} ]; do "
        f"n=$((n + 1)); sleep 0.1; done; sleep 0.1; kill -0 $! 2>/dev/null || "
        f"{{ cat {output}; exit 1; }}"
    )
    stop = (
        f"[ -e {pid} ] || exit 0; p=$(cat {pid}); kill $p 2>/dev/null; n=0; "
        "while kill -0 $p 2>/dev/null; do n=$((n + 1)); "
        "[ $n -ne 50 ] || kill -9 $p; [ $n -lt 70 ] || exit 1; sleep 0.1; done; "
        f"rm -f {pid} {output}"
    )
    return PlacedFault(use, name, path, data, log, start, stop)
