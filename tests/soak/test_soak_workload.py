"""What a soak measures is written as the verbs are."""

from __future__ import annotations

from typing import Any

import click
import pytest

from whylate.cli.board.soak import soak
from whylate.cli.board.soak_workload import WORKLOADS, workload_run
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.run.errors import RequestError


def parsed(*args: str) -> dict[str, Any]:
    return soak.make_context("soak", list(args)).params


def run_of(*words: str) -> RunPlan:
    return workload_run(words, click.Context(soak))


@pytest.mark.parametrize(
    ("args", "board", "words"),
    [
        (["pc", "--for", "8h"], "pc", ()),
        (["--for", "8h", "pc"], "pc", ()),
        (["pc", "--for", "8h", "cmd", "--", "make", "-j16"], "pc", ("cmd", "--", "make", "-j16")),
        (["--for", "8h", "pc", "memory", "--sizes", "1M"], "pc", ("memory", "--sizes", "1M")),
        # A value of an option is no workload, and a board may have the name of one.
        (["memory", "-o", "cmd", "clock"], "memory", ("clock",)),
        (["pc", "--load", "memory", "--cycles", "3"], "pc", ()),
    ],
)
def test_the_workload_begins_at_the_second_argument(
    args: list[str], board: str, words: tuple[str, ...]
) -> None:
    params = parsed(*args)
    assert (params["board"], params["words"]) == (board, words)


def test_options_on_both_sides_of_the_workload_are_of_their_own_verb() -> None:
    params = parsed("pc", "--for", "8h", "measure", "--for", "10s")
    assert params["for_ns"] == 8 * 3600 * 10**9
    run = workload_run(params["words"], click.Context(soak))
    assert run.activations is not None
    assert run.activations.duration_ns == 10 * 10**9


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["measure", "--for", "1s"], "wakeup"),
        (["app", "--comm", "jackd"], "app"),
        (["measure", "--", "jackd", "-d", "dummy"], "app"),
        (["section", "kmem_cache_alloc"], "section"),
        (["section", "irqs-off"], "off"),
        (["switch"], "switch"),
        (["memory"], "memory"),
        (["clock"], "clock"),
        (["clock", "--between-cpus"], "offsets"),
        (["bulk"], "bulk"),
        (["flush"], "flush"),
        (["cmd", "--", "make", "-j16"], "cmd"),
    ],
)
def test_every_workload_can_be_soaked(words: list[str], kind: str) -> None:
    assert words[0] in WORKLOADS
    run = run_of(*words)
    assert run.workload.kind == kind
    if run.benchmark is not None:
        assert run.benchmark.rounds == 1, "a cycle is a repetition"


def test_rounds_loads_and_settings_are_kept() -> None:
    run = run_of("memory", "--rounds", "7", "--load", "net:2", "--cpus", "1")
    assert run.benchmark is not None
    assert run.benchmark.rounds == 7
    assert run.loads == [LoadPlan("net", 2)]
    assert run.cpus == [1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["make"], "unknown workload 'make': expected one of measure, app"),
        (["app"], "app watches a program"),
        (["memory", "pc"], "a second board has no place behind the workload"),
        (["memory", "-o", "x"], "--output has no place behind the workload|-o has no place"),
        (["measure", "--require", "max<1ms"], "judge its recordings with whylate report"),
        (["measure", "--virtual-time"], "a soak is in real time"),
        (["section", "--list", "kmem*"], "--list has no place"),
    ],
)
def test_what_a_soak_has_no_use_for_is_refused(words: list[str], why: str) -> None:
    with pytest.raises(RequestError, match=why):
        run_of(*words)


def test_options_of_wakeups_are_refused_beside_a_workload() -> None:
    with pytest.raises(RequestError, match="--run-for is for a soak without a workload"):
        soak.main(
            ["pc", "--cycles", "1", "--run-for", "1s", "cmd", "--", "true"], standalone_mode=False
        )
