"""A board's own stages of its boot: from a file, or from what the bench declares of the board.

They are added to those that are known; a name of these has other patterns then, or, with an empty
list, is not looked for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from whylate.files import read_bounded
from whylate.recording.console.boot_stages import DEFAULTS
from whylate.run.errors import RequestError
from whylate.soak.boot_stages import POWER, UP
from whylate.soak.model import SoakPlan
from whylate.text import plain

MOST_FILE = 1 << 16
#: Stages, patterns of one, and parts of one.
MOST_STAGES = 32
MOST_PATTERNS = 8
MOST_PARTS = 8
#: Characters of a pattern beside its *: fewer are in half of all lines.
FEWEST = 3
MOST = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}")
#: What only a regular expression has.
_REGULAR = re.compile(r"\\[dDsSwWbB]|(?<!\.)\.[*+]|\(\?|\[\^|\[0-9\]|\[a-z")
#: Where the bench's environment file declares them.
DECLARED = "boot-stages"

Stages = dict[str, list[str]]


def stages_of(plan: SoakPlan) -> Mapping[str, Sequence[str]]:
    """Return the stages that a soak looks for."""
    return DEFAULTS if plan.boot_stages is None else plan.boot_stages


def read_stages(path: Path) -> Stages:
    """Return all stages to look for with those of a file; raises RequestError."""
    try:
        table: object = tomllib.loads(read_bounded(path, MOST_FILE).decode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else plain(str(error), 200)
        raise RequestError(f"{path} cannot be read as boot stages in TOML: {reason}") from None
    return with_defaults(table, str(path))


def declared_stages(board: str, declared: Mapping[str, object]) -> Stages | None:
    """Return all stages to look for with those that a bench declares of a board.

    None where it declares none. Raises RequestError.
    """
    table = declared.get(DECLARED)
    return None if table is None else with_defaults(table, f"{board}: options.whylate.{DECLARED}")


def with_defaults(table: object, where: str) -> Stages:
    """Return the known stages with a table's: name = pattern, or a list; raises RequestError."""
    if not isinstance(table, Mapping) or not table:
        raise RequestError(f"{where} has no boot stages: write NAME = 'text of its line'")
    own = {_name(name, where): _patterns(name, value, where) for name, value in table.items()}
    stages = {name: list(patterns) for name, patterns in DEFAULTS.items()} | own
    stages = {name: patterns for name, patterns in stages.items() if patterns}
    if not 0 < len(stages) <= MOST_STAGES:
        raise RequestError(
            f"{where} makes {len(stages)} boot stages with those that are known: 1 to "
            f"{MOST_STAGES} are looked for; NAME = [] leaves one out"
        )
    return stages


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (POWER, UP):
        raise RequestError(
            f"{where}: {plain(str(name), 60)!r} is no name of a boot stage: take up to 40 of A-Z "
            f"a-z 0-9, blank and . _ + -, and not {POWER} or {UP}"
        )
    return name


def _patterns(name: str, value: object, where: str) -> list[str]:
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list) or len(patterns) > MOST_PATTERNS:
        raise RequestError(f"{where}: {name}: write a text, or a list of up to {MOST_PATTERNS}")
    for pattern in patterns:
        if (wrong := _wrong(pattern)) is not None:
            raise RequestError(f"{where}: {name}: {plain(str(pattern), 80)!r} {wrong}")
    return list(patterns)


def _wrong(pattern: object) -> str | None:
    """Return what is wrong with a pattern; None where nothing is."""
    if not isinstance(pattern, str):
        return "is no text"
    if not pattern.isprintable() or len(pattern) > MOST:
        return f"is not a part of one line: up to {MOST} characters that print"
    if len(pattern.replace("*", "")) < FEWEST:
        return f"has fewer than {FEWEST} characters besides *, and fits any line"
    if sum(map(bool, pattern.split("*"))) > MOST_PARTS:
        return f"has more than {MOST_PARTS} parts between *"
    if _REGULAR.search(pattern):
        return "looks like a regular expression: a pattern is text, in which * is any text"
    return None
