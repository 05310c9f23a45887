"""One run of a workload, from the first word to the probe to a finished recording."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import closing as hung_up
from pathlib import Path

from whylate.boards.board import Board
from whylate.boards.facts import WANTED, WANTED_AFTER, changes, cpu_model, for_release
from whylate.boards.files import measure_frequencies, probe_facts, read_files
from whylate.probe.client import Client, ProbeError, ProbeGoneError, ProbeRefusedError
from whylate.recording.finish import REACHED, finish
from whylate.recording.manifest import Change, Manifest, Problem, State
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.recording.store.journal import Closing, JournalWriter
from whylate.recording.workloads.activations import ActivationWorkload, RecorderPlan
from whylate.run.benchmark import ask_counters, run_benchmark
from whylate.run.console import copy_console
from whylate.run.progress import Observer, Step, Tally
from whylate.run.record import REPORT_S, WARM_UP_S, Run, closing, leaving, must_be_new, opening
from whylate.run.resolve import check, resolve
from whylate.run.until import can_be_said, said
from whylate.run.workloads import activation_rules
from whylate.wire.messages import LoadStart, Recorder, Setting, Stop

#: A workload that has not ended this long after it should have will not.
OVERTIME_S = 30.0
#: A kernel looks through the recorder's programs before it takes them. An emulated board on a busy
#: host took 113 s for that.
START_S = 300.0
#: As the probe counts them.
ENGINES = ("best", "bpf", "tracefs")


def measure(
    board: Board,
    request: RunPlan,
    directory: Path,
    observer: Observer,
    stopped: Callable[[], bool] = lambda: False,
) -> Manifest:
    """Run the workload on a board that is ready and return the manifest of the recording.

    The recording is made in `directory`. `stopped` is asked several times a second; when it says
    yes the run ends early and is kept, marked as interrupted. Raises RequestError for what the
    board cannot do, BoardError, ProbeError where not even a run was begun, and DiskError for a
    full disk. Whatever happens, the probe is hung up on, and then leaves the board as it was.
    """
    check(request)
    must_be_new(directory)
    observer.step(Step.READ)
    started = board.start_probe(observer.log)
    with hung_up(started.stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        client.keepalive(started.keepalive_s)
        identity = probe_facts(welcome, measure_frequencies(client, welcome.cpus))
        snapshot = read_files(client, for_release(WANTED, welcome.release))
        plan = resolve(request, welcome.cpus, cpu_model(snapshot), started.host_cpus)
        with hung_up(
            JournalWriter(
                directory, opening(board.name, started.binary, plan, welcome, snapshot, identity)
            )
        ) as journal:
            try:
                run = Run(plan, client, journal, observer, stopped, Tally(plan))
                client.on_message = run.receive
                with copy_console(board, directory):
                    journal.closing(_carry_out(run))
            except ProbeRefusedError:
                # Raised only before anything was measured: there is nothing worth keeping.
                shutil.rmtree(directory)
                raise
            journal.seal()
            # The probe is done: let it leave before the host works on what it sent.
            stream.close()
            observer.step(Step.WRITE)
            return finish(directory)


def _carry_out(run: Run) -> Closing:
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
        if run.reached:
            problems.append(Problem(REACHED, said(run), fatal=False))
        problems += _finish(run.client)
    except ProbeRefusedError as error:
        if not run.tally.started:
            raise
        problems.append(Problem("refused", f"the board refused: {error}", fatal=True))
    except ProbeGoneError as error:
        problems.append(Problem("probe-gone", str(error), fatal=True))
    except ProbeError as error:
        problems.append(Problem("probe", str(error), fatal=True))
    return closing(run.client, state, moved, problems)


def _finish(client: Client) -> list[Problem]:
    """End loads and put settings back; return what was not in order."""
    try:
        client.finish()
    except ProbeRefusedError as error:
        return [leaving(error)]
    return []


def _prepare(run: Run) -> None:
    """Change settings and start the loads, and let them get going."""
    for setting in run.plan.settings:
        run.client.call(Setting(setting.path, setting.value))
    for index, load in enumerate(run.plan.loads):
        run.client.call(load_command(index, load))
    if run.plan.loads:
        run.observer.step(Step.WARM_UP)
        deadline = time.monotonic() + WARM_UP_S
        while (left := deadline - time.monotonic()) > 0 and not run.stopped():
            run.client.pump(min(left, REPORT_S))
        refuse_dead_loads(run)


def load_command(index: int, load: LoadPlan) -> LoadStart:
    """Return the command that starts a load of a plan."""
    argv = tuple(shlex.split(load.command)) if load.command is not None else ()
    return LoadStart(index, load.count, load.kind, argv)


def refuse_dead_loads(run: Run) -> None:
    """Raise ProbeRefusedError for a load that stopped before measuring began."""
    for index, why in run.tally.stopped_loads.items():
        # Better now than after a night of measuring without it.
        kind = run.plan.loads[index].kind if index < len(run.plan.loads) else "?"
        raise ProbeRefusedError(f"load {kind} does not work here: {why}", 0)


def recorder_command(plan: RecorderPlan) -> Recorder:
    """Return the command that starts the flight recorder of a plan."""
    return Recorder(
        engine=ENGINES.index(plan.engine),
        threshold_ns=plan.threshold_ns or 0,
        tail_ppm=plan.tail_ppm,
        control_every=plan.control_every,
        ring_bytes=0,
        stop_above_ns=plan.stop_above_ns or 0,
    )


def _workload(run: Run) -> None:
    """Start the workload and wait for its result, or for the user to end it."""
    run.observer.step(Step.MEASURE)
    if run.plan.benchmark is not None:
        run_benchmark(run, run.plan.benchmark)
    elif run.plan.activations is not None:
        _run_activations(run, run.plan.activations)


def _run_activations(run: Run, workload: ActivationWorkload) -> None:
    if workload.recorder is not None:
        # A refusal is recorded: samples need no recorder. The workload app needs it, and is
        # refused too.
        with contextlib.suppress(ProbeRefusedError):
            run.client.call(recorder_command(workload.recorder))
    ask_counters(run.client, workload.counters)
    run.client.call(activation_rules(workload).start(workload, run.plan.measured_cpus), START_S)
    started = told = time.monotonic()
    deadline = started + workload.duration_ns / 1e9 + OVERTIME_S
    while not run.ended:
        run.client.pump(REPORT_S)
        now = time.monotonic()
        if now - told >= REPORT_S:
            told = now
            run.observer.progress(run.tally.progress(now - started))
        if not (run.interrupted or run.reached):
            run.interrupted = run.stopped()
            run.reached = not run.interrupted and can_be_said(run)
            if run.interrupted or run.reached:
                run.client.call(Stop())
                deadline = now + OVERTIME_S
        # Spooled samples take as long as the line needs, but they keep coming.
        if now > deadline and run.client.silent_for() > OVERTIME_S:
            raise ProbeError(
                "the measuring threads did not come to their end: something of a higher "
                "priority holds their CPU"
            )
