"""A run in virtual time: the plan goes in when the board boots, and nothing after it.

The commands that a host sends during a run (whylate.run.measure) are written to a script of frames
before it. The probe carries them out in order and writes its answers to a file, which is read here.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing as closed
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylate import __version__
from whylate.boards.board import PlannedBoard
from whylate.boards.errors import BoardError
from whylate.boards.facts import WANTED, WANTED_AFTER, changes, for_release
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.files import CollectedFiles, frequencies, probe_facts, read_commands
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import fault, use
from whylate.lab.faults.log import LOG_LIMIT, pack
from whylate.lab.faults.place import PlacedFault, logs, place, services
from whylate.probe.budget import FACTS, FINISH, LEAVE, PREPARE, Budget
from whylate.probe.client import Client
from whylate.probe.errors import ProbeError, ProbeGoneError, ProbeRefusedError
from whylate.probe.link import Link
from whylate.recording.finish import finish
from whylate.recording.manifest import Change, Manifest, Problem, State
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import ActivationWorkload
from whylate.run.budgets import measuring_budget
from whylate.run.console import copy_console
from whylate.run.hits import hits_command, refuse_uncounted
from whylate.run.measure import (
    load_command,
    recorder_commands,
    refuse_dead_loads,
    setting_commands,
)
from whylate.run.preparation.image import RESULT, check_result, image_files
from whylate.run.preparation.model import Preparation, PreparationError
from whylate.run.progress import Observer, Step
from whylate.run.record import REPORT_S, Run, closing, leaving, must_be_new, opening, recorded
from whylate.run.resolve import check, resolve
from whylate.run.tally import Tally
from whylate.run.workloads import rules
from whylate.run.workloads.counters import counters_command, naming
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    Accounting,
    Done,
    Failed,
    File,
    Finish,
    Frequency,
    Hello,
    HitsEnd,
    Message,
    Pause,
    Welcome,
)

#: A virtual board that is silent for so long (host time) has ended. It reports ten times a second
#: of its own time, which passes slower under load. While its kernel verifies the programs of a
#: section beside a load it reports nothing, for about a minute on a quiet host.
SILENCE_S = 300.0
#: A phase may take so many times as long as on a board in real time.
SLOWER = 16
#: The log of injected faults in a recording.
FAULTS = "faults.json"
#: Loads run this long (board time) before the measurement. They report twice in it; a second under
#: load can take the host a minute.
WARM_UP_MS = 1100


@dataclass
class Script:
    """The frames of a plan, and for each stage the numbers of its commands."""

    frames: bytearray = field(default_factory=bytearray)
    facts: set[int] = field(default_factory=set)
    prepared: set[int] = field(default_factory=set)
    preparing: set[int] = field(default_factory=set)
    before: set[int] = field(default_factory=set)
    recorder: set[int] = field(default_factory=set)
    hits: set[int] = field(default_factory=set)
    workload: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)
    logs: set[int] = field(default_factory=set)
    finish: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._link = Link(self.frames.extend)

    def add(self, message: Message, stage: set[int]) -> None:
        """Append a command, whose answers belong to that stage."""
        stage.add(self._link.send(message))

    def add_all(self, commands: Iterable[Message], stage: set[int]) -> None:
        """Append commands."""
        for command in commands:
            self.add(command, stage)

    def read(self, requests: Sequence[FileRequest], stage: set[int]) -> None:
        """Append reads of files."""
        for command in read_commands(requests):
            self.add(command, stage)


def settling_ms(seed: int) -> int:
    """Return how long a run with that seed waits before it measures, 0 to 255 ms of board time.

    All runs of a board share its boot. The wait moves the run relative to the kernel's periodic
    work (tick, RCU, housekeeping of every second).
    """
    return hashlib.sha256(str(seed).encode()).digest()[0]


def write_script(
    plan: RunPlan, release: str, placed: Sequence[PlacedFault] = (), *, prepared: bool = False
) -> Script:
    """Return the commands of this plan for a board with that kernel.

    placed: the injected faults, whose logs are read at the end. prepared: whether the image has
    what a board gets for the run, of which the result is read first.
    """
    script = Script()
    script.add(Hello(__version__), set())
    script.add(Frequency(tuple(plan.measured_cpus)), script.facts)
    script.read(for_release(WANTED, release), script.facts)
    script.read([RESULT] if prepared else [], script.prepared)
    script.add_all(setting_commands(plan, of_threads=False), script.preparing)
    loads = [load_command(index, load, {}) for index, load in enumerate(plan.loads)]
    script.add_all(loads, script.preparing)
    if plan.loads:
        script.add(Pause(WARM_UP_MS), script.preparing)
    # Threads of the loads are there by now.
    script.add_all(setting_commands(plan, of_threads=True), script.preparing)
    script.add(Pause(settling_ms(plan.seed)), script.preparing)
    script.read(WANTED_AFTER, script.before)
    activations = plan.activations
    script.add_all(recorder_commands(plan.recorder), script.recorder)
    # Last: what starting the recorder hits is not of the run.
    hits = hits_command(plan)
    if hits is not None:
        script.add(hits, script.hits)
    # A turn of a benchmark that fails reports that itself, and the other turns go on.
    stage = script.workload if activations is not None else set()
    if plan.workload.counters:
        script.add(counters_command(plan.workload.counters), script.workload)
    for command in rules(plan.workload).script(plan.workload, plan.measured_cpus):
        script.add(command, stage)
    if plan.benchmark is not None:
        script.add(Accounting(), stage)
    if hits is not None:
        script.add(HitsEnd(), script.after)
    script.read(WANTED_AFTER, script.after)
    script.read([FileRequest(fault.log, LOG_LIMIT) for fault in placed], script.logs)
    script.add(Finish(), script.finish)
    return script


def measure_unattended(
    board: PlannedBoard,
    request: RunPlan,
    directory: Path,
    observer: Observer,
    stopped: Callable[[], bool] = lambda: False,
    disguise: str = "",
    preparation: Preparation | None = None,
) -> Manifest:
    """Run the workload on a board in virtual time and return the manifest of the recording.

    The board must be held and off. disguise: gives the faults meaningless names
    (whylate.lab.faults.catalogue); "": their own. preparation: what the board gets in its image;
    raises PreparationError where it does not become ready. The rest is as in
    whylate.run.measure.measure().
    """
    check(request)
    must_be_new(directory)
    board.need_cpus(_least_cpus(request, board))
    plan = resolve(request, range(board.cpus))
    placed = _place(board, plan, disguise, observer)
    script = write_script(plan, board.release, placed, prepared=bool(preparation))
    files = services(placed) if placed else ()
    if preparation:
        files = image_files(preparation, files)
    started = board.carry_out(bytes(script.frames), plan.seed, observer.log, files)
    with closed(started.stream) as stream:
        client = Client(stream)
        client.enter(_in_virtual_time(FACTS))
        reader = _Reader(client, observer, stopped)
        try:
            welcome, identity, snapshot = reader.facts(script)
        except ProbeGoneError as error:
            # Its kernel, or a root that a user gave it, did not get as far as the probe.
            why = str(error).removeprefix("the probe is gone: ")
            raise BoardError(f"{board.name} ended before it was up: {why}") from None
        with recorded(
            directory,
            opening(board.name, started.binary, plan, welcome, snapshot, identity, started.came_up),
        ) as journal:
            run = Run(plan, reader.client, journal, observer, stopped, Tally(plan))
            reader.receive = run.receive
            try:
                with copy_console(board.console, directory):
                    state, changed, problems, logs = _follow(run, reader, script)
                    if started.warning:
                        problems.append(Problem("unsteady", started.warning, fatal=False))
                    if logs is not None:
                        problems += _write_logs(directory, placed, logs)
                    journal.closing(closing(run.client, state, changed, problems))
                    # What the board sends from here on does not belong to the run.
                    stream.close()
            except (ProbeRefusedError, PreparationError):
                shutil.rmtree(directory)
                raise
            journal.seal()
            observer.step(Step.WRITE)
            return finish(directory)


#: A parameter of a fault by which a CPU of the board is named.
_A_CPU = re.compile(r"(?:[a-z]+_)?cpu")


def _least_cpus(plan: RunPlan, board: PlannedBoard) -> int:
    """Return how many CPUs a plan needs.

    With several, a CPU of a board in virtual time stands still while it is another one's turn in
    the emulator, and the tail is of that: one is enough where nothing asks for more.
    """
    if not isinstance(plan.workload, ActivationWorkload):
        return board.cpus
    named = [*(plan.cpus or ())]
    for planned in plan.faults:
        used = use(planned.name, planned.parameters)
        named.append(fault(used.name).cpus - 1)
        named += [used.number(name) for name in used.parameters if _A_CPU.fullmatch(name)]
    return 1 + max(named, default=0)


def _place(
    board: PlannedBoard, plan: RunPlan, disguise: str, observer: Observer
) -> list[PlacedFault]:
    """Build the injected faults of a plan for the board; raises LabError."""
    if not plan.faults:
        return []
    return place(
        [use(fault.name, fault.parameters) for fault in plan.faults],
        machine=board.virtual.description.arch,
        board=board.virtual,
        cpus=board.cpus,
        notify=observer.log,
        disguise=disguise,
    )


def _write_logs(
    directory: Path, placed: Sequence[PlacedFault], snapshot: Snapshot
) -> list[Problem]:
    """Write the logs of the faults, by the board's clock; return what is wrong with them."""
    if not placed:
        return []
    try:
        fault_logs = logs(placed, {path: file.data for path, file in snapshot.files.items()})
    except LabError as error:
        return [Problem("fault", str(error), fatal=True)]
    (directory / FAULTS).write_bytes(pack(fault_logs))
    return []


