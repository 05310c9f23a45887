"""The plan of a bisection of images in order, and its directory."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from whylate.bisect.ordered.journal import LINES, RUNS
from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.outcome import statistic_of_workload
from whylate.recording.bounds import Small
from whylate.recording.store.lines import Layout
from whylate.run.errors import RequestError
from whylate.run.knobs.host_files import IMAGE, file_for
from whylate.study.model import StudyPlan, Variant
from whylate.study.plan_file import PlanFile, plan_of_variants

SCHEMA_VERSION = 1


class OrderedImagesPlan(OrderedPlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """ordered-images.json. study: a variant for each image, the oldest first."""

    format: Literal["whylate-bisect-ordered-images"] = "whylate-bisect-ordered-images"
    schema_version: Small = SCHEMA_VERSION
    study: StudyPlan


LAYOUT = Layout(
    what="bisection of images in order",
    plan="ordered-images.json",
    plan_type=OrderedImagesPlan,
    schema_version=SCHEMA_VERSION,
    lines=LINES,
    line_type=Step,
    folder=RUNS,
)


def ordered_images_plan(
    file: PlanFile,
    path: Path,
    images: list[str],
    statistic: str | None,
    confidence: float,
    runs: int,
) -> OrderedImagesPlan:
    """Return the plan; raises RequestError for a study that has variants or several boards."""
    if file.variants or file.factors:
        raise RequestError(f"{path} has variants: a bisection of images compares images alone")
    if len(set(images)) < len(images):
        raise RequestError("name each image once, the oldest first")
    if len(file.boards) != 1 or len(file.loads) > 1:
        raise RequestError(f"{path}: images in order are run on one board, under one set of loads")
    paths = [file_for(file.boards[0], image) for image in images]
    variants = [Variant(f"image-{number}", {IMAGE: path}) for number, path in enumerate(paths, 1)]
    study = plan_of_variants(file, variants)
    return OrderedImagesPlan(
        study=study,
        statistic=statistic_of_workload(study.workload, statistic),
        confidence=confidence,
        runs=runs,
        seed=study.seed,
    )
