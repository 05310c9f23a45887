"""A bisection as JUnit, for a pipeline: a test case that passes where there is an answer."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.bisect.sets.words import lines_of
from whylate.report.exports.junit import Bad, Case, junit_document
from whylate.stats.search.model import (
    Answer,
    Culprits,
    ExplainsPart,
    GapTooSmall,
    NotAmong,
    Undecided,
)
from whylate.text import plain


def junit_of(sets: Sets, runs: Sequence[MadeRun], answer: Answer | None) -> bytes:
    """Return one test case: is the second side as the first?

    A gap is a failure, whose message says what makes it; what is undecided is an error; no gap
    passes.
    """
    lines = [plain(line, 600) for line in lines_of(sets, runs, answer)]
    name = f"{plain(sets.plan.second.name, 200)} against {plain(sets.plan.first.name, 200)}"
    message = " ".join(line.strip() for line in lines[1:])
    case = Case(name, _kind(answer), message, "\n".join(lines))
    return junit_document("whylate bisect", f"whylate.bisect.{sets.nouns.verb}", [case])


def _kind(answer: Answer | None) -> Bad | None:
    if answer is None or isinstance(answer, Undecided | GapTooSmall):
        return "error"
    return "failure" if isinstance(answer, Culprits | ExplainsPart | NotAmong) else None
