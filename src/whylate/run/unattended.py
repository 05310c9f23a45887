"""A run in virtual time: the plan goes in when the board boots, and nothing after it.

All that a host would say in the course of a run (whylate.run.measure) is written down before, as
the frames it would send. The probe carries them out one after the other, and what it answers is
read from the file that it is written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing as hung_up
from dataclasses import dataclass, field
from pathlib import Path

from whylate import __version__
from whylate.boards.board import PlannedBoard
from whylate.boards.facts import WANTED, WANTED_AFTER, changes, for_release
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.files import CollectedFiles, frequencies, probe_facts, read_commands
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import use
from whylate.lab.faults.log import LOG_LIMIT, pack
from whylate.lab.faults.place import PlacedFault, logs, place, services
from whylate.probe.client import Client, ProbeError, ProbeGoneError, ProbeRefusedError
from whylate.probe.link import Link
from whylate.recording.finish import finish
from whylate.recording.manifest import Change, Manifest, Problem, State
from whylate.recording.plan import RunPlan
from whylate.recording.store.journal import JournalWriter
from whylate.run.benchmark import counters_command
from whylate.run.console import copy_console
from whylate.run.measure import load_command, recorder_command, refuse_dead_loads
from whylate.run.progress import Observer, Step, Tally
from whylate.run.record import REPORT_S, Run, closing, leaving, must_be_new, opening
from whylate.run.resolve import check, resolve
from whylate.run.workloads import rules
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    Accounting,
    Done,
    Failed,
    File,
    Finish,
    Frequency,
    Hello,
    Message,
    Pause,
    Setting,
    Welcome,
)

#: A virtual board that says nothing for so long (of our time) will say nothing more: it tells
#: what it did ten times a second of its own time, which passes slower under load.
SILENCE_S = 120.0
#: What injected faults did in a run, in its recording.
FAULTS = "faults.json"
#: Loads run this long of the board's time before measuring begins. Their work is told twice in
#: it, and a second under load can take the host a minute.
WARM_UP_MS = 1100


@dataclass
class Script:
    """The frames of a plan, and what the answer to each will be for."""

    frames: bytearray = field(default_factory=bytearray)
    facts: set[int] = field(default_factory=set)
    preparing: set[int] = field(default_factory=set)
    before: set[int] = field(default_factory=set)
    recorder: set[int] = field(default_factory=set)
    workload: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)
    logs: set[int] = field(default_factory=set)
    finish: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._link = Link(self.frames.extend)

    def say(self, message: Message, stage: set[int]) -> None:
        """Put a command into the plan; its answers belong to that stage."""
        stage.add(self._link.send(message))

    def read(self, requests: Sequence[FileRequest], stage: set[int]) -> None:
        """Put reads into the plan."""
        for command in read_commands(requests):
            self.say(command, stage)


def settling_ms(seed: int) -> int:
    """Return how long a run with that seed waits before it measures, 0 to 255 ms of board time.

    QEMU's random numbers alone hardly move an idle board: what differs between seeds is mostly
    where in the kernel's own rounds (its tick, RCU, the housekeeping of every second) the run
    falls.
    """
    return hashlib.sha256(str(seed).encode()).digest()[0]


def script_of(plan: RunPlan, release: str, placed: Sequence[PlacedFault] = ()) -> Script:
    """Return what a host would say for this plan to a board with that kernel.

    placed: the injected faults that act there, whose logs are read at the end.
    """
    script = Script()
    script.say(Hello(__version__), set())
    script.say(Frequency(tuple(plan.measured_cpus)), script.facts)
    script.read(for_release(WANTED, release), script.facts)
    for setting in plan.settings:
        script.say(Setting(setting.path, setting.value), script.preparing)
    for index, load in enumerate(plan.loads):
        script.say(load_command(index, load), script.preparing)
    if plan.loads:
        script.say(Pause(WARM_UP_MS), script.preparing)
    script.say(Pause(settling_ms(plan.seed)), script.preparing)
    script.read(WANTED_AFTER, script.before)
    activations = plan.activations
    if activations is not None and activations.recorder is not None:
        script.say(recorder_command(activations.recorder), script.recorder)
    # A turn that fails reports that itself, and the others are made all the same.
    stage = script.workload if activations is not None else set()
    if plan.workload.counters:
        script.say(counters_command(plan.workload.counters), stage)
    for command in rules(plan.workload).script(plan.workload, plan.measured_cpus):
        script.say(command, stage)
    if plan.benchmark is not None:
        script.say(Accounting(), stage)
    script.read(WANTED_AFTER, script.after)
    script.read([FileRequest(one.log, LOG_LIMIT) for one in placed], script.logs)
    script.say(Finish(), script.finish)
    return script


def measure_unattended(
    board: PlannedBoard,
    request: RunPlan,
    directory: Path,
    observer: Observer,
    stopped: Callable[[], bool] = lambda: False,
    disguise: str = "",
) -> Manifest:
    """Run the workload on a board in virtual time and return the manifest of the recording.

    The board must be held and off. disguise: gives the faults names that say nothing
    (whylate.lab.faults.alias); "": their own. The rest is as in whylate.run.measure.measure().
    """
    check(request)
    must_be_new(directory)
    plan = resolve(request, range(board.cpus))
    placed = _place(board, plan, disguise, observer)
    script = script_of(plan, board.release, placed)
    files = services(placed) if placed else ()
    started = board.carry_out(bytes(script.frames), plan.seed, observer.log, files)
    with hung_up(started.stream) as stream:
        reader = _Reader(Client(stream), observer, stopped)
        welcome, identity, snapshot = reader.facts(script)
        with hung_up(
            JournalWriter(
                directory, opening(board.name, started.binary, plan, welcome, snapshot, identity)
            )
        ) as journal:
            run = Run(plan, reader.client, journal, observer, stopped, Tally(plan))
            reader.sink = run.receive
            try:
                with copy_console(board, directory):
                    state, moved, problems, said = _follow(run, reader, script)
                    if started.warning:
                        problems.append(Problem("unsteady", started.warning, fatal=False))
                    if said is not None:
                        problems += _keep_logs(directory, placed, said)
                    journal.closing(closing(run.client, state, moved, problems))
                    # Whatever the board says from here on is not about the run.
                    stream.close()
            except ProbeRefusedError:
                shutil.rmtree(directory)
                raise
            journal.seal()
            observer.step(Step.WRITE)
            return finish(directory)


def _place(
    board: PlannedBoard, plan: RunPlan, disguise: str, observer: Observer
) -> list[PlacedFault]:
    """Build the injected faults of a plan for the board; raises LabError."""
    if not plan.faults:
        return []
    return place(
        [use(one.name, one.parameters) for one in plan.faults],
        machine=board.virtual.description.arch,
        board=board.virtual,
        cpus=board.cpus,
        tell=observer.log,
        disguise=disguise,
    )


def _keep_logs(directory: Path, placed: Sequence[PlacedFault], snapshot: Snapshot) -> list[Problem]:
    """Write down what the faults really did, by the board's own clock."""
    if not placed:
        return []
    try:
        found = logs(placed, {path: file.data for path, file in snapshot.files.items()})
    except LabError as error:
        return [Problem("fault", str(error), fatal=True)]
    (directory / FAULTS).write_bytes(pack(found))
    return []


