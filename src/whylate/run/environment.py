"""Environment variables for the commands of a run."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import msgspec

from whylate.recording.manifest import LoadPlan
from whylate.recording.points import CommandPoint
from whylate.run.loads import parse_load
from whylate.run.request import Request, RequestError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

#: Names and values.
Variables = tuple[tuple[str, str], ...]


def check_variable(name: str) -> None:
    """Raise RequestError for what is no name of a variable."""
    if not _NAME.fullmatch(name):
        shown = repr(name if len(name) <= 60 else name[:60] + "…")
        raise RequestError(f"knob env:{shown}: letters, digits and _ are a variable's name")


def with_variables(request: Request, variables: Variables) -> Request:
    """Give variables to all commands of a run, by way of env; raises RequestError for none."""
    if not variables:
        return request
    words = ["env", *(f"{name}={value}" for name, value in variables)]
    app = request.app
    watched = app.command if app is not None else None
    points = request.trials.points if request.trials is not None else ()
    commands = [one for one in points if isinstance(one, CommandPoint)]
    if watched is None and not commands and all(one.kind != "cmd" for one in request.loads):
        raise RequestError(
            f"nothing would see env:{variables[0][0]}: it is for the commands of a run, and it "
            "has none (a load like cmd:COMMAND is one)"
        )
    if app is not None and watched is not None:
        app = msgspec.structs.replace(app, command=[*words, *watched])
    if request.trials is not None and commands:
        given = tuple(f"{name}={value}" for name, value in variables)
        changed = tuple(msgspec.structs.replace(one, env=given) for one in commands)
        request = replace(request, trials=replace(request.trials, points=changed))
    return replace(request, app=app, loads=tuple(_load(one, words) for one in request.loads))


def _load(one: LoadPlan, words: list[str]) -> LoadPlan:
    if one.kind != "cmd" or one.command is None:
        return one
    # As if the user had written it so: the bounds are the same.
    return parse_load(f"cmd:{shlex.join(words)} {one.command}")
