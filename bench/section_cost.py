"""What timing a section adds to an execution, beside other tools on the same tracepoints.

`python bench/section_cost.py [--rounds 20] [--results build/bench/section_cost.jsonl]`

A program calls getppid() a million times, and says how long a call takes. In each round it runs, in
random order, while nothing is traced and while each tool times system calls from
raw_syscalls:sys_enter to raw_syscalls:sys_exit. What a tool adds is the difference to nothing in
the same round. Of each tool it is checked that it saw the calls; a round in which it did not has no
figure. Interrupted, it goes on where it was. Needs root, and what `make bench` installs.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from ratios import paired_ratio
from result_book import ResultBook
from whylate.recording.reader import open_recording

PROGRAM = "system_calls"
SECTION = "raw_syscalls:sys_enter..raw_syscalls:sys_exit"
#: Until a tool has attached its programs.
SETTLE_S = 6.0
NOTHING, ALL, NAMED, SYSCOUNT, BPFTRACE = (
    "nothing", "whylate section", "whylate section --comm", "syscount -L", "bpftrace",
)  # fmt: skip
TOOLS = (ALL, NAMED, SYSCOUNT, BPFTRACE)
SCRIPT = f"""
tracepoint:raw_syscalls:sys_enter /comm == "{PROGRAM}"/ {{ @start[tid] = nsecs; }}
tracepoint:raw_syscalls:sys_exit /@start[tid]/ {{
    @calls = count(); @ns = hist(nsecs - @start[tid]); delete(@start[tid]);
}}"""
#: Where Debian puts what only root needs.
PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def tool(name: str) -> str:
    """Return where a program is."""
    found = shutil.which(name, path=PATH)
    return found or sys.exit(f"{name} is not installed: make bench-section_cost installs it")


def command(name: str, folder: str) -> list[str]:
    """Return how a tool is started."""
    ours = [sys.executable, "-m", "whylate", "section", SECTION, "--for", "10min", "-o",
            f"{folder}/r"]  # fmt: skip
    return {
        ALL: ours,
        NAMED: [*ours, "--comm", PROGRAM],
        SYSCOUNT: [tool("syscount"), "-L", "-T", "500"],
        BPFTRACE: [tool("bpftrace"), "-e", SCRIPT],
    }[name]


def seen_by(name: str, folder: str, output: str) -> int:
    """Return how many calls a tool counted."""
    if name in (ALL, NAMED):
        section = open_recording(Path(folder) / "r").manifest.section
        return section.account.entries if section and section.account else 0
    pattern = r"^getppid +(\d+)" if name == SYSCOUNT else r"@calls: (\d+)"
    return sum(int(number) for number in re.findall(pattern, output, re.MULTILINE))


def run(program: str) -> tuple[float, int]:
    """Run the program; return what a call took, ns, and how many there were."""
    words = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    return float(words[0]), int(words[1])


def ends_by_itself(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process that was told to end does; it is killed where not."""
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    return True


def with_tool(name: str, program: str) -> float | None:
    """Return what a call took while a tool traced; None: the tool did not see the calls."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as file:
            tracing = subprocess.Popen(command(name, folder), stdout=file, stderr=file)
        try:
            time.sleep(SETTLE_S)
            took_ns, calls = run(program)
        finally:
            tracing.send_signal(signal.SIGINT)
            ends = ends_by_itself(tracing)
        if not ends:
            print(f"{name} did not end: no figure", flush=True)
            return None
        seen = seen_by(name, folder, log.read_text(errors="replace"))
    if seen < calls:
        print(f"{name} saw {seen:,} of {calls:,} calls: no figure", flush=True)
        return None
    return took_ns


def measure(book: ResultBook, program: str, rounds: int) -> None:
    """Run the rounds that are still to do."""
    for number in range(len(book.rows("calls")), rounds):
        arms: dict[str, Callable[[], float | None]] = {
            name: partial(with_tool, name, program) for name in TOOLS
        }
        arms[NOTHING] = lambda: run(program)[0]
        order = list(arms)
        random.Random(number).shuffle(order)
        row = {name: arms[name]() for name in order}
        book.add("calls", row)
        print(f"round {number + 1:3}: " + ", ".join(
            f"{name} {row[name]:.0f}" if row[name] else f"{name} -" for name in (NOTHING, *TOOLS)
        ), "ns a call", flush=True)  # fmt: skip


def show(book: ResultBook) -> None:
    """Print what each tool adds, and ours beside the others."""
    added = {
        name: {
            number: row[name] - row[NOTHING]
            for number, row in enumerate(book.rows("calls"))
            if row[name]
        }
        for name in TOOLS
    }
    for name, rounds in added.items():
        if not rounds:
            print(f"{name:24} no figure")
            continue
        low, middle, high = np.percentile(list(rounds.values()), [25, 50, 75])
        print(f"{name:24} adds {middle:5.0f} ns to a call "
              f"(half of {len(rounds)} rounds: {low:.0f} to {high:.0f})")  # fmt: skip
    for ours, theirs in ((ALL, SYSCOUNT), (NAMED, BPFTRACE)):
        both = added[ours].keys() & added[theirs].keys()
        if not both:
            continue
        ratio = paired_ratio([added[ours][n] for n in both], [added[theirs][n] for n in both])
        print(f"{ours} / {theirs}: {ratio}")


def main() -> None:
    """Measure what is still to do, and print all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--results", type=Path, default=Path("build/bench/section_cost.jsonl"))
    given = parser.parse_args()
    book = ResultBook(given.results, {"rounds of": SECTION})
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/{PROGRAM}"
        source = Path(__file__).with_name(f"{PROGRAM}.c")
        subprocess.run([tool("cc"), "-O2", "-o", program, str(source)], check=True)
        measure(book, program, given.rounds)
    show(book)


if __name__ == "__main__":
    main()
