"""Whether the knobs of a study can be set on its boards, and compare something with something."""

from __future__ import annotations

import msgspec

from whylate.compare.words import names_text
from whylate.lab.description import RT, names, with_kernel
from whylate.recording.workloads.point_names import point_names
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import IMAGE, Applied, apply_knobs
from whylate.run.knobs.commands import check_knob
from whylate.run.knobs.files import idle_states, plain_path
from whylate.run.knobs.variables import with_variables
from whylate.run.workloads import rules
from whylate.study.model import LoadSet, StudyPlan, Variant
from whylate.study.workload import request


def check_knobs(plan: StudyPlan) -> None:
    """Raise RequestError for a knob that there is not, or that cannot be set."""
    for name, knob in plan.knobs.items():
        check_knob(name, knob)
    for one in plan.variants:
        applied = _applied(plan, one)
        _check_points(plan, one, applied)
        _check_boots(plan, one, applied)
        _check_image(plan, one, applied)
        _check_time(plan, one, applied)
        for load in plan.loads:
            _check_variables(one, applied, load)


def check_differ(plan: StudyPlan) -> None:
    """Raise RequestError for variants that are the same: what a user writes is to compare."""
    for number, one in enumerate(plan.variants):
        for other in plan.variants[:number]:
            if are_same(plan, other, one):
                raise RequestError(
                    f"variants {other.name} and {one.name} have the same knobs: nothing would be "
                    "compared with nothing"
                )


def are_same(plan: StudyPlan, one: Variant, other: Variant) -> bool:
    """Whether two variants are one on some board, however their knobs are called."""
    ours, theirs = _applied(plan, one), _applied(plan, other)
    return any(_means(plan, ours, board) == _means(plan, theirs, board) for board in plan.boards)


def check_idle_states(plan: StudyPlan) -> None:
    """Raise RequestError for an idle state that is switched where none but the lightest is used."""
    for one in plan.variants:
        applied = _applied(plan, one).plan
        paths = idle_states(applied.settings)
        if paths and not applied.workload.allow_idle_states:
            raise RequestError(
                f"variant {one.name} switches idle states ({paths[0]}), and the run holds them at "
                'the lightest: it would change nothing without idle-states = "allowed"'
            )


def opened_name(board: str, applied: Applied) -> str:
    """Return the board that is opened for a variant: the same machine with another kernel."""
    if applied.kernel is None:
        return board
    return with_kernel(board, rt=applied.kernel == "rt") or board


def _applied(plan: StudyPlan, one: Variant) -> Applied:
    try:
        return apply_knobs(request(plan), one.knobs, plan.knobs)
    except RequestError as error:
        raise RequestError(f"variant {one.name}: {error}") from None


def _means(plan: StudyPlan, applied: Applied, board: str) -> tuple[object, ...]:
    """Return what a run with its knobs is on a board. A word that is left out changes nothing."""
    run = applied.plan
    files = {plain_path(one.path): one.value for one in run.settings}
    cpus = run.cpus
    if cpus is not None and run.activations is not None:
        cpus = sorted(cpus)  # each is measured by itself
    kernel = applied.kernel
    if kernel is None and board in names():
        # Of two kernels a board has one without being told.
        kernel = "rt" if board.endswith(RT) else "ordinary"
    return (
        msgspec.structs.replace(run, settings=[], cpus=cpus),
        files,
        set(applied.kernel_args),
        kernel,
        plan.image_sha256.get(applied.image),
        dict(applied.variables),
        {one.name: one.value for one in applied.commands},
    )


def _check_points(plan: StudyPlan, one: Variant, applied: Applied) -> None:
    """Raise RequestError for a variant whose points are called otherwise, or that has no place."""
    ordered, measured = plan.benchmark, applied.plan.benchmark
    if ordered is None or measured is None:
        return
    try:
        rules(measured).check(applied.plan)
    except RequestError as error:
        raise RequestError(f"variant {one.name}: {error}") from None
    theirs, ours = point_names(measured.points), point_names(ordered.points)
    if set(theirs) != set(ours):
        raise RequestError(
            f"variant {one.name} measures {names_text(theirs[:4])}, and the study "
            f"{names_text(ours[:4])}: points of other names are not compared"
        )


def _check_boots(plan: StudyPlan, one: Variant, applied: Applied) -> None:
    others = [board for board in plan.boards if board not in names()]
    if (applied.kernel_args or applied.left_out) and others:
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


def _check_image(plan: StudyPlan, one: Variant, applied: Applied) -> None:
    if not applied.image:
        other = next((other.name for other in plan.variants if IMAGE in other.knobs), None)
        if other is not None:
            raise RequestError(
                f"variant {one.name} names no image, and {other} does: after a run of {other} the "
                "card would hold that one's; name one for each variant"
            )
        return
    for board in plan.boards:
        if board in names() or board == "local" or board.startswith("ssh://"):
            raise RequestError(
                f"variant {one.name} sets the image, and {board} has no card: only boards on a "
                "labgrid bench do (docs/how-to/labgrid.md)"
            )


def _check_time(plan: StudyPlan, one: Variant, applied: Applied) -> None:
    if applied.plan.faults and not plan.virtual_time:
        raise RequestError(
            f"variant {one.name} lets injected faults act, which they do in virtual time alone: "
            "say virtual_time = true"
        )
    if applied.commands and plan.virtual_time:
        raise RequestError(
            f"variant {one.name} sets command:{applied.commands[0].name}: in virtual time a board "
            "boots with its plan, and nobody can run a command there before it measures"
        )


def _check_variables(one: Variant, applied: Applied, load: LoadSet) -> None:
    loads = [*load.loads, *applied.plan.loads]
    try:
        with_variables(msgspec.structs.replace(applied.plan, loads=loads), applied.variables)
    except RequestError as error:
        raise RequestError(f"variant {one.name} under load {load.name}: {error}") from None
