"""The short forms of the checks of remedies/: `make verify` runs the long ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from clients import (
    BOUND_ITEMS,
    CLIENTS,
    REMEDIES,
    SEQUENCE_RUNS,
    TURNS_RUNS,
    Client,
    check_bounds,
    check_relacy,
    check_sequences,
    check_threads,
    check_turns,
)
from models import MODELS, Model, search_model
from mutants import Mutant, check_mutant, make_mutants
from rumur import RUMUR_MODELS, search_by_rumur

#: One of each header, each noticed within seconds; `make verify` has all.
SHORT_MUTANTS = (
    "SHARED_READ_ENTRY: seq_cst → acq_rel",
    "REMEDY_LOCK_TAKE: acquire → relaxed",
    "without: what runs is reserved",
    "without: the lock is given up where somebody waits",
)


@pytest.fixture(autouse=True)
def _checkers() -> None:
    missing = [tool for tool in ("cc", "g++", "spin", "rumur") if shutil.which(tool) is None]
    if missing or not Path("/usr/include/relacy/relacy.hpp").is_file():
        pytest.skip(f"not installed: {' '.join(missing) or 'relacy-dev'}: tools/setup.sh dev")


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_holds_in_the_memory_model(client: Client, tmp_path: Path) -> None:
    outcome = check_relacy(client, tmp_path, client.executions // 10)
    assert outcome.passed, outcome.text


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_has_no_race_with_real_threads(client: Client) -> None:
    outcome = check_threads(client, 200)
    assert outcome.passed, outcome.text


def test_identifiers_are_those_of_a_naive_model_of_tlbs() -> None:
    outcome = check_sequences(SEQUENCE_RUNS)
    assert outcome.passed, outcome.text
    assert "1000000 steps" in outcome.text


def test_slots_are_those_of_a_naive_model_of_tlbs() -> None:
    outcome = check_turns(TURNS_RUNS)
    assert outcome.passed, outcome.text
    # All sequences of 12 kinds of steps.
    assert f"{12**6} sequences" in outcome.text
    assert "1000000 steps" in outcome.text


@pytest.mark.parametrize("model", MODELS, ids=lambda model: "-".join((model.name, *model.defines)))
def test_a_model_holds_and_a_weaker_one_fails(model: Model) -> None:
    search = search_model(model)
    assert search.holds is model.holds, search.text


@pytest.mark.parametrize("model", RUMUR_MODELS, ids=lambda model: "-".join(model.defines))
def test_a_second_checker_finds_the_same(model: Model) -> None:
    search = search_by_rumur(model)
    assert search.holds is model.holds, search.text


def test_bulk_work_and_its_tuner_keep_their_promises_in_all_small_cases() -> None:
    outcome = check_bounds(BOUND_ITEMS)
    assert outcome.passed, outcome.text
    assert "latencies and choices" in outcome.text


@pytest.mark.parametrize("name", SHORT_MUTANTS)
def test_a_weaker_header_is_noticed(name: str) -> None:
    mutant: Mutant = next(mutant for mutant in make_mutants() if mutant.name == name)
    assert check_mutant(mutant) is not None


def printed(
    name: str, tmp_path: Path, *words: str, remedies: Path = REMEDIES, defined: str = ""
) -> list[str]:
    """Build a program, with a macro defined, run it, and return its lines."""
    source, program = Path(__file__).with_name(name), tmp_path / "program"
    flags = ["-std=c11", "-O2", "-Wall", "-Werror", "-pthread", f"-I{remedies}"]
    flags += [f"-D{defined}"] if defined else []
    subprocess.run(["cc", *flags, source, "-o", program], check=True)
    done = subprocess.run([program, *words], check=True, capture_output=True, text=True)
    return done.stdout.split("\n")


def ages(form: str, tmp_path: Path, remedies: Path = REMEDIES) -> list[int]:
    """Return how many values two threads read, those older than their calls, by how many ns at
    most, and how many were older than they may be."""
    line = printed("shared_ages.c", tmp_path, form, "0.5", remedies=remedies)[0]
    return [int(word) for word in line.split()]


def test_no_value_of_a_shared_read_is_older_than_its_form_allows(tmp_path: Path) -> None:
    values, older, most_ns, beyond = ages("strict", tmp_path)
    assert values > 10_000
    assert (older, most_ns, beyond) == (0, 0, 0)
    values, _, _, beyond = ages("relaxed", tmp_path)
    assert values > 10_000
    assert beyond == 0


def test_values_that_are_too_old_are_counted(tmp_path: Path) -> None:
    header, weaker = (REMEDIES / "shared_read.h").read_text(), tmp_path / "remedies"
    shutil.copytree(REMEDIES, weaker)
    old = "(sequence + 2) & ~1u"
    assert header.count(old) == 1
    (weaker / "shared_read.h").write_text(header.replace(old, "sequence & ~1u"))
    assert ages("relaxed", tmp_path, weaker)[3] > 1000


def test_callers_share_nothing_for_longer_where_leaders_lose_their_cpu_again(
    tmp_path: Path,
) -> None:
    calls = [int(word) for word in printed("shared_pause.c", tmp_path)[0].split()]
    # The first time may be the last; from the second on it doubles, up to a limit.
    assert calls[:12] == [2**time - 1 for time in range(12)]
    assert calls[12] == calls[11]
    # After 100 shared reads it is as if for the first time.
    assert calls[13] == 0


@pytest.mark.parametrize(
    ("bits", "defined", "size"),
    [(16, "", 8), (24, "", 8), (32, "", 8), (56, "", 8), (64, "", 8), (32, "SHARED_READ_32", 4)],
)
def test_a_counter_that_wraps_is_extended_to_the_width_of_a_value(
    tmp_path: Path, bits: int, defined: str, size: int
) -> None:
    line = printed("shared_width.c", tmp_path, str(bits), defined=defined)[0]
    assert line == f"{size} 400000 0"


def test_the_hook_of_errata_is_called_after_each_install_on_its_cpu(tmp_path: Path) -> None:
    assert printed("asid_errata.c", tmp_path)[0] == "1000 1000 0"


def test_the_tuner_finds_the_measured_knee(tmp_path: Path) -> None:
    lines = printed("bulk_choice.c", tmp_path)
    chunk, latency, cost, reached = (int(word) for word in lines[0].split())
    # Measured: 128 lines, p50 8.8 µs, 4 % above chunks of 512.
    assert 100 <= chunk <= 150
    assert 8_500 <= latency <= 9_000
    assert cost <= 50
    assert reached
    # So short a latency costs more than 15 %: the cost is kept, and that is reported.
    chunk, _, cost, reached = (int(word) for word in lines[1].split())
    assert chunk > 10
    assert cost <= 150
    assert not reached
