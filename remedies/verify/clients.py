"""Compile and run the clients of the remedies: under Relacy, and as C11 with ThreadSanitizer."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REMEDIES = FOLDER.parent
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes")


@dataclass(frozen=True)
class Client:
    """A client, and how many executions Relacy draws of it: in tests, and in the long form."""

    name: str
    executions: int
    long_executions: int


CLIENTS = (
    Client("shared_read_strict", 50_000, 5_000_000),
    Client("shared_read_witness", 50_000, 5_000_000),
    Client("shared_read_relaxed", 50_000, 5_000_000),
    Client("shared_read_rests", 50_000, 5_000_000),
    Client("bulk_chunks", 50_000, 5_000_000),
    Client("asid_rollover", 40_000, 1_500_000),
    Client("asid_unmap", 50_000, 3_000_000),
    Client("asid_turns", 50_000, 5_000_000),
)
#: A program that takes its own cases: what the tests run, and what the long form does.
SEQUENCES = "asid_sequences"
SEQUENCE_RUNS = (["exhaustive", "5"], ["random", "1000000", "1"])
LONG_SEQUENCE_RUNS = (["exhaustive", "7"], ["random", "100000000", "1"])
#: So too: the slots of a CPU, and the cases.
TURNS = "turns_sequences"
TURNS_RUNS = ((2, ["exhaustive", "6"]), (6, ["random", "1000000", "1"]))
LONG_TURNS_RUNS = (
    (1, ["exhaustive", "8"]),
    (2, ["exhaustive", "8"]),
    (6, ["random", "100000000", "1"]),
)
#: So too, and the items of bulk work in its cases.
BOUNDS = "bulk_bounds"
BOUND_ITEMS = 8
LONG_BOUND_ITEMS = 14


@dataclass(frozen=True)
class Outcome:
    """How a check ended, and the end of what it printed."""

    passed: bool
    text: str


def compile_client(name: str, folder: Path, flags: list[str], root: Path = REMEDIES) -> Path:
    """Compile verify/`name`.c of a folder of remedies as C11 and return the program."""
    program = folder / name
    source = str(root / "verify" / f"{name}.c")
    command = ["cc", "-std=c11", *WARNINGS, "-pthread", *flags, source, "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def compile_relacy(name: str, folder: Path, root: Path = REMEDIES) -> Path:
    """Compile it as C++, with Relacy's atomics and scheduler, and return the program."""
    program = folder / f"{name}-relacy"
    source = str(root / "verify" / f"{name}.c")
    # -w: warnings of Relacy's own headers. -Og compiles in a third of the time of -O2.
    command = ["g++", "-x", "c++", "-std=c++14", "-Og", "-w", "-DREMEDY_RELACY", "-pthread"]
    subprocess.run([*command, source, "-o", str(program)], check=True)
    return program


def run_program(command: list[str], timeout_s: float = 3600, folder: str | None = None) -> Outcome:
    """Run a check, in a folder; one that does not end in time has failed."""
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return Outcome(passed=False, text="it did not end")
    return Outcome(passed=done.returncode == 0, text=(done.stdout + done.stderr)[-20_000:])


def check_relacy(client: Client, folder: Path, executions: int, root: Path = REMEDIES) -> Outcome:
    """Run a client in all executions with at most two preemptions, then in random ones."""
    program = str(compile_relacy(client.name, folder, root))
    for search, most in (("bound", 100_000_000), ("random", executions)):
        outcome = run_program([program, search, str(most)])
        if not outcome.passed:
            return outcome
    return outcome


def check_threads(client: Client, rounds: int) -> Outcome:
    """Run a client with real threads under ThreadSanitizer."""
    flags = ["-O1", "-g", "-fsanitize=thread", f"-DROUNDS={rounds}"]
    with tempfile.TemporaryDirectory() as folder:
        return run_program([str(compile_client(client.name, Path(folder), flags))])


def check_sequences(runs: tuple[list[str], ...], root: Path = REMEDIES) -> Outcome:
    """Run the allocator of identifiers beside the naive model."""
    return _run_cases(SEQUENCES, runs, root)


def check_turns(runs: tuple[tuple[int, list[str]], ...], root: Path = REMEDIES) -> Outcome:
    """Run the slots that each CPU hands out beside their naive model: slots of a CPU, cases."""
    outcomes = [
        _run_cases(TURNS, (words,), root, [f"-DASID_TURNS={slots}u"]) for slots, words in runs
    ]
    return _join(outcomes)


def check_bounds(items: int, root: Path = REMEDIES) -> Outcome:
    """Run bulk work and its tuner in all cases of up to so many items."""
    return _run_cases(BOUNDS, ([str(items)],), root)


def _run_cases(
    name: str, runs: tuple[list[str], ...], root: Path, flags: list[str] | None = None
) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        program = str(compile_client(name, Path(folder), ["-O2", *(flags or [])], root))
        return _join([run_program([program, *words]) for words in runs])


def _join(outcomes: list[Outcome]) -> Outcome:
    return Outcome(
        passed=all(outcome.passed for outcome in outcomes),
        text="".join(outcome.text for outcome in outcomes),
    )
