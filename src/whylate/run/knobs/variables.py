"""Environment variables for the commands of a run."""

from __future__ import annotations

import re
import shlex

import msgspec

from whylate.recording.plan import LoadPlan, RunPlan
from whylate.run.errors import RequestError
from whylate.run.loads import parse_load
from whylate.run.workloads import rules

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

#: Names and values.
Variables = tuple[tuple[str, str], ...]


def check_variable(name: str) -> None:
    """Raise RequestError for what is no name of a variable."""
    if not _NAME.fullmatch(name):
        shown = repr(name if len(name) <= 60 else name[:60] + "…")
        raise RequestError(f"knob env:{shown}: letters, digits and _ are a variable's name")


def with_variables(request: RunPlan, variables: Variables) -> RunPlan:
    """Give variables to all commands of a run, by way of env; raises RequestError for none."""
    if not variables:
        return request
    given = [f"{name}={value}" for name, value in variables]
    workload = rules(request.workload).with_variables(request.workload, given)
    if workload is None and all(load.kind != "cmd" for load in request.loads):
        raise RequestError(
            f"nothing would see env:{variables[0][0]}: it is for the commands of a run, and it "
            "has none (a load like cmd:COMMAND is one)"
        )
    return msgspec.structs.replace(
        request,
        workload=workload or request.workload,
        loads=[_load(load, ["env", *given]) for load in request.loads],
    )


def _load(one: LoadPlan, words: list[str]) -> LoadPlan:
    if one.kind != "cmd" or one.command is None:
        return one
    # As if the user had written it so: the bounds are the same.
    return parse_load(f"cmd:{shlex.join(words)} {one.command}")
