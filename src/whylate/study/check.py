"""Check that the knobs of a study can be set on its boards, and that its variants differ."""

from __future__ import annotations

from itertools import combinations

import msgspec

from whylate.compare.words import names_text
from whylate.lab.description import RT, names, with_kernel
from whylate.recording.workloads.point_names import point_names
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied, apply_knobs
from whylate.run.knobs.commands import check_knob
from whylate.run.knobs.files import idle_states, plain_path
from whylate.run.knobs.host_files import IMAGE, file_for
from whylate.run.knobs.variables import with_variables
from whylate.run.workloads import rules
from whylate.study.model import LoadSet, StudyPlan, Variant


def check_knobs(plan: StudyPlan) -> None:
    """Raise RequestError for an unknown knob, or one that cannot be set."""
    for name, knob in plan.knobs.items():
        check_knob(name, knob)
    for variant in plan.variants:
        applied = _applied(plan, variant)
        _check_points(plan, variant, applied)
        _check_boots(plan, variant, applied)
        _check_image(plan, variant, applied)
        _check_time(plan, variant, applied)
        for load in plan.loads:
            _check_variables(variant, applied, load)


def check_differ(plan: StudyPlan) -> None:
    """Raise RequestError for two variants that are the same."""
    for first, second in combinations(plan.variants, 2):
        if are_same(plan, first, second):
            raise RequestError(
                f"variants {first.name} and {second.name} have the same knobs: there is nothing to "
                "compare"
            )


def are_same(plan: StudyPlan, first: Variant, second: Variant) -> bool:
    """Whether two variants are the same on some board, by whichever names of knobs."""
    applied = _applied(plan, first), _applied(plan, second)
    return any(
        _effect(plan, applied[0], board) == _effect(plan, applied[1], board)
        for board in plan.boards
    )


def check_idle_states(plan: StudyPlan) -> None:
    """Raise RequestError for a knob of an idle state if only the lightest is used."""
    for variant in plan.variants:
        applied = _applied(plan, variant).plan
        paths = idle_states(applied.settings)
        if paths and not applied.workload.allow_idle_states:
            raise RequestError(
                f"variant {variant.name} sets idle states ({paths[0]}), and the run holds the "
                'lightest: it would change nothing without idle-states = "allowed"'
            )


def opened_name(board: str, applied: Applied) -> str:
    """Return the board to open for a variant: the same machine, perhaps with another kernel."""
    if applied.kernel is None:
        return board
    return with_kernel(board, rt=applied.kernel == "rt") or board


def _applied(plan: StudyPlan, variant: Variant) -> Applied:
    try:
        return apply_knobs(plan.request, variant.knobs, plan.knobs)
    except RequestError as error:
        raise RequestError(f"variant {variant.name}: {error}") from None


def _effect(plan: StudyPlan, applied: Applied, board: str) -> tuple[object, ...]:
    """Return what a run with its knobs is on a board; left-out parameters change nothing."""
    run = applied.plan
    files = {plain_path(setting.path): setting.value for setting in run.settings}
    cpus = run.cpus
    if cpus is not None and run.activations is not None:
        cpus = sorted(cpus)  # the order of CPUs has no effect
    kernel = applied.kernel
    if kernel is None and board in names():
        # The name of a virtual board implies its kernel.
        kernel = "rt" if board.endswith(RT) else "standard"
    return (
        msgspec.structs.replace(run, settings=[], cpus=cpus),
        files,
        set(applied.kernel_args),
        kernel,
        plan.image_sha256.get(file_for(board, applied.image)),
        _contents(plan, applied, board),
        dict(applied.variables),
        {setting.name: setting.value for setting in applied.commands},
    )


def _contents(plan: StudyPlan, applied: Applied, board: str) -> dict[str, str]:
    """Return the content, or the path on the board, of each file that a variant boots."""
    paths = {kind: file_for(board, value) for kind, value in applied.boot_files.items()}
    return {kind: plan.image_sha256.get(path, path) for kind, path in paths.items()}


