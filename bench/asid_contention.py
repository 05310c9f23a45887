"""What does an identifier of asid.h cost, and a rollover, beside a free list and caches per CPU?

And a slot of asid_turns.h, beside an identifier of asid.h?

The forms take turns, run by run, so that all meet the same disturbance. The time is that of the
threads' CPUs, waiting included. `asid_contention.c` has the forms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from ratios import paired_ratio

FORMS = ("bitmap", "list", "cache")
#: Of asid_turns.h, and those of asid.h that they are compared with.
TURNS = {"turns-known": "known", "turns": "bitmap"}
BITS = (8, 16)
THREADS = (1, 2, 4, 8, 16)
SOURCE = Path(__file__).with_suffix(".c")
Series = dict[tuple[str, int, int], list[float]]


def compile_forms(folder: Path) -> Path:
    """Compile the C part and return the program."""
    program = folder / SOURCE.stem
    command = ["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run([*command, str(SOURCE), "-o", str(program)], check=True)
    return program


def run_form(program: Path, form: str, bits: int, threads: int, ms: int) -> float:
    """Return the CPU time of a switch in ns; with ms = 0 the time of a rollover or a change."""
    words = [str(program), form, str(bits), str(threads), str(ms)]
    numbers = subprocess.run(words, check=True, capture_output=True, text=True, timeout=300).stdout
    first, *others = (int(word) for word in numbers.split())
    return others[0] / first if others else first


def measure(program: Path, rounds: int, ms: int) -> tuple[Series, Series]:
    """Return ns a switch, and ns a rollover, of each form, bits and threads in all rounds."""
    switches: Series = defaultdict(list)
    rollovers: Series = defaultdict(list)
    for number in range(rounds):
        for threads in THREADS:
            for bits in BITS:
                # The order changes, so that no form always comes after the same.
                for place in range(len(FORMS)):
                    form = FORMS[(number + place) % len(FORMS)]
                    case = (form, bits, threads)
                    switches[case].append(run_form(program, *case, ms))
                    rollovers[case].append(run_form(program, *case, 0))
            for form in ("known", *TURNS):
                case = (form, BITS[-1], threads)
                switches[case].append(run_form(program, *case, ms))
            turns = ("turns", BITS[-1], threads)
            rollovers[turns].append(run_form(program, *turns, 0))
    return switches, rollovers


def format_table(series: Series) -> list[str]:
    """Return a row for each number of bits and threads: medians in ns, and paired ratios."""
    rows = [
        "| bits | threads | bitmap, ns | free list / bitmap | cache per CPU / bitmap |",
        "|---|---|---|---|---|",
    ]
    for bits in BITS:
        for threads in THREADS:
            bitmap = series["bitmap", bits, threads]
            ratios = [str(paired_ratio(series[form, bits, threads], bitmap)) for form in FORMS[1:]]
            figures = (bits, threads, f"{statistics.median(bitmap):,.0f}", *ratios)
            rows.append(f"| {' | '.join(str(figure) for figure in figures)} |")
    return rows


def format_turns(switches: Series, changes: Series) -> list[str]:
    """Return a row for each number of threads: a slot that is kept, a new one, and a change."""
    rows = [
        "| threads | kept, ns | / asid.h | new, ns | / asid.h, 16 bits | a change, ns |",
        "|---|---|---|---|---|---|",
    ]
    for threads in THREADS:
        figures = [str(threads)]
        for form, other in TURNS.items():
            turns = switches[form, BITS[-1], threads]
            ratio = paired_ratio(turns, switches[other, BITS[-1], threads])
            figures += [f"{statistics.median(turns):.1f}", str(ratio)]
        figures.append(f"{statistics.median(changes['turns', BITS[-1], threads]):,.0f}")
        rows.append(f"| {' | '.join(figures)} |")
    return rows


def main() -> None:
    """Print four tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="10 and more; 12 where not given")
    parser.add_argument("--ms", type=int, default=20, help="of each run; 20 where not given")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        switches, rollovers = measure(compile_forms(Path(folder)), words.rounds, words.ms)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}; {words.rounds} rounds\n")
    print("CPU time of a switch to an address space that has no identifier:\n")
    print("\n".join(format_table(switches)))
    print("\nA switch in which a generation begins, for so many CPUs:\n")
    print("\n".join(format_table(rollovers)))
    print("\nCPU time of a switch to an address space that keeps its identifier:\n")
    print("| threads | ns | beside a new identifier of 16 bits |\n|---|---|---|")
    for threads in THREADS:
        known = switches["known", BITS[-1], threads]
        ratio = paired_ratio(known, switches["bitmap", BITS[-1], threads])
        print(f"| {threads} | {statistics.median(known):.1f} | {ratio} |")
    print("\nasid_turns.h: CPU time of a switch, and of telling so many CPUs of a change:\n")
    print("\n".join(format_turns(switches, rollovers)))


if __name__ == "__main__":
    main()
