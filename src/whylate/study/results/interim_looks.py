"""Interim looks: runs of a study that are compared by hand, past its stopping rule.

Testing at 5 % again and again inflates the false-alarm rate. The stopping rule of a study allows
for its looks; `whylate compare` knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from whylate.compare.model import Comparison
from whylate.study.journal import PLAN, read_study
from whylate.study.results.evidence import Evidence

#: Above a recording: runs, board, load, variant, round.
_ABOVE = 5


def study_above(paths: Iterable[Path]) -> Path | None:
    """Return the study of these recordings; None where they are of none."""
    for path in paths:
        for above in list(path.resolve().parents)[:_ABOVE]:
            if (above / PLAN).is_file():
                return above
    return None


def allow_interim_look(found: Comparison, study: Path, *, accept: bool) -> Comparison:
    """Return a comparison of runs of a study with a caution; raises RecordingError.

    Runs of an unfinished study get no verdict, unless accept.
    """
    plan, done = read_study(study)
    evidence = Evidence(study, plan)
    over = all(
        evidence.standing(key, done).over for board in plan.boards for key in evidence.keys(board)
    )
    asks = f"whylate study show {study} says where it stands by its own rule"
    if over:
        text = f"these are runs of a study, and this is one more look at them: {asks}"
        return msgspec.structs.replace(found, cautions=[*found.cautions, text])
    text = f"these are runs of a study that is not over, which nobody may stop by looking: {asks}"
    if accept or found.verdict in ("no verdict", "inconclusive"):
        return msgspec.structs.replace(found, cautions=[*found.cautions, text])
    why = f"{found.why}, so far: {text}"
    return msgspec.structs.replace(found, verdict="no verdict", why=why)