def _follow(
    run: Run, reader: _Reader, script: Script
) -> tuple[State, list[Change], list[Problem], Snapshot | None]:
    """Follow the run to its end; what goes wrong after its start is part of the result.

    Returns what the faults' logs say last; None where they were not read.
    """
    logs: Snapshot | None = None
    moved: list[Change] = []
    problems: list[Problem] = []
    state: State = "cut"
    try:
        if run.plan.loads:
            run.observer.step(Step.WARM_UP)
        reader.answers(script.preparing)
        refuse_dead_loads(run)
        before = reader.files(script.before)
        # Refused, it is said in the recording: what can be measured without it is.
        with contextlib.suppress(ProbeRefusedError):
            reader.answers(script.recorder)
        reader.answers(script.workload)
        run.observer.step(Step.MEASURE)
        while not run.ended and not run.interrupted:
            if reader.step() is None:
                run.observer.progress(run.tally.progress(run.tally.board_elapsed_s))
                run.interrupted = run.stopped()
        state = "interrupted" if run.interrupted else "complete"
        if not run.interrupted:
            reader.measured = True
            moved = changes(before, reader.files(script.after))
            logs = reader.files(script.logs)
            problems += _finish(reader, script)
    except ProbeRefusedError as error:
        if not run.tally.started:
            raise
        problems.append(Problem("refused", f"the board refused: {error}", fatal=True))
    except ProbeGoneError:
        problems.append(
            Problem("probe-gone", "the virtual board ended before its plan did", fatal=True)
        )
    except ProbeError as error:
        problems.append(Problem("probe", str(error), fatal=True))
    return state, moved, problems, logs


