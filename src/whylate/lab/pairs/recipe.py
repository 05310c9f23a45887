"""The recipes of pairs: one folder each in lab/pairs.

A folder has `recipe.toml`, and below `both`, `vendor` and `ours` the files that go over those of
the packages.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from whylate.lab.description import FILES
from whylate.lab.errors import LabError

DIRECTORY = FILES / "pairs"
#: The two sides of a pair, and what both have.
SIDES = ("vendor", "ours")
BOTH = "both"


class SideRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a side. release: of Debian; kernel: a metapackage whose dependency is one.

    kernel_release: of the kernel; "": as of the rest. links: targets of symbolic links.
    """

    release: str
    kernel_release: str = ""
    kernel: str = ""
    command_line: str = ""
    links: dict[str, str] = {}


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a pair is made."""

    title: str
    #: What makes the difference: ids are not known before the roots are; words for the reader.
    answer: str
    board: str
    #: The same release's in both roots: what the start-up runs.
    shared_release: str
    shared: list[str]
    #: Of each side's release.
    packages: list[str]
    #: Patterns (fnmatch) of files of packages that are left out.
    leave_out: list[str] = []
    #: Patterns of the only files that are taken of a package.
    only: dict[str, list[str]] = {}
    #: Patterns of a kernel's modules, below lib/modules/RELEASE/kernel.
    modules: list[str] = []
    #: Targets of symbolic links.
    links: dict[str, str] = {}
    #: Names that busybox has.
    applets: list[str] = []
    sides: dict[str, SideRecipe]
    #: The folders whose files go over those of the packages, in this order.
    overlays: list[str]


def pair_names() -> list[str]:
    """Return the names of all pairs."""
    return sorted(path.parent.name for path in DIRECTORY.glob("*/recipe.toml"))


def read_recipe(name: str) -> Recipe:
    """Return the recipe of a pair; raises LabError."""
    if name not in pair_names():
        raise LabError(f"unknown pair {name[:80]!r}: expected one of {', '.join(pair_names())}")
    try:
        recipe = msgspec.convert(_read(name), Recipe)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LabError(f"{DIRECTORY / name / 'recipe.toml'} is no recipe: {error}") from None
    if set(recipe.sides) != set(SIDES):
        raise LabError(f"the recipe {name} does not have the sides {' and '.join(SIDES)}")
    return recipe


def _read(name: str) -> dict[str, Any]:
    """Return a recipe's tables; what it does not have is of the recipe that it is like."""
    own = tomllib.loads((DIRECTORY / name / "recipe.toml").read_text())
    like = own.pop("like", None)
    base = {} if like is None else _read(like)
    overlays = [*base.get("overlays", []), name]
    sides = {side: base.get("sides", {}).get(side, {}) | own.get(side, {}) for side in SIDES}
    tables = {key: value for key, value in own.items() if key not in SIDES}
    return {**base, **tables, "sides": sides, "overlays": overlays}


def overlay_directories(recipe: Recipe, side: str) -> list[Path]:
    """Return the directories whose files go over those of the packages, in order."""
    return [
        DIRECTORY / name / part
        for name in recipe.overlays
        for part in (BOTH, side)
        if (DIRECTORY / name / part).is_dir()
    ]
