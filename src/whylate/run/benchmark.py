"""Running a benchmark: its turns, one after the other."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from dataclasses import replace

from whylate.probe.client import Client, ProbeRefusedError
from whylate.recording.workloads.benchmarks import BenchmarkWorkload, CounterPlan
from whylate.recording.workloads.point_names import point_names
from whylate.run.progress import Turn
from whylate.run.record import REPORT_S, Run
from whylate.run.workloads import benchmark_rules
from whylate.wire.messages import Accounting, Counters, Done, Failed, Stop


def counters_command(counters: Sequence[CounterPlan]) -> Counters:
    """Return the command that says what is counted."""
    return Counters(
        types=tuple(counter.type or 0 for counter in counters),
        configs=tuple(counter.config for counter in counters),
        modes=tuple(counter.mode for counter in counters),
    )


def ask_counters(client: Client, counters: Sequence[CounterPlan]) -> None:
    """Have events counted; raises ProbeRefusedError with what cannot be, and why."""
    if not counters:
        return
    try:
        client.call(counters_command(counters))
    except ProbeRefusedError as error:
        raise ProbeRefusedError(_counter_refusal(counters, error), error.error) from None


def _counter_refusal(counters: Sequence[CounterPlan], error: ProbeRefusedError) -> str:
    """Return why an event cannot be counted."""
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


def run_benchmark(run: Run, workload: BenchmarkWorkload) -> None:
    """Make all turns; raises ProbeRefusedError where no point can be measured.

    A point that fails is not tried again: the reason is recorded, and the others are measured.
    """
    ask_counters(run.client, workload.counters)
    names = point_names(workload.points)
    refused: dict[int, Failed] = {}
    made = 0
    began = time.monotonic()
    for number, point in enumerate(workload.order):
        if point in refused:
            continue
        if run.stopped():
            run.interrupted = True
        if run.interrupted:
            break
        failed, ended = _make_turn(run, workload, number, names[point], began)
        if ended:
            break
        if failed is None:
            made += 1
        elif failed.error != errno.ECANCELED:
            refused[point] = failed
        if not made and len(refused) == len(workload.points):
            raise ProbeRefusedError(failed.text if failed else "nothing could be measured", 0)
    run.client.call(Accounting())


def _make_turn(
    run: Run, workload: BenchmarkWorkload, number: int, name: str, began: float
) -> tuple[Failed | None, bool]:
    """Make a turn; return why it failed, and whether that ends the run."""
    rules = benchmark_rules(workload)
    command = run.client.begin(rules.turn(workload, number))
    reported = 0.0
    ended = False
    while True:
        for message in run.client.pump(REPORT_S):
            ended = ended or rules.failure(message)
            if isinstance(message, Done) and message.command == command:
                return None, ended
            if isinstance(message, Failed) and message.command == command:
                return message, ended
        now = time.monotonic()
        if now - reported >= REPORT_S:
            reported = now
            progress = run.tally.progress(now - began)
            turn = Turn(number, len(workload.order), name)
            run.observer.progress(replace(progress, turn=turn))
        if not run.interrupted and run.stopped():
            run.interrupted = True
            run.client.begin(Stop())
