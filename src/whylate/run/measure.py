"""One run of a workload, from the start of the probe to a finished recording."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import closing as closed
from pathlib import Path
from typing import Protocol

from whylate.boards.board import Console, Notify, StartedProbe
from whylate.boards.facts import WANTED, WANTED_AFTER, changes, cpu_model, for_release
from whylate.boards.files import measure_frequencies, probe_facts, read_files
from whylate.probe.budget import CPUS, FACTS, FINISH, LEAVE, PREPARE
from whylate.probe.client import Client
from whylate.probe.errors import ProbeError, ProbeGoneError, ProbeRefusedError
from whylate.recording.device_loads import BLOCK, parse_block
from whylate.recording.finish import REACHED, finish
from whylate.recording.manifest import Change, Manifest, Problem, State
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.recording.store.journal import Closing
from whylate.recording.workloads.activations import ActivationWorkload, RecorderPlan
from whylate.run.benchmark import run_benchmark
from whylate.run.budgets import LEAST_RATE, measuring_budget
from whylate.run.console import copy_console
from whylate.run.hits import end_hits, start_hits
from whylate.run.net_ends import Arguments, net_ends
from whylate.run.progress import Observer, Step
from whylate.run.record import (
    REPORT_S,
    WARM_UP_S,
    Run,
    closing,
    leaving,
    must_be_new,
    opening,
    recorded,
)
from whylate.run.resolve import check, resolve
from whylate.run.tally import Tally
from whylate.run.workloads import activation_rules
from whylate.run.workloads.counters import naming, start_counters
from whylate.wire.messages import Detach, LoadStart, Recorder, Setting, Stop

#: A workload that has not ended this long after its time never will.
OVERTIME_S = 30.0
#: The kernel verifies the recorder's programs first, which took an emulated board on a busy host
#: 113 s.
START_S = 300.0
#: In the order of their numbers on the wire.
ENGINES = ("best", "bpf", "tracefs")


class ReadyBoard(Protocol):
    """What a run needs of a board that is ready."""

    @property
    def name(self) -> str:
        """The name by which the user calls it."""

    @property
    def console(self) -> Console | None:
        """Its serial console, where there is one."""

    def start_probe(self, notify: Notify, /) -> StartedProbe:
        """Start the probe; raises BoardError."""


def measure(
    board: ReadyBoard,
    request: RunPlan,
    directory: Path,
    observer: Observer,
    stopped: Callable[[], bool] = lambda: False,
) -> Manifest:
    """Run the workload on a board that is ready and return the manifest of the recording.

    The recording is made in `directory`. `stopped` is called several times a second; when it
    returns true the run ends early and is kept, marked as interrupted. Raises RequestError for what
    the board cannot do, BoardError, ProbeError if no run began, and DiskError. In every case the
    connection to the probe closes, after which the probe leaves the board as it was.
    """
    check(request)
    must_be_new(directory)
    observer.step(Step.READ)
    started = board.start_probe(observer.log)
    with closed(started.stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        client.keepalive(started.keepalive_s)
        client.enter(CPUS)
        identity = probe_facts(welcome, measure_frequencies(client, welcome.cpus))
        client.enter(FACTS)
        snapshot = read_files(client, for_release(WANTED, welcome.release))
        plan = resolve(request, welcome.cpus, cpu_model(snapshot), started.host_cpus)
        with recorded(
            directory, opening(board.name, started.binary, plan, welcome, snapshot, identity)
        ) as journal:
            try:
                run = Run(plan, client, journal, observer, stopped, Tally(plan))
                client.on_message = run.receive
                with net_ends(plan.loads) as ends, copy_console(board.console, directory):
                    journal.closing(_carry_out(run, ends))
            except ProbeRefusedError:
                # Raised only before anything was measured: there is nothing to keep.
                shutil.rmtree(directory)
                raise
            journal.seal()
            # The probe leaves the board before the host works on what it sent.
            stream.close()
            observer.step(Step.WRITE)
            return finish(directory)


def _carry_out(run: Run, ends: Arguments) -> Closing:
    """Start loads, measure, clean up; an error after the measurement began is part of the result.

    Raises ProbeRefusedError for a plan that the board cannot carry out.
    """
    changed: list[Change] = []
    problems: list[Problem] = []
    state: State = "cut"
    try:
        run.client.enter(PREPARE)
        _prepare(run, ends)
        before = read_files(run.client, WANTED_AFTER)
        run.client.enter(measuring_budget(run.plan))
        _workload(run)
        run.client.enter(LEAVE)
        changed = changes(before, read_files(run.client, WANTED_AFTER))
        state = "interrupted" if run.interrupted else "complete"
        if run.reached:
            problems.append(Problem(REACHED, run.until_text(), fatal=False))
        run.client.enter(FINISH)
        problems += leaving(run.client.finish)
    except ProbeRefusedError as error:
        if not run.tally.started:
            raise
        problems.append(Problem("refused", f"the board refused: {error}", fatal=True))
    except ProbeGoneError as error:
        problems.append(Problem("probe-gone", str(error), fatal=True))
    except ProbeError as error:
        problems.append(Problem("probe", str(error), fatal=True))
    return closing(run.client, state, changed, problems)


def _prepare(run: Run, ends: Arguments) -> None:
    """Apply settings, start the loads and let them warm up. ends: of loads with another end."""
    for command in setting_commands(run.plan, of_threads=False):
        run.client.call(command)
    for index, load in enumerate(run.plan.loads):
        run.client.call(load_command(index, load, ends))
    if run.plan.loads:
        run.observer.step(Step.WARM_UP)
        deadline = time.monotonic() + WARM_UP_S
        while (left := deadline - time.monotonic()) > 0 and not run.stopped():
            run.client.pump(min(left, REPORT_S))
        refuse_dead_loads(run)
    # Threads of the loads are there by now.
    for command in setting_commands(run.plan, of_threads=True):
        run.client.call(command)


def setting_commands(plan: RunPlan, *, of_threads: bool) -> list[Setting]:
    """Return the commands that apply the settings of a plan, those of threads or the others."""
    return [
        Setting(setting.path, setting.value)
        for setting in plan.settings
        if setting.is_of_threads == of_threads
    ]


def load_command(index: int, load: LoadPlan, ends: Arguments) -> LoadStart:
    """Return the command that starts a load of a plan. ends: of loads with another end."""
    if load.kind == BLOCK and load.command is not None:
        block = parse_block(load.command)
        argv: tuple[str, ...] = (block.path, str(block.size), str(block.iops))
    elif load.command is not None and index not in ends:
        argv = tuple(shlex.split(load.command))
    else:
        argv = ends.get(index, ())
    return LoadStart(index, load.count, load.kind, argv)


def refuse_dead_loads(run: Run) -> None:
    """Raise ProbeRefusedError for a load that stopped before the measurement."""
    for index, reason in run.tally.stopped_loads.items():
        kind = run.plan.loads[index].kind if index < len(run.plan.loads) else "?"
        raise ProbeRefusedError(f"load {kind} does not work here: {reason}", 0)


def recorder_commands(plan: RecorderPlan | None) -> list[Recorder | Detach]:
    """Return the commands that start the flight recorder of a plan; none without one."""
    if plan is None:
        return []
    detach = plan.detach
    if detach is None:
        return [_recorder_command(plan)]
    return [_recorder_command(plan), Detach(detach.block_ns, tuple(detach.blocks))]


def _recorder_command(plan: RecorderPlan) -> Recorder:
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
    end_hits(run.client, run.plan)


def _run_activations(run: Run, workload: ActivationWorkload) -> None:
    if workload.recorder is not None:
        # The recording notes a refusal: samples need no recorder. A workload that needs it is
        # refused below.
        with contextlib.suppress(ProbeRefusedError):
            for command in recorder_commands(workload.recorder):
                run.client.call(command)
    start_counters(run.client, workload.counters)
    # Last: what starting the recorder hits is not of the run.
    start_hits(run.client, run.plan)
    with naming(workload.counters):
        start = activation_rules(workload).start(workload, run.plan.measured_cpus)
        run.client.call(start, START_S)
    started = reported = time.monotonic()
    deadline = started + workload.duration_ns / 1e9 + OVERTIME_S
    sent = 0
    while not run.ended:
        run.client.pump(REPORT_S)
        now = time.monotonic()
        if now - reported >= REPORT_S:
            reported = now
            run.observer.progress(run.tally.progress(now - started))
        if not (run.interrupted or run.reached):
            run.interrupted = run.stopped()
            run.reached = not run.interrupted and run.reaches_until()
            if run.interrupted or run.reached:
                run.client.call(Stop())
                deadline = now + OVERTIME_S
        run.client.check_alive()
        # Spooled samples take as long as the line needs, but the line is never silent.
        if now <= deadline:
            sent = run.tally.bytes
        elif run.client.silent_for() > OVERTIME_S:
            raise ProbeError(
                "the measuring threads did not end: a task of a higher priority holds their CPU"
            )
        elif now - deadline > (run.tally.bytes - sent) / LEAST_RATE:
            raise ProbeError(
                f"the board did not end its measurement: {OVERTIME_S:.0f} s after its time it "
                f"sends less than {LEAST_RATE} bytes/s of samples and windows"
            )
