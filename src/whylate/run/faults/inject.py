"""Known faults tried on a board in real time: begun, left to act for a while, and removed."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whylate.boards.board import Board, BoardError, Finished, Tell
from whylate.boards.open import open_board
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import held
from whylate.lab.description import VirtualBoard, names, virtual_board
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import FaultUse, fault
from whylate.lab.faults.log import FaultLog, fault_log
from whylate.lab.faults.place import RUN, PlacedFault, place
from whylate.run.faults.machine_stops import MachineStops

#: A board that hears nothing of us any more removes the faults so long after their time.
WATCH_S = 30
#: What beginning or ending a fault may take on a slow board.
STEP_S = 60.0
LOOK_S = 0.1
#: After so many commands one after the other that failed, the board is taken to answer no more.
GIVE_UP = 3
#: Given what a fault did, as soon as that is known.
Keep = Callable[[FaultLog], object]


def keep_nothing(log: FaultLog) -> None:
    """Keep nothing: whoever calls wants only what is returned."""
    del log


@dataclass(frozen=True)
class Injection:
    """Which faults for how long, and when to end before."""

    uses: tuple[FaultUse, ...]
    duration_s: float
    #: CPUs of a virtual board that is off; None: as many as its description says.
    cpus: int | None = None
    ended: Callable[[], bool] = lambda: False

    @property
    def inside(self) -> list[FaultUse]:
        """Those that run on the board."""
        return [one for one in self.uses if fault(one.name).kind != "outside"]

    @property
    def outside(self) -> list[FaultUse]:
        """Those that are done to the emulator."""
        return [one for one in self.uses if fault(one.name).kind == "outside"]


def inject(
    name: str, injection: Injection, tell: Tell, keep: Keep = keep_nothing
) -> list[FaultLog]:
    """Try faults on the board of that name and return what they did.

    The board is switched on where it is off, and left as it was found. `keep` is given the logs
    too, in their order, and gets them also where something fails afterwards. Raises BoardError,
    and LabError for faults that the board cannot have.
    """
    if not injection.uses:
        raise LabError("no fault was named: `whylate lab faults` lists them")
    if name not in names():
        if injection.outside:
            raise LabError(
                f"{injection.outside[0].name} is done to an emulator, and {name} is none"
            )
        with held(open_board(name), tell) as board:
            board.boot(tell)
            return _act(board, _bring(board, None, injection, tell), injection, tell, keep)
    virtual = virtual_board(name)
    with held(QemuBoard(virtual, VirtualOptions(cpus=injection.cpus)), tell) as board:
        if board.power.is_on():
            board.boot(tell)
            return _act(board, _bring(board, virtual, injection, tell), injection, tell, keep)
        # In its image they need not go over the console, which is slow.
        placed = place(
            injection.inside,
            machine=virtual.description.arch,
            board=virtual,
            cpus=board.cpus,
            tell=tell,
        )
        files = tuple((one.path, one.data, 0o755) for one in placed)
        board.options = dataclasses.replace(board.options, files=files)
        board.boot(tell)
        return _act(board, placed, injection, tell, keep)


def _bring(
    board: Board, virtual: VirtualBoard | None, injection: Injection, tell: Tell
) -> list[PlacedFault]:
    """Put faults on a board that is on."""
    machine = board.run(["uname", "-m"]).output.decode(errors="replace").strip()
    count = board.run(["nproc"]).output.strip()
    cpus = int(count) if count.isdigit() and len(count) < 5 else 1
    placed = place(
        injection.inside, machine=machine, board=virtual, cpus=cpus, tell=tell, directory=RUN
    )
    if placed:
        _sh(board, f"mkdir -p {shlex.quote(RUN)}", "no directory can be made for the faults")
    for one in placed:
        tell(f"copying {one.alias} ({len(one.data) // 1024} KiB) to {board.name}")
        board.put(one.data, one.path, 0o755)
    return placed


def _act(
    board: Board,
    placed: Sequence[PlacedFault],
    injection: Injection,
    tell: Tell,
    keep: Keep = keep_nothing,
) -> list[FaultLog]:
    """Begin, wait, read the logs, and remove everything, whatever happens meanwhile."""
    begun: list[PlacedFault] = []
    stops: list[MachineStops] = []
    stopping: list[MachineStops] = []
    remover = _Remover(board)
    try:
        _watch(board, placed, injection.duration_s)
        for one in injection.outside:
            assert isinstance(board, QemuBoard)  # noqa: S101 - inject() has seen to it
            stops.append(MachineStops(one, board.machine.pid or 0, board, tell))
        for placed_one in placed:
            # Before it is asked to: one that began though we heard nothing of it ends as well.
            begun.append(placed_one)
            _sh(board, placed_one.start, f"{placed_one.use.name} did not start")
        for stop in stops:
            stop.start()
            stopping.append(stop)
        names_of = ", ".join(one.name for one in injection.uses)
        tell(f"{names_of} on {board.name} for {injection.duration_s:g} s")
        _wait(injection)
    finally:
        logs = [stop.end() for stop in stopping]
        logs += remover.remove(begun, placed)
        order = [one.name for one in injection.uses]
        logs.sort(key=lambda log: order.index(log.fault.name))
        for log in logs:
            keep(log)
        problems = remover.problems
        if sys.exception() is not None:
            # What came first is raised.
            for text in problems:
                tell(text)
    if problems:
        raise BoardError("; ".join(problems))
    return logs


def _wait(injection: Injection) -> None:
    deadline = time.monotonic() + injection.duration_s
    while (left := deadline - time.monotonic()) > 0 and not injection.ended():
        time.sleep(min(LOOK_S, left))


class _Remover:
    """Reads the logs and removes faults, step by step: one that fails leaves the others alone."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._failures = 0
        #: What went wrong.
        self.problems: list[str] = []

    def remove(self, begun: Sequence[PlacedFault], placed: Sequence[PlacedFault]) -> list[FaultLog]:
        """Return what the faults did, as far as it can be read."""
        logs = []
        heard = True
        for one in reversed(begun):
            log = self._log(one)
            if log is not None:
                logs.append(log)
            heard = self._stop(one) and heard
        files = [name for one in placed for name in (one.path, f"{RUN}/{one.alias}.log")]
        if files:
            self._run(["rm", "-f", *files], "the faults' files cannot be deleted")
        # Should a fault not have heard that it is to end, the watch tells it once more.
        if placed and heard:
            script = f"kill -15 -$(cat {RUN}/watch); rm -f {RUN}/watch; rmdir {RUN}"
            self._run(["sh", "-c", script], "the watch over the faults cannot be ended")
        return logs

    def _log(self, one: PlacedFault) -> FaultLog | None:
        # What is behind its end are zero bytes, which need not travel.
        script = f"tr -d '\\000' <{shlex.quote(one.log)}"
        done = self._run(["sh", "-c", script], f"the log of {one.use.name} cannot be read")
        if done is None or done.status or not done.output:
            return None
        try:
            return fault_log(one.use, done.output, one.alias)
        except LabError as error:
            self.problems.append(str(error))
            return None

    def _stop(self, one: PlacedFault) -> bool:
        """End a fault; whether it was told to."""
        what = f"{self._board.name} is not as it was found: {one.use.name} cannot be removed"
        done = self._run(["sh", "-c", one.stop], what)
        if done is not None and done.status:
            self.problems.append(f"{what}: {_words(done)}")
        return done is not None

    def _run(self, argv: Sequence[str], what: str) -> Finished | None:
        """Run a command; None, and a problem, where that fails."""
        if self._failures >= GIVE_UP:
            # Each may take a minute on a board that is dead. Its own watch removes the faults.
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
    """Let the board remove the faults itself, should it hear nothing of us any more."""
    if not placed:
        return
    stops = "; ".join(f"sh -c {shlex.quote(one.stop)}" for one in placed)
    script = f"sleep {int(duration_s) + WATCH_S}; {stops}"
    _sh(
        board,
        f"mkdir -p {RUN}; setsid sh -c {shlex.quote(script)} </dev/null >/dev/null 2>&1 & "
        f"echo $! >{RUN}/watch",
        "nothing can be left to watch over the faults",
    )


def _sh(board: Board, script: str, what: str) -> None:
    done = board.run(["sh", "-c", script], timeout_s=STEP_S)
    if done.status:
        raise BoardError(f"{what}: {_words(done)}")


def _words(done: Finished) -> str:
    """Return the end of what a command said, in one line that is safe to print."""
    text = (done.error + done.output).decode(errors="replace")
    words = "".join(c if c.isprintable() else " " for c in text).split()
    return " ".join(words)[-300:] or f"status {done.status}"
