"""Whether the knobs of a study can be set on its boards, and compare something with something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whylate.lab.description import RT, names, with_kernel
from whylate.run.environment import with_variables
from whylate.run.knobs import Applied, apply
from whylate.run.own_knobs import check_own
from whylate.run.request import Request, RequestError
from whylate.study.model import LoadSet, StudyPlan, Variant


def check_knobs(plan: StudyPlan) -> None:
    """Raise RequestError for a knob that there is not, or that cannot be set."""
    nothing = Request(0, 0, None, 80, False, False, (), ())
    for name, knob in plan.knobs.items():
        check_own(name, knob)
    for one in plan.variants:
        applied = apply(nothing, one.knobs, plan.knobs)
        _check_boots(plan, one, applied)
        _check_time(plan, one, applied)
        for load in plan.loads:
            _check_variables(one, applied, load)


def check_differ(plan: StudyPlan) -> None:
    """Raise RequestError for variants that are the same: what a user writes is to compare."""
    for number, one in enumerate(plan.variants):
        for other in plan.variants[:number]:
            if any(_set(other.knobs, board) == _set(one.knobs, board) for board in plan.boards):
                raise RequestError(
                    f"variants {other.name} and {one.name} have the same knobs: nothing would be "
                    "compared with nothing"
                )


def opened_name(board: str, applied: Applied) -> str:
    """Return the board that is opened for a variant: the same machine with another kernel."""
    if applied.kernel is None:
        return board
    return with_kernel(board, rt=applied.kernel == "rt") or board


def _set(knobs: Mapping[str, str], board: str) -> dict[str, str]:
    """Return what knobs mean on a board: of two kernels it has one without being told."""
    own = "rt" if board.endswith(RT) else "ordinary"
    return {"kernel": own, **knobs} if board in names() else dict(knobs)


def _check_boots(plan: StudyPlan, one: Variant, applied: Applied) -> None:
    others = [board for board in plan.boards if board not in names()]
    if applied.kernel_args and others:
        raise RequestError(
            f"variant {one.name} sets the kernel's command line, for which {others[0]} would have "
            "to boot: only virtual boards take one here"
        )
    if applied.kernel is None:
        return
    if others:
        raise RequestError(
            f"variant {one.name} sets the kernel, of which only virtual boards have two: "
            f"{others[0]} is none (whylate board list)"
        )
    for board in plan.boards:
        if board.endswith(RT) and board.removesuffix(RT) in plan.boards:
            raise RequestError(
                f"variant {one.name} sets the kernel, and {board.removesuffix(RT)} and {board} "
                "are one machine with its two kernels: name one of them"
            )


def _check_time(plan: StudyPlan, one: Variant, applied: Applied) -> None:
    if applied.request.causes and not plan.virtual_time:
        raise RequestError(
            f"variant {one.name} lets known causes act, which they do in virtual time alone: "
            "say virtual_time = true"
        )
    if applied.commands and plan.virtual_time:
        raise RequestError(
            f"variant {one.name} sets command:{applied.commands[0].name}: in virtual time a board "
            "boots with its plan, and nobody can run a command there before it measures"
        )


def _check_variables(one: Variant, applied: Applied, load: LoadSet) -> None:
    loads = (*load.loads, *applied.request.loads)
    try:
        with_variables(replace(applied.request, loads=loads), applied.variables)
    except RequestError as error:
        raise RequestError(f"variant {one.name} under load {load.name}: {error}") from None
