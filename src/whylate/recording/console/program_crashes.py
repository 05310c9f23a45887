"""Which kind of crash a program had, by the message about it."""

from __future__ import annotations

import re
from typing import Literal

from whylate.recording.console.crash_signs import Kind

ProgramCrash = Literal["segfault", "trap", "core dump", "OOM kill", "unhandled signal"]

#: Of several the first one counts. The messages are those of crash_signs.py.
_SIGNS: tuple[tuple[ProgramCrash, re.Pattern[str]], ...] = (
    ("OOM kill", re.compile(r"[Oo]ut of memory: Kill|invoked oom-killer: ")),
    ("core dump", re.compile(r"\(core dumped\)| dumped core")),
    ("segfault", re.compile(r"\]: segfault at ")),
    ("trap", re.compile(r"^traps: ")),
)


def program_crash(crash: Kind, headline: str) -> ProgramCrash | None:
    """Return which crash of a program it is; None for what concerns the kernel."""
    if crash not in ("program crash", "out of memory"):
        return None
    kinds = (kind for kind, sign in _SIGNS if sign.search(headline))
    return next(kinds, "unhandled signal")
