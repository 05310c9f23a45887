"""Inject faults into a board in real time: start them, let them act, remove them."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whylate.boards.board import Board, Finished, Notify
from whylate.boards.errors import BoardError
from whylate.boards.open import open_board
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import held
from whylate.lab.description import VirtualBoard, names, virtual_board
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import FaultUse, fault
from whylate.lab.faults.log import FaultLog, fault_log
from whylate.lab.faults.place import RUN, PlacedFault, place
from whylate.run.faults.machine_stops import MachineStops

#: A board without a host removes the faults itself, this long after their time.
WATCH_S = 30
#: Starting or stopping a fault may take this long on a slow board.
STEP_S = 60.0
LOOK_S = 0.1
#: After so many consecutive commands that failed, the board is taken to be dead.
GIVE_UP = 3
#: Times that a log is read whose last line is torn.
LOG_READS = 3
#: Called with the log of a fault as soon as it is known.
Keep = Callable[[FaultLog], object]


@dataclass(frozen=True)
class Injection:
    """Faults, for how long they act, and a condition that ends them earlier."""

    uses: tuple[FaultUse, ...]
    duration_s: float
    #: CPUs of a virtual board that is off; None: those of its description.
    cpus: int | None = None
    ended: Callable[[], bool] = lambda: False

    @property
    def inside(self) -> list[FaultUse]:
        """The faults that run on the board."""
        return [use for use in self.uses if fault(use.name).kind != "outside"]

    @property
    def outside(self) -> list[FaultUse]:
        """The faults that act on the emulator."""
        return [use for use in self.uses if fault(use.name).kind == "outside"]


def inject(
    name: str, injection: Injection, notify: Notify, keep: Keep = lambda _: None
) -> list[FaultLog]:
    """Inject faults into the board of that name and return their logs.

    A board that is off is switched on; every board is left as it was found. `keep` is called with
    each log in order, also if something fails afterwards. Raises BoardError, and LabError for
    faults that the board cannot have.
    """
    if not injection.uses:
        raise LabError("no fault was named: `whylate lab faults` lists them")
    if name not in names():
        if injection.outside:
            raise LabError(f"{injection.outside[0].name} acts on an emulator, and {name} has none")
        with held(open_board(name), notify) as board:
            board.boot(notify)
            return _act(board, _copy(board, None, injection, notify), injection, notify, keep)
    virtual = virtual_board(name)
    with held(QemuBoard(virtual, VirtualOptions(cpus=injection.cpus)), notify) as board:
        if board.power.is_on():
            board.boot(notify)
            return _act(board, _copy(board, virtual, injection, notify), injection, notify, keep)
        # In the image they need not go over the slow console.
        placed = place(
            injection.inside,
            machine=virtual.description.arch,
            board=virtual,
            cpus=board.cpus,
            notify=notify,
        )
        files = tuple((item.path, item.data, 0o755) for item in placed)
        board.options = dataclasses.replace(board.options, files=files)
        board.boot(notify)
        return _act(board, placed, injection, notify, keep)


def _copy(
    board: Board, virtual: VirtualBoard | None, injection: Injection, notify: Notify
) -> list[PlacedFault]:
    """Copy faults to a board that is on."""
    machine = board.run(["uname", "-m"]).output.decode(errors="replace").strip()
    count = board.run(["nproc"]).output.strip()
    cpus = int(count) if count.isdigit() and len(count) < 5 else 1
    placed = place(
        injection.inside, machine=machine, board=virtual, cpus=cpus, notify=notify, directory=RUN
    )
    if placed:
        _sh(board, f"mkdir -p {shlex.quote(RUN)}", "no directory can be made for the faults")
    for item in placed:
        notify(f"copying {item.alias} ({len(item.data) // 1024} KiB) to {board.name}")
        board.put(item.data, item.path, 0o755)
    return placed


def _act(
    board: Board,
    placed: Sequence[PlacedFault],
    injection: Injection,
    notify: Notify,
    keep: Keep,
) -> list[FaultLog]:
    """Start faults, wait, read the logs, and remove everything, also after an error."""
    started: list[PlacedFault] = []
    stops: list[MachineStops] = []
    started_stops: list[MachineStops] = []
    remover = _Remover(board)
    try:
        _watch(board, placed, injection.duration_s)
        for use in injection.outside:
            assert isinstance(board, QemuBoard)  # noqa: S101 - inject() checked it
            stops.append(MachineStops(use, board.machine.pid or 0, board, notify))
        for item in placed:
            # Listed first, so that a fault whose start was not confirmed is stopped too.
            started.append(item)
            _sh(board, item.start, f"{item.use.name} did not start")
        for stop in stops:
            stop.start()
            started_stops.append(stop)
        faults = ", ".join(use.name for use in injection.uses)
        notify(f"{faults} on {board.name} for {injection.duration_s:g} s")
        _wait(injection)
    finally:
        logs = [stop.end() for stop in started_stops]
        logs += remover.remove(started, placed)
        order = [use.name for use in injection.uses]
        logs.sort(key=lambda log: order.index(log.fault.name))
        for log in logs:
            keep(log)
        problems = remover.problems
        if sys.exception() is not None:
            # The first error is raised.
            for text in problems:
                notify(text)
    if problems:
        raise BoardError("; ".join(problems))
    return logs


def _wait(injection: Injection) -> None:
    deadline = time.monotonic() + injection.duration_s
    while (left := deadline - time.monotonic()) > 0 and not injection.ended():
        time.sleep(min(LOOK_S, left))


class _Remover:
    """Reads the logs and removes faults; a step that fails does not affect the others."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._failures = 0
        self.problems: list[str] = []

    def remove(
        self, started: Sequence[PlacedFault], placed: Sequence[PlacedFault]
    ) -> list[FaultLog]:
        """Remove the faults and return the logs that can be read."""
        logs = []
        all_stopped = True
        for item in reversed(started):
            log = self._log(item)
            if log is not None:
                logs.append(log)
            all_stopped = self._stop(item) and all_stopped
        files = [name for item in placed for name in (item.path, f"{RUN}/{item.alias}.log")]
        if files:
            self._run(["rm", "-f", *files], "the faults' files cannot be deleted")
        # The watch stays if a fault was not stopped: it stops the fault later.
        if placed and all_stopped:
            script = f"kill -15 -$(cat {RUN}/watch); rm -f {RUN}/watch; rmdir {RUN}"
            self._run(["sh", "-c", script], "the watch over the faults cannot be ended")
        return logs

    def _log(self, item: PlacedFault) -> FaultLog | None:
        # The log is padded with zero bytes.
        script = f"tr -d '\\000' <{shlex.quote(item.log)}"
        torn = ""
        # The fault still acts: a line that it was just writing is whole the next time.
        for _ in range(LOG_READS):
            done = self._run(["sh", "-c", script], f"the log of {item.use.name} cannot be read")
            if done is None or done.status or not done.output:
                return None
            try:
                return fault_log(item.use, done.output, item.alias)
            except LabError as error:
                torn = str(error)
        self.problems.append(torn)
        return None

    def _stop(self, item: PlacedFault) -> bool:
        """Stop a fault; return whether the board carried the command out."""
        what = f"{self._board.name} is not as it was found: {item.use.name} cannot be removed"
        done = self._run(["sh", "-c", item.stop], what)
        if done is not None and done.status:
            self.problems.append(f"{what}: {_last_output(done)}")
        return done is not None

    def _run(self, argv: Sequence[str], what: str) -> Finished | None:
        """Run a command; return None and note the problem if that fails."""
        if self._failures >= GIVE_UP:
            # Each may take a minute on a dead board. The watch on the board removes the faults.
            self.problems.append(f"{what}: the board does not answer")
            return None
        try:
            done = self._board.run(argv, timeout_s=STEP_S)
        except BoardError as error:
            self._failures += 1
            self.problems.append(f"{what}: {error}")
            return None
        self._failures = 0
        return done


def _watch(board: Board, placed: Sequence[PlacedFault], duration_s: float) -> None:
    """Have the board remove the faults itself in case the host is gone."""
    if not placed:
        return
    stops = "; ".join(f"sh -c {shlex.quote(item.stop)}" for item in placed)
    script = f"sleep {int(duration_s) + WATCH_S}; {stops}"
    _sh(
        board,
        f"mkdir -p {RUN}; setsid sh -c {shlex.quote(script)} </dev/null >/dev/null 2>&1 & "
        f"echo $! >{RUN}/watch",
        "no watch over the faults can be started",
    )


def _sh(board: Board, script: str, what: str) -> None:
    done = board.run(["sh", "-c", script], timeout_s=STEP_S)
    if done.status:
        raise BoardError(f"{what}: {_last_output(done)}")


def _last_output(done: Finished) -> str:
    """Return the end of a command's output, in one line that is safe to print."""
    text = (done.error + done.output).decode(errors="replace")
    words = "".join(c if c.isprintable() else " " for c in text).split()
    return " ".join(words)[-300:] or f"status {done.status}"
