"""Interim looks: runs of a study that are compared by hand, past its stopping rule.

Repeated tests at 5 % inflate the false-alarm rate. The stopping rule of a study allows for its
looks; `whylate compare` does not know them.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from whylate.compare.model import Comparison
from whylate.study.journal import read_study
from whylate.study.results.evidence import Evidence


def allow_interim_look(comparison: Comparison, study: Path, *, accept: bool) -> Comparison:
    """Return a comparison of runs of a study with a caution; raises RecordingError.

    Runs of an unfinished study get no verdict, unless accept is true.
    """
    plan, done = read_study(study)
    evidence = Evidence(study, plan)
    over = all(
        evidence.standing(key, done).over for board in plan.boards for key in evidence.keys(board)
    )
    advice = f"`whylate study show {study}` reports it by its stopping rule"
    if over:
        text = f"these runs belong to a study, and this is one more look at them: {advice}"
    else:
        text = f"these runs belong to an unfinished study, and this look is not planned: {advice}"
    if over or accept or comparison.verdict in ("no verdict", "inconclusive"):
        return msgspec.structs.replace(comparison, cautions=[*comparison.cautions, text])
    why = f"{comparison.why}, so far: {text}"
    return msgspec.structs.replace(comparison, verdict="no verdict", why=why)