def _follow(
    run: Run, reader: _Reader, script: Script
) -> tuple[State, list[Change], list[Problem], Snapshot | None]:
    """Follow the run to its end; an error after its start is part of the result.

    The last item is the faults' logs; None if they were not read.
    """
    logs: Snapshot | None = None
    changed: list[Change] = []
    problems: list[Problem] = []
    state: State = "cut"
    try:
        if run.plan.loads:
            run.observer.step(Step.WARM_UP)
        run.client.enter(_in_virtual_time(PREPARE))
        if script.prepared:
            prepared = reader.files(script.prepared)
            check_result({path: file.data for path, file in prepared.files.items()})
        reader.answers(script.preparing)
        refuse_dead_loads(run)
        before = reader.files(script.before)
        # The recording notes a refusal: samples need no recorder.
        with contextlib.suppress(ProbeRefusedError):
            reader.answers(script.recorder)
        refuse_uncounted(reader.answers(script.hits))
        # The file may have been read far ahead.
        run.client.enter(measuring_budget(run.plan))
        with naming(run.plan.workload.counters):
            reader.answers(script.workload)
        run.observer.step(Step.MEASURE)
        while not run.ended and not run.interrupted:
            if reader.step() is None:
                run.observer.progress(run.tally.progress(run.tally.board_elapsed_s))
                run.interrupted = run.stopped()
        state = "interrupted" if run.interrupted else "complete"
        if not run.interrupted:
            reader.measured = True
            run.client.enter(_in_virtual_time(LEAVE))
            changed = changes(before, reader.files(script.after))
            logs = reader.files(script.logs)
            run.client.enter(_in_virtual_time(FINISH))
            problems += leaving(lambda: reader.answers(script.finish))
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
    return state, changed, problems, logs