def _finish(reader: _Reader, script: Script) -> list[Problem]:
    """Wait until loads are ended and settings put back; return what was not in order."""
    try:
        reader.answers(script.finish)
    except ProbeRefusedError as error:
        return [leaving(error)]
    return []


class _Reader:
    """Reads the answers to a plan one by one, in the order in which the plan was written."""

    def __init__(self, client: Client, observer: Observer, stopped: Callable[[], bool]) -> None:
        self.client = client
        #: Given every message that is read from now on.
        self.sink: Callable[[Frame, Message], None] = _ignore
        #: Set when the measuring is over: the little that is left is read to its end.
        self.measured = False
        self._observer = observer
        self._stopped = stopped
        self._heard_at = time.monotonic()
        self._queue: deque[tuple[Frame, Message]] = deque()
        self._done: set[int] = set()
        self._failed: dict[int, Failed] = {}
        client.on_message = lambda frame, message: self._queue.append((frame, message))

    def step(self) -> Message | None:
        """Return the next message, None where there is none now; raises ProbeError."""
        if not self._queue:
            self.client.pump(REPORT_S)
            now = time.monotonic()
            if self._queue:
                self._heard_at = now
            elif now - self._heard_at > SILENCE_S:
                raise ProbeError(f"the virtual board said nothing for {SILENCE_S:.0f} s")
            return None
        frame, message = self._queue.popleft()
        self.sink(frame, message)
        if isinstance(message, Done):
            self._done.add(message.command)
        elif isinstance(message, Failed):
            self._failed[message.command] = message
        return message

    def answers(self, numbers: set[int]) -> list[Message]:
        """Return all messages until these commands are done; raises ProbeError."""
        got: list[Message] = []
        while not numbers <= self._done:
            message = self.step()
            if message is None and not self.measured and self._stopped():
                raise ProbeRefusedError("the run was ended before measuring had begun", 0)
            if message is not None:
                got.append(message)
            for number in numbers & self._failed.keys():
                failed = self._failed[number]
                raise ProbeRefusedError(failed.text, failed.error)
        return got

    def files(self, numbers: set[int]) -> Snapshot:
        """Return what the reads with these numbers found; raises ProbeError."""
        return _snapshot(numbers, self.answers(numbers))

    def facts(self, script: Script) -> tuple[Welcome, ProbeFacts, Snapshot]:
        """Return who the probe is and what it read first; raises ProbeError."""
        answers = self.answers(script.facts)
        welcome = next((m for m in answers if isinstance(m, Welcome)), None)
        if welcome is None:
            raise ProbeError("the probe did not say who it is")
        identity = probe_facts(welcome, frequencies(answers))
        return welcome, identity, _snapshot(script.facts, answers)


def _ignore(frame: Frame, message: Message) -> None:
    """Drop a message that belongs to nothing that is kept."""
    del frame, message


def _snapshot(numbers: set[int], answers: Sequence[Message]) -> Snapshot:
    collected = CollectedFiles()
    for message in answers:
        if isinstance(message, File) and message.command in numbers:
            collected.receive(message)
    return Snapshot(collected.files)
