"""Run a benchmark: its turns, one after the other."""

from __future__ import annotations

import errno
import time
from dataclasses import replace

from whylate.probe.errors import ProbeRefusedError, ProbeTimeoutError
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.point_names import point_names
from whylate.run.hits import start_hits
from whylate.run.progress import Turn
from whylate.run.record import REPORT_S, Run
from whylate.run.workloads import benchmark_rules
from whylate.run.workloads.counters import start_counters
from whylate.wire.messages import Accounting, Done, Failed, Stop

#: A turn that was stopped ends within this time.
STOP_S = 60.0


def run_benchmark(run: Run, workload: BenchmarkWorkload) -> None:
    """Measure all turns; raises ProbeRefusedError if no point can be measured.

    A point that fails is not measured again: the reason is recorded, and the other points go on.
    """
    start_counters(run.client, workload.counters)
    start_hits(run.client, run.plan)
    names = point_names(workload.points)
    failures: dict[int, Failed] = {}
    measured = 0
    began = time.monotonic()
    for number, point in enumerate(workload.order):
        if point in failures:
            continue
        if run.stopped():
            run.interrupted = True
        if run.interrupted:
            break
        failed, ended = _measure_turn(run, workload, number, names[point], began)
        if ended:
            break
        if failed is None:
            measured += 1
        elif failed.error != errno.ECANCELED:
            failures[point] = failed
        if not measured and len(failures) == len(workload.points):
            raise ProbeRefusedError(failed.text if failed else "nothing could be measured", 0)
    run.client.call(Accounting())


def _measure_turn(
    run: Run, workload: BenchmarkWorkload, number: int, name: str, began: float
) -> tuple[Failed | None, bool]:
    """Measure a turn; return its failure, and whether the whole run ends with it."""
    rules = benchmark_rules(workload)
    command = run.client.begin(rules.turn(workload, number))
    reported = 0.0
    ended = False
    patience_s = rules.patience_s(workload)
    point = workload.points[workload.order[number]]
    most = run.tally.repetitions + point.rows * workload.repetitions
    repetitions, moved_at = run.tally.repetitions, time.monotonic()
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
        if repetitions != run.tally.repetitions <= most:
            repetitions, moved_at = run.tally.repetitions, now
        if now - moved_at > patience_s:
            raise ProbeTimeoutError(f"{name} made no repetition within {patience_s:.0f} s")
        run.client.check_alive()
        if not run.interrupted and run.stopped():
            run.interrupted = True
            patience_s = min(patience_s, STOP_S)
            moved_at = now
            run.client.begin(Stop())
