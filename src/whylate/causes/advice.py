"""What a cause is, how to check it, and what usually helps: one file of the catalogue for each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from whylate.causes.window.piece import Cause


@dataclass(frozen=True)
class Advice:
    """A paragraph each: what it is, how to check it, what usually helps."""

    what: str
    check: str
    helps: str


@cache
def load_advice(cause: Cause) -> Advice:
    """Return the catalogue's words on a cause."""
    name = cause.value.lower().replace(" ", "_")
    file = resources.files("whylate.causes").joinpath("catalogue", f"{name}.toml")
    return Advice(**tomllib.loads(file.read_text("utf-8")))
