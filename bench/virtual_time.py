"""Do runs in virtual time repeat each other to the nanosecond, whatever the host does meanwhile?

`python bench/virtual_time.py [--times 10] [--boards virt-arm64,pc] [--cpus 1,2] [--seconds 1]`

Each case is run so many times: every board, with one and two CPUs, without and with a load and a
injected fault; in the last two runs of each the reader of the results is stopped for five seconds.
All cores of the host are kept busy. What is compared is the digest of all samples.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

WHYLATE = Path(sys.executable).parent / "whylate"
READER_STOPPED_S = 5.0


def burn() -> None:
    """Keep a core busy."""
    while True:
        sum(range(10_000))


def run(board: str, cpus: int, words: Sequence[str], seconds: float, *, stop: bool) -> str:
    """Measure once and return the digest of the samples."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(WHYLATE), "measure", board, "--virtual-time", "--smp", str(cpus),
            "--for", f"{int(seconds * 1000)}ms", "-o", f"{folder}/r", "--json", *words,
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if stop:
            threading.Thread(target=stop_for_a_while, args=(process.pid,), daemon=True).start()
        output, _ = process.communicate()
        found = msgspec.json.decode(output)
        if found["state"] != "complete" or found["dropped"]:
            sys.exit(f"the run on {board} is not whole: {found['trust_reasons']}")
        return str(found["samples_sha256"])


def stop_for_a_while(pid: int) -> None:
    """Stop the reader of the results in the middle of the run, QEMU goes on."""
    time.sleep(2.0)
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(READER_STOPPED_S)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def cases(board: str) -> list[tuple[str, list[str]]]:
    """Return what is run on a board: alone, under load, with an injected fault, with both."""
    known = "irqs-off size_us=300" if board.startswith("pc") else "rt-task size_us=300"
    load, cause = ["--load", "memory"], ["--fault", known]
    return [
        ("alone", []),
        ("load memory", load),
        (known.split(maxsplit=1)[0], cause),
        ("both", load + cause),
    ]


def main() -> None:
    """Run every case and print how many different results it had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--boards", default="virt-arm64,pc")
    parser.add_argument("--cpus", default="1,2")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    busy = [multiprocessing.Process(target=burn, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in busy:
        process.start()
    failed = False
    for board in options.boards.split(","):
        for cpus in map(int, options.cpus.split(",")):
            for name, words in cases(board):
                began = time.monotonic()
                # The last two with the reader stopped in the middle.
                digests = [
                    run(board, cpus, words, options.seconds, stop=i >= options.times - 2)
                    for i in range(options.times)
                ]
                each = (time.monotonic() - began) / options.times
                different = len(set(digests))
                failed |= different != 1
                print(
                    f"{board:10} {cpus} CPU  {name:24} {options.times} runs, "
                    f"{different} distinct, {digests[0][:16]}  ({each:.1f} s each)",
                    flush=True,
                )
    for process in busy:
        process.terminate()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
