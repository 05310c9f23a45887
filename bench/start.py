"""What the start of whylate takes of a CPU, verb by verb.

`python bench/start.py [--rounds 9] [--beside SRC [--lab DIR]]`

Every command runs once in each round, in random order, and the median is printed: user and system
time of the process alone, in seconds. Compiled bytecode is there before. SRC is the directory `src`
of another version, which runs in the same rounds; DIR is a copy of the lab's cache for it, since
two versions would make the images of one cache in turns.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: A: a recording that is made first, of this machine.
COMMANDS = (
    "--version",
    "--help",
    "measure --help",
    "compare --help",
    "bench memory --help",
    "study run --help",
    "board soak --help",
    "measure local --interval 1us",
    "facts local",
    "doctor local",
    "board list",
    "board status",
    "measure local --for 1s -o OUT",
    "report A",
    "compare A : A",
    "import A.txt -o OUT",
)
#: The environment in which the shell asks for completions of `whylate `.
COMPLETION = {"_WHYLATE_COMPLETE": "bash_complete", "COMP_WORDS": "whylate ", "COMP_CWORD": "1"}
#: Reports the CPU time of the process itself: a board's emulator is none of it.
PROGRAM = """
import atexit, os, sys, time
fd = int(sys.argv.pop(1))
atexit.register(lambda: os.write(fd, str(time.process_time()).encode()))
sys.argv[0] = "whylate"
from whylate.cli import main
main()
"""


@dataclass(frozen=True)
class Version:
    """A version of whylate. lab: the cache of its virtual boards; None: the user's."""

    source: Path
    lab: Path | None = None


def main() -> None:
    """Run all commands in interleaved rounds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--beside", type=Path, metavar="SRC")
    parser.add_argument("--lab", type=Path, metavar="DIR")
    options = parser.parse_args()
    versions = [Version(ROOT / "src")]
    if options.beside:
        versions.append(Version(options.beside.resolve(), options.lab and options.lab.resolve()))
    for version in versions:
        compileall.compile_dir(version.source, quiet=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpu_s(versions[0], "measure local --for 2s -o A", folder)
        (folder / "A.txt").write_text("".join(f"{number % 7 + 1}\n" for number in range(100)))
        took: dict[tuple[str, Version], list[float]] = {}
        turns = [(command, version) for command in (*COMMANDS, "") for version in versions]
        for _ in range(options.rounds):
            random.shuffle(turns)
            for command, version in turns:
                took.setdefault((command, version), []).append(cpu_s(version, command, folder))
    print("| `whylate …` |" + "".join(f" {version.source} |" for version in versions))
    print("|---|" + "---|" * len(versions))
    for command in (*COMMANDS, ""):
        medians = [statistics.median(took[command, version]) for version in versions]
        cells = " | ".join(f"{median:.3f}" for median in medians)
        print(f"| `{command or 'completing a verb'}` | {cells} |")


def cpu_s(version: Version, command: str, folder: Path) -> float:
    """Return the CPU time of a command; "": of completing a verb."""
    reading, writing = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(version.source)}
    environment |= {} if command else COMPLETION
    environment |= {"WHYLATE_LAB": str(version.lab)} if version.lab else {}
    with os.fdopen(reading) as pipe:
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(writing), *shlex.split(command)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writing],
            check=False,
        )
        os.close(writing)
        subprocess.run(["rm", "-rf", folder / "OUT"], check=True)
        return float(pipe.read())


if __name__ == "__main__":
    main()
