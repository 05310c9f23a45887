"""The plan of a bisection of images, from that of a study without variants."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from whylate.bisect.images.errors import HybridError
from whylate.bisect.images.model import ImagesPlan
from whylate.bisect.outcome import statistic_of_workload
from whylate.bisect.sets.limits import check_limits
from whylate.bisect.sides.model import Side
from whylate.lab.description import names
from whylate.run.errors import RequestError
from whylate.study.model import StudyPlan, Variant
from whylate.study.plan_file import PlanFile, plan_of_variants

_OTHERS = re.compile(r"[^A-Za-z0-9._+-]+")
#: Endings of files that are no part of what people call an image.
_ENDINGS = re.compile(r"\.(?:tar|tar\.gz|tgz|tar\.xz|tar\.zst|ext[234]|img)$")


def study_of(file: PlanFile, path: Path, sides: list[str]) -> StudyPlan:
    """Return a study of these sides without knobs; raises RequestError.

    sides: what the user calls the images.
    """
    if file.variants or file.factors:
        raise RequestError(f"{path} has variants: a bisection of images compares images alone")
    return plan_of_variants(file, [Variant(name) for name in _names(sides)])


def images_plan(
    study: StudyPlan,
    sides: tuple[Side, Side],
    patterns: dict[str, list[str]],
    apply: list[str],
    statistic: str | None,
    runs: int,
    margin: float,
) -> ImagesPlan:
    """Return the plan; raises RequestError for boards that take no hybrid.

    patterns: exclude, keep and pin.
    """
    check_limits(study, runs, margin)
    real = [board for board in study.boards if board not in names()]
    if real and not apply:
        raise RequestError(
            f"{real[0]} is no virtual board, which boots a hybrid as it is: name a command that "
            "brings it there with --apply (docs/how-to/bisect-images.md)"
        )
    if apply and study.virtual_time:
        raise RequestError("--apply: in virtual time a board boots what it is given alone")
    return ImagesPlan(
        study=study,
        statistic=statistic_of_workload(study.workload, statistic),
        margin=margin,
        runs=runs,
        roots=(sides[0].name, sides[1].name),
        sums=(sum_of(sides[0]), sum_of(sides[1])),
        exclude=patterns["exclude"],
        keep=patterns["keep"],
        pin=patterns["pin"],
        apply=apply,
    )


def sum_of(side: Side) -> str:
    """Return the SHA-256 of all names in a root, with what they are; raises HybridError."""
    if side.tree is None:
        raise HybridError(
            f"{side.name} is a {side.what}: a hybrid is made of root file systems, which are "
            "directories, tarballs and ext4 images"
        )
    sha256 = hashlib.sha256()
    for path in sorted(side.tree.entries):
        sha256.update(repr((path, *side.tree.entries[path])).encode("utf-8", "surrogateescape"))
    return sha256.hexdigest()


def _names(sides: list[str]) -> list[str]:
    """Return names of variants: of files without their endings, numbered where they are alike."""
    names_of = [
        _OTHERS.sub("-", _ENDINGS.sub("", Path(side).name)).strip("-._+")[:36] for side in sides
    ]
    if "" in names_of or len(set(names_of)) < len(names_of):
        return [f"image-{number}" for number in range(1, len(sides) + 1)]
    return names_of
