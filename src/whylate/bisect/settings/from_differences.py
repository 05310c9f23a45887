"""A plan for a bisection of settings from the differences of two sides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from whylate.bisect.differences.knobs import KINDS, knobs_of
from whylate.bisect.differences.model import Differences
from whylate.bisect.kinds import PLURALS
from whylate.run.errors import RequestError
from whylate.text import plain

_HEAD = """\
# The settings in which {first} (first) and {second} (second) differ.
# Add what is measured. The board is {second}, or one like it: docs/how-to/bisect-settings.md
"""


def plan_text(differences: Differences) -> str:
    """Return a plan with a variant for each side, TOML; raises RequestError where none differs.

    Only what a run can set is in it, and at its end the reason for each that is left out.
    """
    knobs = knobs_of(differences)
    if not knobs.listed:
        raise RequestError("no setting differs that a run could set on a board")
    head = _HEAD.format(first=plain(differences.first, 80), second=plain(differences.second, 80))
    first = {knob.name: knob.first for knob in knobs.listed}
    second = {knob.name: knob.second for knob in knobs.listed}
    left_out = _left_out(differences, knobs.refused)
    return "\n".join([head, _table("first", first), _table("second", second), *left_out, ""])


def _table(name: str, values: Mapping[str, str | None]) -> str:
    # A JSON string of printable text is one of TOML.
    lines = [
        f"{json.dumps(knob)} = {json.dumps(value)}"
        for knob, value in values.items()
        if value is not None
    ]
    return "\n".join([f"[variants.{name}]", *lines, ""])


def _left_out(differences: Differences, refused: Mapping[str, str]) -> Iterator[str]:
    """Yield comments on what the plan leaves out, other kinds by their number."""
    if refused:
        yield "# Left out:"
    for difference in differences.listed:
        if difference.kind in KINDS and difference.id in refused:
            name = plain(difference.name, 120)
            yield f"# {difference.kind.value} {name}: {plain(refused[difference.id], 200)}"
    for kind, count in differences.counts.items():
        if kind not in KINDS:
            yield f"# {PLURALS[kind]}: {count:,}, which are no settings"
