"""Environment variables for the commands of a run."""

from __future__ import annotations

import re
import shlex

import msgspec

from whylate.recording.plan import LoadPlan, RunPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.files import shorten
from whylate.run.loads import parse_load
from whylate.run.workloads import rules

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

#: Names and values.
Variables = tuple[tuple[str, str], ...]


def check_variable(name: str) -> None:
    """Raise RequestError for an invalid name of a variable."""
    if not _NAME.fullmatch(name):
        raise RequestError(f"knob env:{shorten(name)}: a name has A-Z, a-z, 0-9 and _")


def with_variables(request: RunPlan, variables: Variables) -> RunPlan:
    """Give variables to all commands of a run, through env; raises RequestError if it has none."""
    if not variables:
        return request
    assignments = [f"{name}={value}" for name, value in variables]
    workload = rules(request.workload).with_variables(request.workload, assignments)
    if workload is None and all(load.kind != "cmd" for load in request.loads):
        raise RequestError(
            f"env:{variables[0][0]} has no effect: it is for the commands of a run, and this run "
            "has none (a load like cmd:COMMAND is one)"
        )
    return msgspec.structs.replace(
        request,
        workload=workload or request.workload,
        loads=[_load(load, ["env", *assignments]) for load in request.loads],
    )


def _load(load: LoadPlan, words: list[str]) -> LoadPlan:
    if load.kind != "cmd" or load.command is None:
        return load
    # Parsed as if the user had written it, so the same bounds apply.
    return parse_load(f"cmd:{shlex.join(words)} {load.command}")
