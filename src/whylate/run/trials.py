"""Making the trials of a run, one after the other."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from dataclasses import replace

from whylate.probe.client import Client, ProbeRefusedError
from whylate.recording.point_names import point_names
from whylate.recording.points import (
    CLOCKS,
    HOWS,
    OVERS,
    PAGES,
    ROUTINES,
    SOURCES,
    WHATS,
    ClockPoint,
    CounterPlan,
    MemoryPoint,
    SwitchPoint,
    TrialsPlan,
)
from whylate.recording.trial_book import failure_of
from whylate.run.record import TELL_S, Run
from whylate.wire.messages import (
    Accounting,
    BenchClock,
    BenchCommand,
    BenchMemory,
    BenchSwitch,
    CommandRepetition,
    Counters,
    Done,
    Failed,
    Message,
    Stop,
)

#: Of the message memory_trial: wherever the scheduler puts it.
ANY_CPU = 0xFFFF


def counters_of(counters: Sequence[CounterPlan]) -> Counters:
    """Return the command that says what is counted."""
    return Counters(
        types=tuple(one.type for one in counters),
        configs=tuple(one.config for one in counters),
        modes=tuple(one.mode for one in counters),
    )


def ask_counters(client: Client, counters: Sequence[CounterPlan]) -> None:
    """Have events counted; raises ProbeRefusedError with what cannot be, and why."""
    if not counters:
        return
    try:
        client.call(counters_of(counters))
    except ProbeRefusedError as error:
        raise ProbeRefusedError(_no_counter(counters, error), error.error) from None


def trial_of(plan: TrialsPlan, number: int) -> Message:
    """Return the command that makes a trial of a plan."""
    point = plan.points[plan.order[number]]
    if isinstance(point, SwitchPoint):
        return BenchSwitch(
            turn=number,
            tasks=point.tasks,
            channel=OVERS.index(point.over),
            threads=int(point.threads),
            set_bytes=point.set_bytes,
            block_ns=plan.block_ns,
            repetitions=plan.repetitions,
            priority=plan.priority,
            cpus=point.cpus,
        )
    if isinstance(point, MemoryPoint):
        return BenchMemory(
            turn=number,
            operation=WHATS.index(point.what),
            source=SOURCES.index(point.source),
            pages=PAGES.index(point.pages),
            routine=ROUTINES.index(point.routine),
            size=point.size,
            block_ns=plan.block_ns,
            repetitions=plan.repetitions,
            cpu=ANY_CPU if point.cpu is None else point.cpu,
        )
    if isinstance(point, ClockPoint):
        return BenchClock(
            turn=number,
            clock=CLOCKS.get(point.clock, 0),
            method=HOWS.index(point.how),
            threads=point.threads,
            service_ns=point.service_ns,
            think_ns=point.think_ns,
            block_ns=plan.block_ns,
            repetitions=plan.repetitions,
            cpus=point.cpus,
        )
    given = ("env", *point.env) if point.env else ()
    return BenchCommand(turn=number, argv=(*given, *point.argv))


def make_trials(run: Run, plan: TrialsPlan) -> None:
    """Make all trials of a plan; raises ProbeRefusedError where none of its points can be had.

    A point that cannot be had is not tried again: why stands in the recording, and the others are
    measured.
    """
    ask_counters(run.client, plan.counters)
    names = point_names(plan.points)
    refused: dict[int, Failed] = {}
    made = 0
    began = time.monotonic()
    for number, place in enumerate(plan.order):
        if place in refused:
            continue
        if run.stopped():
            run.interrupted = True
        if run.interrupted:
            break
        failed = _make(run, plan, number, names[place], began)
        if isinstance(failed, CommandRepetition):
            # It may take an hour, and nothing would come of another.
            break
        if failed is None:
            made += 1
        elif failed.error != errno.ECANCELED:
            refused[place] = failed
        if not made and len(refused) == len(plan.points):
            raise ProbeRefusedError(failed.text if failed else "nothing could be measured", 0)
    run.client.call(Accounting())


def _no_counter(counters: Sequence[CounterPlan], error: ProbeRefusedError) -> str:
    """Return what to say of an event that cannot be counted."""
    place = int(str(error)) if str(error).isdecimal() else len(counters)
    if place >= len(counters):
        return str(error)
    name = counters[place].name
    if error.error in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return (
            f"{name} cannot be counted here: this board's CPU has no such counter, or the kernel "
            "does not know how to read it (a virtual machine mostly has none)"
        )
    if error.error in (errno.EACCES, errno.EPERM):
        return (
            f"{name} may not be counted: run as root, lower kernel.perf_event_paranoid, or count "
            f"user mode alone ({name.partition(':')[0]}:u)"
        )
    return f"{name} cannot be counted here: {os.strerror(error.error)}"


def _make(
    run: Run, plan: TrialsPlan, number: int, name: str, began: float
) -> Failed | CommandRepetition | None:
    """Make a trial; return why it failed: of a command that did how it ended."""
    command = run.client.begin(trial_of(plan, number))
    told = 0.0
    ended_badly: CommandRepetition | None = None
    while True:
        for message in run.client.pump(TELL_S):
            if isinstance(message, CommandRepetition) and failure_of(message) is not None:
                ended_badly = message
            if isinstance(message, Done) and message.command == command:
                return ended_badly
            if isinstance(message, Failed) and message.command == command:
                return message
        now = time.monotonic()
        if now - told >= TELL_S:
            told = now
            progress = run.tally.progress(now - began)
            run.observer.progress(replace(progress, trial=(number, len(plan.order), name)))
        if not run.interrupted and run.stopped():
            run.interrupted = True
            run.client.begin(Stop())
