"""One run of the wakeup workload, from the first word to the probe to a finished recording."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from whylate import __version__
from whylate.boards.board import Board
from whylate.boards.facts import WANTED, WANTED_AFTER, changes, facts, for_release
from whylate.boards.facts.snapshot import ProbeFacts, Snapshot
from whylate.boards.files import measure_frequencies, probe_facts, read_files
from whylate.probe.binaries import ProbeBinary
from whylate.probe.client import Client, ProbeError, ProbeGoneError, ProbeRefusedError
from whylate.recording.finish import finish
from whylate.recording.journal import Closing, JournalWriter, Opening
from whylate.recording.manifest import SCHEMA_VERSION, Change, Manifest, Plan, Problem, State
from whylate.run.progress import Observer, Tally
from whylate.run.request import Request, RequestError, check, plan_for
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    LoadStart,
    Message,
    Result,
    Setting,
    Stop,
    Wakeup,
    Welcome,
)

#: Loads run this long before measuring begins, so that they are warm and their rate is known.
WARM_UP_S = 1.6
#: The live line is told this often.
TELL_S = 0.2
#: A workload that has not ended this long after it should have will not.
OVERTIME_S = 30.0


@dataclass
class _Run:
    """A run under way: everything that its steps share."""

    plan: Plan
    client: Client
    journal: JournalWriter
    observer: Observer
    stopped: Callable[[], bool]
    tally: Tally
    ended: bool = False
    interrupted: bool = False

    def take(self, frame: Frame, message: Message) -> None:
        """Keep a message of the probe before anything else is done with it."""
        self.journal.frame(frame)
        self.tally.take(message)
        self.ended = self.ended or isinstance(message, Result)


def measure(
    board: Board,
    request: Request,
    directory: Path,
    observer: Observer,
    stopped: Callable[[], bool] = lambda: False,
) -> Manifest:
    """Run the workload on a board that is ready and return the manifest of the recording.

    The recording is made in `directory`. `stopped` is asked several times a second; when it says
    yes the run ends early and is kept,
    marked as interrupted. Raises RequestError for what the board cannot do, BoardError,
    ProbeError where not even a run was begun, and DiskError for a full disk. Whatever
    happens, the probe is hung up on, and then leaves the board as it was.
    """
    check(request)
    if directory.exists():
        raise RequestError(
            f"{directory} exists: a recording is never overwritten, choose another name with -o"
        )
    observer.phase(f"reading the board {board.name}")
    started = board.start_probe(observer.phase)
    with closing(started.stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        client.keepalive(started.keepalive_s)
        plan = plan_for(request, welcome.cpus)
        identity = probe_facts(welcome, measure_frequencies(client, welcome.cpus))
        snapshot = read_files(client, for_release(WANTED, welcome.release))
        with closing(
            JournalWriter(
                directory, _opening(board, started.binary, plan, welcome, snapshot, identity)
            )
        ) as journal:
            try:
                run = _Run(plan, client, journal, observer, stopped, Tally(plan))
                client.on_message = run.take
                journal.closing(_carry_out(run))
            except ProbeRefusedError:
                # Raised only before anything was measured: there is nothing worth keeping.
                shutil.rmtree(directory)
                raise
            journal.seal()
            # The probe is done: let it leave before the host works on what it sent.
            stream.close()
            observer.phase("writing the recording")
            return finish(directory)


def _opening(
    board: Board,
    binary: ProbeBinary,
    plan: Plan,
    welcome: Welcome,
    snapshot: Snapshot,
    identity: ProbeFacts,
) -> Opening:
    return Opening(
        schema_version=SCHEMA_VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        whylate=__version__,
        board=board.name,
        clock="CLOCK_MONOTONIC",
        plan=plan,
        facts=facts(snapshot, identity),
        probe_version=welcome.version,
        probe_arch=welcome.arch,
        probe_sha256=binary.sha256,
        clock_resolution_ns=welcome.clock_resolution_ns,
        clock_read_ns=welcome.clock_read_ns,
        problems=[],
    )


def _carry_out(run: _Run) -> Closing:
    """Disturb, measure, clean up; what goes wrong once measuring has begun is part of the result.

    Raises ProbeRefusedError for a plan that the board does not take.
    """
    moved: list[Change] = []
    problems: list[Problem] = []
    state: State = "cut"
    try:
        _prepare(run)
        before = read_files(run.client, WANTED_AFTER)
        _workload(run)
        moved = changes(before, read_files(run.client, WANTED_AFTER))
        state = "interrupted" if run.interrupted else "complete"
        run.client.finish()
    except ProbeRefusedError as error:
        if not run.tally.started:
            raise
        problems.append(Problem("refused", f"the board refused: {error}", fatal=True))
    except ProbeGoneError as error:
        problems.append(Problem("probe-gone", str(error), fatal=True))
    except ProbeError as error:
        problems.append(Problem("probe", str(error), fatal=True))
    link, frames = run.client.link.counts, run.client.link.frame_counts
    if link.lost or link.malformed:
        problems.append(
            Problem(
                "line",
                f"{link.lost} frames were lost on the way for good, and {link.malformed} could not "
                "be understood",
                fatal=True,
            )
        )
    return Closing(
        state=state,
        changes=moved,
        problems=problems,
        frames=link.delivered,
        frames_damaged=frames.damaged + frames.oversized + frames.foreign,
        frames_resent=link.requests,
        frames_lost=link.lost,
    )


def _prepare(run: _Run) -> None:
    """Change settings and start the loads, and let them get going."""
    for setting in run.plan.settings:
        run.client.call(Setting(setting.path, setting.value))
    for index, load in enumerate(run.plan.loads):
        argv = tuple(shlex.split(load.command)) if load.command is not None else ()
        run.client.call(LoadStart(index, load.count, load.kind, argv))
    if run.plan.loads:
        run.observer.phase("warming up the loads")
        deadline = time.monotonic() + WARM_UP_S
        while (left := deadline - time.monotonic()) > 0 and not run.stopped():
            run.client.pump(min(left, TELL_S))
        for index, why in run.tally.stopped_loads.items():
            # Better now than after a night of measuring without it.
            kind = run.plan.loads[index].kind if index < len(run.plan.loads) else "?"
            raise ProbeRefusedError(f"load {kind} does not work here: {why}", 0)


def _workload(run: _Run) -> None:
    """Start the workload and wait for its result, or for the user to end it."""
    run.observer.phase("measuring")
    plan = run.plan
    run.client.call(
        Wakeup(
            interval_ns=plan.interval_ns,
            duration_ns=plan.duration_ns,
            priority=plan.priority,
            hold_idle=int(not plan.allow_idle_states),
            spool=int(plan.spool),
            cpus=tuple(plan.cpus),
        )
    )
    started = told = time.monotonic()
    deadline = started + plan.duration_ns / 1e9 + OVERTIME_S
    while not run.ended:
        run.client.pump(TELL_S)
        now = time.monotonic()
        if now - told >= TELL_S:
            told = now
            run.observer.progress(run.tally.progress(now - started))
        if run.stopped() and not run.interrupted:
            run.interrupted = True
            run.client.call(Stop())
            deadline = now + OVERTIME_S
        # Spooled samples take as long as the line needs, but they keep coming.
        if now > deadline and run.client.silent_for() > OVERTIME_S:
            raise ProbeError(
                "the measuring threads did not come to their end: something of a higher "
                "priority holds their CPU"
            )
