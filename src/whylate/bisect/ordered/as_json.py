"""A bisection of an ordered history as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whylate.bisect.ordered.carry_out import Result
from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.ordered.versions import Versions


def document(
    plan: OrderedPlan, versions: Versions, steps: Sequence[Step], result: Result, directory: Path
) -> dict[str, Any]:
    """Return the answer with its evidence, and every step.

    answer: None: the bisection is not over. Steps and differences are of the logarithm of a time,
    or of the value that runs are compared by.
    """
    plural = versions.nouns.plural
    answer, confirmation = result.answer, result.confirmation
    evidence: dict[str, Any] = {}
    if answer is not None:
        evidence = {
            plural: [versions.names[place] for place in answer.versions],
            f"second_{plural}": [versions.names[place] for place in answer.second_versions],
            "probability": answer.probability,
            "step": answer.step,
            "kinds": answer.kinds._asdict(),
        }
    if confirmation is not None:
        evidence["confirmation"] = {
            "confirmed": confirmation.confirmed,
            "pairs": confirmation.pairs,
            "difference": confirmation.difference,
            "low": confirmation.difference - confirmation.half_width,
            "high": confirmation.difference + confirmation.half_width,
        }
    return {
        "directory": str(directory),
        "good": versions.names[0],
        "bad": versions.names[-1],
        "statistic": plan.statistic,
        "answer": None if answer is None else answer.kind.value,
        **evidence,
        "steps": list(steps),
    }
