"""A bisection as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whylate.bisect.settings.model import BisectPlan, MadeRun
from whylate.stats.search.model import (
    Answer,
    Confirmation,
    Culprits,
    Effect,
    ExplainsPart,
    GapTooSmall,
    NoGap,
    NotAmong,
    Undecided,
)

#: How each answer is called.
NAMES: dict[type, str] = {
    Culprits: "culprits",
    ExplainsPart: "explains part",
    NotAmong: "not among the settings",
    NoGap: "no gap",
    GapTooSmall: "gap too small",
    Undecided: "undecided",
}


def document(
    plan: BisectPlan, runs: Sequence[MadeRun], answer: Answer | None, directory: Path
) -> dict[str, Any]:
    """Return the plan in short, the answer with its evidence, and every made.

    answer: None: the bisection is not over. Shares are parts of the gap; the gap is second minus
    first variant, on the logarithm of a time, or the value that runs are compared by.
    """
    return {
        "directory": str(directory),
        "first": plan.first.name,
        "second": plan.second.name,
        "statistic": plan.statistic,
        "settings": [
            {"knob": item.knob, "first": item.first, "second": item.second} for item in plan.items
        ],
        "answer": None if answer is None else NAMES[type(answer)],
        **_evidence(plan, answer),
        "runs": list(runs),
    }


def _evidence(plan: BisectPlan, answer: Answer | None) -> dict[str, Any]:
    if answer is None:
        return {}
    evidence: dict[str, Any] = {}
    if answer.gap is not None:
        evidence["gap"] = asdict(answer.gap.estimate) | {
            "sd": answer.gap.sd,
            "runs": answer.gap.runs,
        }
    if isinstance(answer, Culprits | ExplainsPart):
        evidence["culprits"] = [_effect(plan, effect) for effect in answer.effects]
    if isinstance(answer, ExplainsPart):
        evidence["share"] = asdict(answer.share)
    if isinstance(answer, Culprits | ExplainsPart | NotAmong):
        evidence["confirmation"] = _confirmation(answer.confirmation)
    if isinstance(answer, GapTooSmall):
        evidence["runs_needed"] = answer.needed
    if isinstance(answer, Undecided):
        evidence["reason"] = answer.reason
        evidence["candidates"] = [
            {"knobs": [plan.items[item].knob for item in candidate.items if item < len(plan.items)],
             "probability": candidate.probability}
            for candidate in answer.candidates
        ]  # fmt: skip
    return evidence


def _effect(plan: BisectPlan, effect: Effect) -> dict[str, Any]:
    return {"knob": plan.items[effect.item].knob, "share": asdict(effect.share)}


def _confirmation(confirmation: Confirmation) -> dict[str, Any]:
    return {
        "first_with_second": None if confirmation.fast is None else asdict(confirmation.fast),
        "second_with_first": None if confirmation.slow is None else asdict(confirmation.slow),
        "runs": confirmation.runs,
    }
