"""What takes long to import is imported where it is used: most verbs start without it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from whylate.cli import OPENBLAS_THREADS, whylate

#: Of a board with a fault, and nothing predicted beside it.
RECORDING = Path(__file__).parent.parent / "predict" / "data" / "pc-irqs-off"
SLOW = (
    "scipy.optimize", "scipy.stats", "scipy.linalg", "labgrid", "whylate.predict.score",
    "whylate.study", "whylate.boards", "whylate.compare.overlay", "whylate.recording.decoder",
)  # fmt: skip
ARRAYS = {"numpy", "pyarrow", "scipy"}
#: Modules that no verb needs before it works.
HEAVY = ARRAYS | {"msgspec", "rich", "jinja2", "labgrid", "whylate.wire.messages"}
#: Modules of whylate: with --help 4 at present, with that of a verb at most 26.
MOST_AT_START, MOST_OF_A_VERB = 6, 32
#: Their options have words that are of the struct of a plan: 41 modules at present.
BENCHMARKS_WITH_WORDS = {"clock", "flush", "memory", "switch"}
MOST_WITH_A_PLAN = 50

#: Runs whylate with each of several command lines, in a process each, and prints which modules
#: each one loaded. None of them has more before than what `whylate.cli` itself imports.
PROGRAM = """
import json, os, sys
from whylate.cli import main

def run(arguments):
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            names = pipe.read().split()
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), names]
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    status = 1
    try:
        sys.argv = ["whylate", *arguments]
        main()
    except SystemExit as ended:
        status = ended.code
    finally:
        os.write(writing, " ".join(sys.modules).encode())
        os._exit(status)

print(json.dumps([run(arguments) for arguments in json.loads(sys.argv[1])]))
"""


def verbs(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return all verbs, and those of groups of verbs, as they are written."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*words, name)
        if isinstance(command, click.Group):
            yield from verbs(command, (*words, name))


def loaded(lines: Sequence[Sequence[str]]) -> list[tuple[int, set[str]]]:
    """Return the exit status of each command line, and the modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    # Shown where a test fails: why a command did not end well.
    sys.stderr.write(done.stderr)
    return [(status, set(names)) for status, names in json.loads(done.stdout)]


def own(modules: set[str]) -> int:
    """Return the number of modules of whylate."""
    return sum(name.partition(".")[0] == "whylate" for name in modules)


def test_the_version_and_the_list_of_verbs_load_no_verb() -> None:
    for status, modules in loaded([["--version"], ["--help"]]):
        assert status == 0
        assert HEAVY & modules == set()
        assert own(modules) <= MOST_AT_START


def test_the_help_of_a_verb_loads_nothing_that_the_verb_works_with() -> None:
    every = list(verbs(whylate))
    assert ("board", "soak") in every
    for words, (status, modules) in zip(
        every, loaded([[*words, "--help"] for words in every]), strict=True
    ):
        assert status == 0, words
        if words[0] == "bench" and words[-1] in BENCHMARKS_WITH_WORDS:
            assert (HEAVY - {"msgspec"}) & modules == set(), words
            assert own(modules) <= MOST_WITH_A_PLAN, words
        else:
            assert HEAVY & modules == set(), words
            assert own(modules) <= MOST_OF_A_VERB, words


def test_wrong_use_is_refused_before_what_measures_is_loaded() -> None:
    usage = [
        ["measure", "local", "--for", "soon"],
        ["section", "vfs_read", "--no-such-option"],
        ["explain"],
        ["compare", "--margin", "p50"],
        ["bound"],
        ["report"],
        ["import"],
        ["study", "run", "--for", "soon"],
        ["bisect", "settings", "--confidence", "2"],
        ["board", "soak", "local"],
        ["board", "run", "local"],
        ["predict", "without"],
        ["bench", "cmd", "--rounds", "0"],
        ["lab", "inject"],
    ]
    plans = [
        ["measure", "local", "--interval", "1us"],
        ["measure", "local", "--load", "nothing"],
        ["measure", "local", "--phases", "2"],
        ["bench", "memory", "local", "--ops", "nothing"],
        ["bench", "clock", "local", "--threads", "99999"],
    ]
    answers = loaded(usage + plans)
    for line, (status, modules) in zip(usage, answers, strict=False):
        assert status == 2, line
        assert HEAVY & modules == set(), line
        assert own(modules) <= MOST_OF_A_VERB, line
    for line, (status, modules) in zip(plans, answers[len(usage) :], strict=True):
        assert status == 2, line
        assert (ARRAYS | {"rich", "labgrid"}) & modules == set(), line


def test_a_board_is_read_without_arrays() -> None:
    for status, modules in loaded([["facts", "local"], ["board", "list"]]):
        assert status == 0
        assert (ARRAYS | {"jinja2", "labgrid"}) & modules == set()


@pytest.mark.parametrize("module", ["whylate.recording.plan", "whylate.recording.manifest"])
def test_structs_of_recordings_load_no_arrays_and_no_messages(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert (ARRAYS | {"whylate.wire.messages"}) & set(done.stdout.split()) == set()


def test_a_recording_is_shown_without_what_takes_long_to_import(tmp_path: Path) -> None:
    shutil.copytree(RECORDING, tmp_path / "run")
    program = (
        "import sys\n"
        "from whylate.cli import main\n"
        f"sys.argv = ['whylate', 'report', {str(tmp_path / 'run')!r}]\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    loaded = [name for name in {SLOW!r} if name in sys.modules]\n"
        "    print('loaded:', *loaded)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert "trust" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_arrays_start_no_thread_and_no_program_sees_why() -> None:
    """OpenBLAS's wait busily, on the machine that is measured."""
    code = (
        "import os; from whylate.cli import start_no_threads_for_arrays as before; before();"
        "import scipy.linalg; print(len(os.listdir('/proc/self/task')));"
        "from whylate.boards.streams.process import run_to_end;"
        "print(run_to_end(['env'], b'', timeout_s=10, limit=1 << 20).output.decode())"
    )
    environment = {name: text for name, text in os.environ.items() if name != OPENBLAS_THREADS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    threads, _, seen = done.stdout.partition("\n")
    assert int(threads) == 1
    assert OPENBLAS_THREADS not in seen
    assert "PATH=" in seen
