"""Environment variables for the commands of a run."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from whylate.recording.plan import LoadPlan, RunPlan
from whylate.recording.workloads.app import App, CommandTarget, CommTarget
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.variables import check_variable, with_variables

IDLE = RunPlan(workload=Wakeup(duration_ns=10**9, interval_ns=10**6, priority=80))


def test_every_command_of_a_run_is_given_the_variables_and_nothing_else_is() -> None:
    loads = [LoadPlan("memory", 2), LoadPlan("cmd", 1, "sh -c 'echo $A'")]
    given = with_variables(replace(IDLE, loads=loads), (("A", "b c'\"$(x)"), ("B", "2")))
    assert given.loads[0] == loads[0]
    command = given.loads[1].command
    assert command is not None
    assert shlex.split(command) == ["env", "A=b c'\"$(x)", "B=2", "sh", "-c", "echo $A"]


def test_a_program_that_is_watched_is_given_them_too() -> None:
    app = CommandTarget(["player", "a file"])
    plan = RunPlan(workload=App(duration_ns=10**9, target=app))
    given = with_variables(plan, (("A", "1"),))
    assert given.target == CommandTarget(["env", "A=1", "player", "a file"])


def test_a_run_without_commands_is_refused_where_there_are_variables() -> None:
    for workload in (IDLE.workload, App(duration_ns=10**9, target=CommTarget("player"))):
        request = replace(IDLE, loads=[LoadPlan("memory", 1)], workload=workload)
        with pytest.raises(RequestError, match="env:A has no effect"):
            with_variables(request, (("A", "1"),))
        assert with_variables(request, ()) is request


def test_a_command_that_grows_too_long_is_one_line() -> None:
    request = replace(IDLE, loads=[LoadPlan("cmd", 1, "x " * 31)])
    with pytest.raises(RequestError, match="at most 32 words"):
        with_variables(request, (("A", "1"),))


@pytest.mark.parametrize("name", ["", "1A", "A=B", "A B", "Ä", "x" * 101, "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="a name has A-Z"):
        check_variable(name)
    check_variable("_a1")
