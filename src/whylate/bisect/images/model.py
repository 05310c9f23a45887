"""The plan of a bisection of images."""

from __future__ import annotations

from typing import Literal

from whylate.bisect.sets.journal import LINES, RUNS
from whylate.bisect.sets.model import MadeRun, Nouns, SetsPlan
from whylate.recording.bounds import Small
from whylate.recording.store.lines import Layout

SCHEMA_VERSION = 1
NOUNS = Nouns(
    "images",
    "difference",
    "differences",
    "absent",
    "difference",
    "This makes",
    "These make",
    "None of the differences makes the gap.",
    "None of the differences that ran apart makes the gap.",
)


class ImagesPlan(SetsPlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """images.json.

    roots: the two paths, as the user wrote them. sums: a SHA-256 of all that is in each. exclude,
    keep, pin: patterns. apply: words of the command that brings a hybrid onto a board; none: the
    knob image does.
    """

    format: Literal["whylate-bisect-images"] = "whylate-bisect-images"
    schema_version: Small = SCHEMA_VERSION
    roots: tuple[str, str]
    sums: tuple[str, str]
    exclude: list[str]
    keep: list[str]
    pin: list[str]
    apply: list[str]


LAYOUT = Layout(
    what="bisection of images",
    plan="images.json",
    plan_type=ImagesPlan,
    schema_version=SCHEMA_VERSION,
    lines=LINES,
    line_type=MadeRun,
    folder=RUNS,
)