def _check_points(plan: StudyPlan, variant: Variant, applied: Applied) -> None:
    """Raise RequestError for a variant with invalid points, or points of other names."""
    base, measured = plan.benchmark, applied.plan.benchmark
    if base is None or measured is None:
        return
    try:
        rules(measured).check(applied.plan)
    except RequestError as error:
        raise RequestError(f"variant {variant.name}: {error}") from None
    names_of_variant, names_of_study = point_names(measured.points), point_names(base.points)
    if set(names_of_variant) != set(names_of_study):
        raise RequestError(
            f"variant {variant.name} measures {names_text(names_of_variant[:4])}, and the study "
            f"{names_text(names_of_study[:4])}: points of other names are not compared"
        )


def _check_boots(plan: StudyPlan, variant: Variant, applied: Applied) -> None:
    real = [board for board in plan.boards if board not in names()]
    boots = applied.kernel_args or applied.left_out or applied.boot_files
    if boots and "local" in real:
        raise RequestError(
            f"variant {variant.name} sets what is booted, for which local would have to boot: only "
            "virtual boards, and boards over SSH or on a labgrid bench, support that"
        )
    virtual = next((board for board in plan.boards if board in names()), None)
    if applied.boot_files and virtual is not None:
        raise RequestError(
            f"variant {variant.name} sets the {next(iter(applied.boot_files))}, and {virtual} is a "
            "virtual board, which boots the kernels of its description: rt and standard"
        )
    if applied.kernel is None:
        return
    if real:
        raise RequestError(
            f"variant {variant.name} sets the kernel, of which only virtual boards have two: "
            f"{real[0]} is not virtual; name a file, as kernel = './Image'"
        )
    for board in plan.boards:
        if board.endswith(RT) and board.removesuffix(RT) in plan.boards:
            raise RequestError(
                f"variant {variant.name} sets the kernel, and {board.removesuffix(RT)} and {board} "
                "are one machine with its two kernels: name one of them"
            )
        if with_kernel(board, rt=applied.kernel == "rt") is None:
            raise RequestError(
                f"variant {variant.name} sets kernel = '{applied.kernel}', which {board} lacks: "
                "Debian has no such kernel for it"
            )


def _check_image(plan: StudyPlan, variant: Variant, applied: Applied) -> None:
    if not applied.image:
        other = next((other.name for other in plan.variants if IMAGE in other.knobs), None)
        if other is not None:
            raise RequestError(
                f"variant {variant.name} names no image, and {other} does: after a run of {other} "
                "the card would hold its image; name one for each variant"
            )
        return
    for board in plan.boards:
        if board == "local" or board.startswith("ssh://"):
            raise RequestError(
                f"variant {variant.name} sets the image, and {board} has no card: only virtual "
                "boards, and boards on a labgrid bench, boot another (docs/how-to/study.md)"
            )
        if board in names() and (applied.kernel is not None or applied.plan.faults):
            what = "the kernel" if applied.kernel is not None else "a fault"
            raise RequestError(
                f"variant {variant.name} sets the image and {what}: a root on {board} has its own "
                "kernel, for which whylate builds nothing"
            )


def _check_time(plan: StudyPlan, variant: Variant, applied: Applied) -> None:
    if applied.plan.faults and not plan.virtual_time:
        raise RequestError(
            f"variant {variant.name} injects faults, which act in virtual time alone: add "
            "virtual_time = true"
        )
    if applied.commands and plan.virtual_time:
        raise RequestError(
            f"variant {variant.name} sets command:{applied.commands[0].name}: in virtual time a "
            "board boots with its plan, and no command can run before it measures"
        )


def _check_variables(variant: Variant, applied: Applied, load: LoadSet) -> None:
    loads = [*load.loads, *applied.plan.loads]
    try:
        with_variables(msgspec.structs.replace(applied.plan, loads=loads), applied.variables)
    except RequestError as error:
        raise RequestError(f"variant {variant.name} under load {load.name}: {error}") from None
