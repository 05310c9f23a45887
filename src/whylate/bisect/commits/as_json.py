"""A bisection of commits as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whylate.bisect.commits.carry_out import Result
from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.model import CommitsPlan, Step
from whylate.bisect.commits.reverted import Reverted
from whylate.stats.ordered_search.confirmation import Confirmation


def document(
    plan: CommitsPlan, commits: Commits, steps: Sequence[Step], result: Result, directory: Path
) -> dict[str, Any]:
    """Return the answer with its evidence, and every step.

    answer: None: the bisection is not over. Steps and differences are of the logarithm of a time,
    or of the value that runs are compared by.
    """
    answer, confirmation = result.answer, result.confirmation
    evidence: dict[str, Any] = {}
    if answer is not None:
        evidence = {
            "commits": [commits.hashes[place] for place in answer.versions],
            "second_commits": [commits.hashes[place] for place in answer.second_versions],
            "probability": answer.probability,
            "step": answer.step,
            "kinds": answer.kinds._asdict(),
        }
    if confirmation is not None:
        evidence["confirmation"] = _confirmation(confirmation)
    if result.reverted is not None:
        evidence["reverted"] = _reverted(result.reverted)
    return {
        "directory": str(directory),
        "good": plan.good,
        "bad": plan.bad,
        "statistic": plan.statistic,
        "answer": None if answer is None else answer.kind.value,
        **evidence,
        "steps": list(steps),
    }


def _confirmation(confirmation: Confirmation) -> dict[str, Any]:
    return {
        "confirmed": confirmation.confirmed,
        "pairs": confirmation.pairs,
        "difference": confirmation.difference,
        "low": confirmation.difference - confirmation.half_width,
        "high": confirmation.difference + confirmation.half_width,
    }


def _reverted(reverted: Reverted) -> dict[str, Any]:
    if reverted.back is None:
        return {"reason": reverted.reason}
    return {"pairs": reverted.pairs, "gives_back": asdict(reverted.back)}
