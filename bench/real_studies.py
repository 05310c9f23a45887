"""Do studies on this machine err as often as they say, and see what is there?

`python bench/real_studies.py [--studies 60] [--parts null,effect] [--results FILE]`

null     studies of 2 x 6 short runs under load, both sides the same: how many call a difference
effect   studies of 2 x 10 longer ones: real-time threads hold each CPU for 4 ms at a time on both
         sides, and on one of them others for 8 ms, so that p99 is twice as high: how many call it

A host that takes 1 % of a virtual machine's time for milliseconds at a time makes the p99 of
activations that are late by less differ manyfold between runs; so the tail whose doubling is asked
for here is one that lasts as long as such stops. Each study is judged and forgotten; its result is
kept, so that it goes on where it was ended. Needs root and a C compiler, and takes half a minute a
study, and over two where it has the threads. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from many_studies import rate, verdicts
from result_book import ResultBook, Row
from whylate.boards.local import LocalBoard
from whylate.recording.plan import LoadPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant


@dataclass(frozen=True)
class Busy:
    """Threads, one on each CPU, that hold it for so long, every period."""

    busy_us: int
    period_us: int


@dataclass(frozen=True)
class Part:
    """A study: its rounds, its runs, and the threads of both sides and of the second alone."""

    rounds: int
    seconds: float
    interval_ns: int
    both: Busy | None = None
    second: Busy | None = None


PARTS = {
    "null": Part(6, 1.5, 500_000),
    "effect": Part(10, 5.0, 10_000_000, Busy(4_000, 40_000), Busy(8_000, 80_000)),
}
BUSY_C = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long busy_ns, period_ns;
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void *run(void *cpu)
{
	struct sched_param priority = {.sched_priority = 90};
	cpu_set_t set;
	long next = now();
	CPU_ZERO(&set);
	CPU_SET((long)cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority))
		exit(1);
	for (;;) {
		struct timespec until;
		next += period_ns + random() % (period_ns / 8);
		until.tv_sec = next / 1000000000L;
		until.tv_nsec = next % 1000000000L;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
		for (long end = now() + busy_ns; now() < end;)
			;
	}
	return 0;
}
int main(int count, char **words)
{
	pthread_t thread;
	busy_ns = atol(words[1]) * 1000;
	period_ns = atol(words[2]) * 1000;
	for (long cpu = 0; cpu < atol(words[3]); cpu++)
		pthread_create(&thread, 0, run, (void *)cpu);
	pthread_join(thread, 0);
	return count < 0;
}
"""


def study(part: Part, number: int, program: Path) -> Row:
    """Make one study and return what it found."""

    def command(busy: Busy) -> str:
        return f"{program} {busy.busy_us} {busy.period_us} {os.cpu_count()}"

    loads = [LoadPlan("memory", 1), LoadPlan("switch", 1)]
    if part.both:
        loads.append(LoadPlan("cmd", 1, command(part.both)))
    plan = StudyPlan(
        workload=Wakeup(
            duration_ns=int(part.seconds * 1e9), interval_ns=part.interval_ns, priority=80
        ),
        boards=["local"],
        variants=[
            Variant("first", {}),
            Variant("second", {"load": f"cmd:{command(part.second)}"} if part.second else {}),
        ],
        loads=[LoadSet("load", loads)],
        stop=Stop("runs", [part.rounds]),
        seed=number,
    )
    found = verdicts(plan, lambda *_: LocalBoard())["second"]
    p99 = next(row for row in found.statistics if row.name == "p99")
    return {"verdict": found.verdict, "p": found.p, "p99_ratio": p99.ratio, "why": found.why}


def show(name: str, rows: list[Row]) -> None:
    """Print how many studies called a difference."""
    called = [row["verdict"] in ("better", "worse") for row in rows]
    ratio = np.median([row["p99_ratio"] for row in rows])
    refused = sum(row["verdict"] == "no verdict" for row in rows)
    print(
        f"{name:7} a difference is called by {rate(called)}; p99 × {ratio:.2f} (median); "
        f"{refused} without a verdict"
    )


def main() -> None:
    """Make the studies that are missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--results", type=Path, default=Path("build/bench/real_studies.jsonl"))
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root")
    parts = {name: repr(part) for name, part in PARTS.items()}
    book = ResultBook(options.results, {"parts": parts})
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "busy.c", Path(folder) / "busy"
        source.write_text(BUSY_C)
        subprocess.run(["cc", "-O2", "-pthread", "-o", str(program), str(source)], check=True)
        for name in options.parts.split(","):
            for number in range(len(book.rows(name)), options.studies):
                book.add(name, study(PARTS[name], number + 1, program))
                print(f"{name} {number + 1}: {book.rows(name)[-1]}", flush=True)
            show(name, book.rows(name))


if __name__ == "__main__":
    main()
