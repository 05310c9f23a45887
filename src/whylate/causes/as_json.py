"""The answer for machines: the same figures, with their units in the keys."""

from __future__ import annotations

from typing import Any

from whylate.causes.answer import Answer, TracedActivation
from whylate.causes.families import Families
from whylate.causes.observability import Observability
from whylate.causes.population import CauseShare


def answer_as_json(answer: Answer, worst: int) -> dict[str, Any]:
    """Return the answer as one JSON object; `explained` says whether there is one."""
    found = answer.population
    told: dict[str, Any] = {
        "explained": found is not None,
        "threshold_ns": answer.threshold_ns,
        "threshold": answer.threshold_name,
        "observability": [observability_as_json(one) for one in answer.observability],
    }
    if found is None:
        return {**told, "why_not": answer.why_not}
    return {
        **told,
        "episodes": found.episodes,
        "episodes_recorded": found.recorded,
        "control_recorded": found.control,
        "between": answer.between,
        "excess_ns": found.excess_ns,
        "causes": [_share(one) for one in found.causes],
        "families": _families(answer.families),
        "worst": [_story(one, answer.families) for one in answer.worst[:worst]],
    }


def observability_as_json(one: Observability) -> dict[str, str]:
    """Return whether a cause can be named on the board, as explain and doctor print it."""
    return {
        "cause": one.cause.value,
        "observable": one.observable.value,
        "missing": one.missing,
        "counts_as": one.counts_as,
    }


def _families(found: Families | None) -> list[dict[str, Any]]:
    """Return the families, and how many ordinary activations satisfy the rule of each."""
    if found is None:
        return []
    return [
        {
            "family": one.letter or "other",
            "cause": None if one.cause is None else one.cause.value,
            "detail": one.detail,
            "at_least_ns": one.at_least_ns,
            "median_ns": one.median_ns,
            "episodes": one.episodes,
            "in_control": one.ordinary / found.control if found.control and one.cause else None,
            "excess_ns": one.excess_ns,
            "worst": {"cpu": one.worst[0], "activation": one.worst[1], "latency_ns": one.worst_ns},
        }
        for one in found.families
    ]


def _share(one: CauseShare) -> dict[str, Any]:
    return {
        "cause": one.cause.value,
        "detail": one.detail,
        "located_share": one.share,
        "low": one.low,
        "high": one.high,
        "mean_excess_ns": one.mean_ns,
        "in_late": one.in_late,
        "in_control": one.in_control,
        "significant": one.significant,
    }


def _story(one: TracedActivation, families: Families | None) -> dict[str, Any]:
    breakdown = one.breakdown
    of = families.of if families is not None else {}
    return {
        "cpu": breakdown.cpu,
        "activation": breakdown.activation,
        **({"thread": one.thread} if one.thread is not None else {}),
        "due_ns": breakdown.due_ns,
        "latency_ns": breakdown.latency_ns,
        "family": of.get((breakdown.cpu, breakdown.activation), "other"),
        "pieces": [
            {
                "start_ns": piece.start_ns,
                "length_ns": piece.length_ns,
                "cause": piece.cause.value,
                "detail": piece.detail,
                "stage": piece.stage.value,
            }
            for piece in breakdown.pieces or ()
        ],
    }
