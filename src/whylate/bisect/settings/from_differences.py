"""A plan for a bisection of settings from the differences of two sides."""

from __future__ import annotations

import json
from collections.abc import Mapping

from whylate.bisect.differences.knobs import setting_knobs
from whylate.bisect.differences.model import Differences
from whylate.run.errors import RequestError
from whylate.text import plain

_HEAD = """\
# The settings in which {first} (first) and {second} (second) differ.
# Add what is measured, and on which board: docs/how-to/bisect-settings.md
"""


def plan_text(differences: Differences) -> str:
    """Return a plan with a variant for each side, TOML; raises RequestError where none differs.

    Only settings that both sides have, and that a run can set, are in it.
    """
    first = setting_knobs(differences.listed, "first").values
    second = setting_knobs(differences.listed, "second").values
    both = [path for path in first if path in second]
    if not both:
        raise RequestError("no setting differs that a run could set on a board")
    head = _HEAD.format(first=plain(differences.first, 80), second=plain(differences.second, 80))
    tables = [_table("first", first, both), _table("second", second, both)]
    return "\n".join([head, *tables])


def _table(name: str, values: Mapping[str, str], paths: list[str]) -> str:
    # A JSON string of printable text is one of TOML.
    lines = [f"{json.dumps(path)} = {json.dumps(values[path])}" for path in paths]
    return "\n".join([f"[variants.{name}]", *lines, ""])
