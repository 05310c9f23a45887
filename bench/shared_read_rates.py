"""What do shared reads cost who is alone, and with four times more threads than CPUs?

The forms of `remedies/shared_read.h` take turns, run by run, so that all meet the same disturbance.
A caller that is alone: the median time of a batch of calls. Threads: calls in the elapsed time.
`shared_read_rates.c` has the device and the threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ratios import paired_ratio

FORMS = ("direct", "strict", "relaxed")
SOURCE = Path(__file__).with_suffix(".c")
BATCH = 16
OVERCOMMIT = 4


@dataclass(frozen=True)
class Case:
    """A device and the threads that read it. wait: spin or yield, while a read goes on."""

    wait: str
    threads: int
    service_ns: int


@dataclass(frozen=True)
class Turn:
    """What a form did in a run: calls a second, ns a call of a thread, and whether it shared."""

    rate: float
    call_ns: float
    is_shared: bool


Series = dict[tuple[Case, str], list[Turn]]


def make_cases(cpus: int) -> list[Case]:
    """Return the devices for a caller that is alone, and then those for many threads."""
    alone = [Case("spin", 1, service_ns) for service_ns in (0, 100, 300, 1000, 3000)]
    many = [
        Case(wait, OVERCOMMIT * cpus, service_ns)
        for wait in ("spin", "yield")
        for service_ns in (1000, 3000)
    ]
    return alone + many


def compile_forms(folder: Path) -> Path:
    """Compile the C part and return the program."""
    program = folder / SOURCE.stem
    command = ["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run([*command, str(SOURCE), "-o", str(program)], check=True)
    return program


def run_form(program: Path, form: str, case: Case, ms: int) -> Turn:
    """Run a form for so long and return what it did."""
    words = [str(program), form, case.wait, str(case.threads), str(case.service_ns), str(ms)]
    line = subprocess.run(words, check=True, capture_output=True, text=True, timeout=300).stdout
    calls, elapsed_ns, batch_ns, patience = (int(word) for word in line.split())
    return Turn(calls / elapsed_ns * 1e9, batch_ns / BATCH, is_shared=patience > 0)


def measure(program: Path, cases: list[Case], rounds: int, ms: int) -> Series:
    """Return the turns of each form with each device, in all rounds."""
    series: Series = defaultdict(list)
    for number in range(rounds):
        for case in cases:
            # The order changes, so that no form always comes after the same.
            for place in range(len(FORMS)):
                form = FORMS[(number + place) % len(FORMS)]
                series[case, form].append(run_form(program, form, case, ms))
    return series


def format_alone(series: Series, case: Case) -> str:
    """Return a row of a caller that is alone: the ratio of the times of a call, by form."""
    direct = [turn.call_ns for turn in series[case, "direct"]]
    ratios = [
        str(paired_ratio([turn.call_ns for turn in series[case, form]], direct))
        for form in FORMS[1:]
    ]
    figures = (f"{case.service_ns:,} ns", f"{statistics.median(direct):,.0f} ns", *ratios)
    return f"| {' | '.join((*figures, _format_shared(series, case)))} |"


def format_many(series: Series, case: Case) -> str:
    """Return a row of many threads: the ratio of the rates, by form."""
    direct = [turn.rate for turn in series[case, "direct"]]
    ratios = [
        str(paired_ratio([turn.rate for turn in series[case, form]], direct)) for form in FORMS[1:]
    ]
    figures = (case.wait, f"{case.service_ns:,} ns", f"{statistics.median(direct):,.0f}", *ratios)
    return f"| {' | '.join((*figures, _format_shared(series, case)))} |"


def _format_shared(series: Series, case: Case) -> str:
    turns = [turn for form in FORMS[1:] for turn in series[case, form]]
    return f"{sum(turn.is_shared for turn in turns)} of {len(turns)}"


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="10 and more; 30 where not given")
    parser.add_argument("--ms", type=int, default=60, help="of each run; 60 where not given")
    words = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    cases = make_cases(cpus)
    with tempfile.TemporaryDirectory() as folder:
        series = measure(compile_forms(Path(folder)), cases, words.rounds, words.ms)
    print(f"{cpus} CPUs, load {os.getloadavg()[0]:.0f}; {words.rounds} rounds of {words.ms} ms\n")
    print("The time of a call, one thread, to that of a direct read:\n")
    print("| a read takes | direct | strict | relaxed | sharing on |\n|---|---|---|---|---|")
    for case in cases:
        if case.threads == 1:
            print(format_alone(series, case))
    print(f"\nReads a second of {OVERCOMMIT * cpus} threads, to those of direct reads:\n")
    print("| a reader | a read takes | direct, a second | strict | relaxed | sharing on |")
    print("|---|---|---|---|---|---|")
    for case in cases:
        if case.threads > 1:
            print(format_many(series, case))


if __name__ == "__main__":
    main()
