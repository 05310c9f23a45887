"""Does the accounting of a section close at high rates, and is each row there that was drawn?

`python bench/section_rates.py [--cases kept,sampled] [--threads 2] [--for 60] [--options=--spool]`

A program calls getppid() at a known rate from several threads, and `whylate section` times system
calls from raw_syscalls:sys_enter to raw_syscalls:sys_exit, of that program alone:

kept     200,000 a second, each with a row (--one-in 1)
sampled  2,000,000 a second, of which whylate chooses how many have one, so that the program runs
         before it; for a third of the time

A row of the table has the calls that the program made, the accounting, and the rows. Exits with 1
where the accounting does not close, a call of `kept` was not timed, or a row was lost. Needs root.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from whylate.recording.reader import open_recording
from whylate.recording.sections import SectionAccount
from whylate.recording.store.journal import NAME, read_journal
from whylate.wire.messages import SectionStarted

PROGRAM = "call_rate"
SECTION = "raw_syscalls:sys_enter..raw_syscalls:sys_exit"
#: By name: calls a second, share of the time, options.
CASES: dict[str, tuple[int, float, tuple[str, ...]]] = {
    "kept": (200_000, 1.0, ("--one-in", "1")),
    "sampled": (2_000_000, 1 / 3, ()),
}
#: The section is timed so much longer than the program should run: it catches up what comes late.
LATE_S = 10
START_S = 60.0
#: A program that is ended when nothing is timed any more.
LONG_S = 3600


@dataclass(frozen=True)
class Outcome:
    """What came of a run: what the program did, and what was recorded.

    made: calls; 0: it ran before and after, too.
    """

    made: int
    took_s: float
    account: SectionAccount
    one_in: int
    drawn: int
    dropped: int

    @property
    def is_whole(self) -> bool:
        """Whether the accounting closes, has each call, and each row is there."""
        return self.account.closes and self.account.entries >= self.made and not self.dropped


def has_started(folder: Path) -> bool:
    """Return whether the section is timed."""
    if not (folder / NAME).exists():
        return False
    frames, _ = read_journal(folder / NAME, frozenset({SectionStarted.KIND}))
    return next(frames, None) is not None


def measure(case: str, threads: int, seconds: int, options: list[str]) -> Outcome:
    """Run the program while its system calls are timed."""
    per_s, share, own = CASES[case]
    length_s = round(seconds * share)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, recording = folder / PROGRAM, folder / "r"
        source = Path(__file__).with_name(f"{PROGRAM}.c")
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
        words = [sys.executable, "-m", "whylate", "section", SECTION, "--comm", PROGRAM, "--for",
                 f"{length_s + LATE_S}s", "-o", str(recording), *own, *options]  # fmt: skip
        arguments = [str(threads), str(per_s)]
        running, made = None, "0 0"
        if "--one-in" not in own:
            running = subprocess.Popen([program, *arguments, str(LONG_S)])
            time.sleep(1)
        with (folder / "log").open("w+") as log:
            timing = subprocess.Popen(words, stdout=log, stderr=log)
            ends = time.monotonic() + START_S
            while not has_started(recording) and timing.poll() is None and time.monotonic() < ends:
                time.sleep(0.05)
            try:
                if running is None:
                    made = subprocess.check_output([program, *arguments, str(length_s)], text=True)
                timing.wait()
            finally:
                if running is not None:
                    running.kill()
                    running.wait()
            log.seek(0)
            text = log.read()
        if not (recording / "manifest.json").exists():
            sys.exit(f"{case}: {text[-2000:]}")
        manifest = open_recording(recording).manifest
    section = manifest.section
    if section is None or section.account is None:
        sys.exit(f"{case}: no accounting: {text[-2000:]}")
    calls, took_s = made.split()
    dropped = sum(cpu.dropped for cpu in manifest.cpus)
    drawn = sum(cpu.seen for cpu in manifest.cpus) + dropped
    return Outcome(int(calls), float(took_s), section.account, section.one_in, drawn, dropped)


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--for", dest="seconds", type=int, default=60, metavar="SECONDS")
    parser.add_argument("--options", default="--spool", help="more, of whylate section")
    given = parser.parse_args()
    cases = given.cases.split(",")
    if not set(cases) <= set(CASES):
        parser.error(f"of the cases {', '.join(CASES)}")
    # None made: the program ran before and after, too.
    print("| calls a second | made | entries = returned + others | with a row, of those drawn |")
    print("|---|---|---|---|", flush=True)
    is_whole = True
    for case in cases:
        outcome = measure(case, given.threads, given.seconds, given.options.split())
        account = outcome.account
        is_whole &= outcome.is_whole
        print(
            f"| {CASES[case][0]:,} | {outcome.made:,} in {outcome.took_s:.1f} s | "
            f"{account.entries:,} = {account.returned:,} + {account.entries - account.returned:,}"
            f"{'' if account.closes else ' (does not close)'} | "
            f"{outcome.drawn - outcome.dropped:,} of {outcome.drawn:,}, 1 in {outcome.one_in} |",
            flush=True,
        )
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs")
    sys.exit(not is_whole)


if __name__ == "__main__":
    main()
