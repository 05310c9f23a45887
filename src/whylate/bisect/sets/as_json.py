"""A bisection as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.stats.search.model import (
    Answer,
    Confirmation,
    Culprits,
    Effect,
    ExplainsPart,
    GapTooSmall,
    Items,
    NoGap,
    NotAmong,
    Undecided,
    not_apart,
)

#: How each answer is called.
NAMES: dict[type, str] = {
    Culprits: "culprits",
    ExplainsPart: "explains part",
    NotAmong: "not among the",
    NoGap: "no gap",
    GapTooSmall: "gap too small",
    Undecided: "undecided",
}


def document(
    sets: Sets, runs: Sequence[MadeRun], answer: Answer | None, directory: Path
) -> dict[str, Any]:
    """Return the plan in short, the answer with its evidence, and every made.

    answer: None: the bisection is not over. Shares are parts of the gap; the gap is second minus
    first variant, on the logarithm of a time, or the value that runs are compared by.
    """
    return {
        "directory": str(directory),
        "first": sets.plan.first.name,
        "second": sets.plan.second.name,
        "statistic": sets.plan.statistic,
        sets.nouns.plural: [
            {sets.nouns.unit: item.name, "first": item.first, "second": item.second}
            for item in sets.items
        ],
        "answer": None if answer is None else answer_name(sets, answer),
        **_evidence(sets, answer),
        "runs": list(runs),
    }


def answer_name(sets: Sets, answer: Answer) -> str:
    """Return how an answer is called."""
    name = NAMES[type(answer)]
    return f"{name} {sets.nouns.plural}" if isinstance(answer, NotAmong) else name


def _evidence(sets: Sets, answer: Answer | None) -> dict[str, Any]:
    if answer is None:
        return {}
    evidence: dict[str, Any] = {}
    if answer.gap is not None:
        evidence["gap"] = asdict(answer.gap.estimate) | {
            "sd": answer.gap.sd,
            "runs": answer.gap.runs,
        }
    if isinstance(answer, Culprits | ExplainsPart):
        evidence["culprits"] = [_effect(sets, effect, answer.atoms) for effect in answer.effects]
    if isinstance(answer, ExplainsPart):
        evidence["share"] = asdict(answer.share)
    if isinstance(answer, Culprits | ExplainsPart | NotAmong):
        evidence["confirmation"] = _confirmation(answer.confirmation)
    if isinstance(answer, ExplainsPart | NotAmong):
        evidence["never_run_apart"] = [sets.items[item].name for item in answer.not_set]
    if isinstance(answer, GapTooSmall):
        evidence["runs_needed"] = answer.needed
    if isinstance(answer, Undecided):
        evidence["reason"] = answer.reason
        evidence["candidates"] = [
            {f"{sets.nouns.unit}s": [sets.items[item].name for item in candidate.items
                                     if item < len(sets.items)],
             "probability": candidate.probability}
            for candidate in answer.candidates
        ]  # fmt: skip
    return evidence


def _effect(sets: Sets, effect: Effect, atoms: Sequence[Items]) -> dict[str, Any]:
    """Return a culprit. never_run_apart: others that it may as well be."""
    return {
        sets.nouns.unit: sets.items[effect.item].name,
        "share": asdict(effect.share),
        "never_run_apart": [sets.items[item].name for item in not_apart(atoms, effect.item)],
    }


def _confirmation(confirmation: Confirmation) -> dict[str, Any]:
    return {
        "first_with_second": None if confirmation.fast is None else asdict(confirmation.fast),
        "second_with_first": None if confirmation.slow is None else asdict(confirmation.slow),
        "runs": confirmation.runs,
    }