class _Reader:
    """Reads the answers to a script one by one, in its order."""

    def __init__(self, client: Client, observer: Observer, stopped: Callable[[], bool]) -> None:
        self.client = client
        #: Called with every message from now on; None: messages before the run are not recorded.
        self.receive: Callable[[Frame, Message], None] | None = None
        #: Set when the measurement is over: the rest is read even if the user ends the run.
        self.measured = False
        self._observer = observer
        self._stopped = stopped
        self._last_message_at = time.monotonic()
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
                self._last_message_at = now
            elif now - self._last_message_at > SILENCE_S:
                raise ProbeError(f"the virtual board was silent for {SILENCE_S:.0f} s")
            return None
        frame, message = self._queue.popleft()
        if self.receive is not None:
            self.receive(frame, message)
        if isinstance(message, Done):
            self._done.add(message.command)
        elif isinstance(message, Failed):
            self._failed[message.command] = message
        return message

    def answers(self, numbers: set[int]) -> list[Message]:
        """Return all messages until these commands are done; raises ProbeError."""
        messages: list[Message] = []
        while not numbers <= self._done:
            message = self.step()
            if message is None and not self.measured and self._stopped():
                raise ProbeRefusedError("the user ended the run before the measurement", 0)
            if message is not None:
                messages.append(message)
            for number in numbers & self._failed.keys():
                failed = self._failed[number]
                raise ProbeRefusedError(failed.text, failed.error)
        return messages

    def files(self, numbers: set[int]) -> Snapshot:
        """Return the files of the reads with these numbers; raises ProbeError."""
        return _snapshot(numbers, self.answers(numbers))

    def facts(self, script: Script) -> tuple[Welcome, ProbeFacts, Snapshot]:
        """Return the probe's identity and the first files that it read; raises ProbeError."""
        answers = self.answers(script.facts)
        welcome = next((m for m in answers if isinstance(m, Welcome)), None)
        if welcome is None:
            raise ProbeError("the probe sent no welcome")
        identity = probe_facts(welcome, frequencies(answers))
        return welcome, identity, _snapshot(script.facts, answers)


def _in_virtual_time(budget: Budget) -> Budget:
    """Return a budget for a board whose time passes slower than the host's, its boot included."""
    return replace(budget, seconds=SLOWER * budget.seconds)


def _snapshot(numbers: set[int], answers: Sequence[Message]) -> Snapshot:
    collected = CollectedFiles()
    for message in answers:
        if isinstance(message, File) and message.command in numbers:
            collected.receive(message)
    return Snapshot(collected.files)
