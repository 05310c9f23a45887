"""The answer for machines: the same figures, with their units in the keys."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.causes.answer import Answer, TracedActivation
from whylate.causes.families import Families

#: Fields of a share that have another name here.
_SHARE_KEYS = {"share": "located_share", "mean_ns": "mean_excess_ns"}


def answer_as_json(answer: Answer, worst: int) -> dict[str, Any]:
    """Return the answer as one JSON object; `explained`: whether there is one."""
    population = answer.population
    head: dict[str, Any] = {
        "explained": population is not None,
        "threshold_ns": answer.threshold_ns,
        "threshold": answer.threshold_name,
        "observability": msgspec.to_builtins(answer.observability),
    }
    if population is None:
        return {**head, "why_not": answer.why_not, "detached": answer.detached}
    return {
        **head,
        "episodes": population.episodes,
        "episodes_recorded": population.recorded,
        "control_recorded": population.control,
        "between": answer.between,
        "detached": answer.detached,
        "excess_ns": population.excess_ns,
        "causes": [
            {_SHARE_KEYS.get(name, name): value for name, value in share.items()}
            for share in msgspec.to_builtins(population.causes)
        ],
        "timing": msgspec.to_builtins(answer.timings),
        "families": _families(answer.families),
        "worst": [_example(example, answer.families) for example in answer.worst[:worst]],
    }


def _families(families: Families | None) -> list[dict[str, Any]]:
    """Return the families, and how many control activations satisfy the rule of each."""
    if families is None:
        return []
    return [
        {
            "family": family.letter or "other",
            "cause": None if family.cause is None else family.cause.value,
            "detail": family.detail,
            "at_least_ns": family.at_least_ns,
            "median_ns": family.median_ns,
            "episodes": family.episodes,
            "in_control": family.controls / families.control
            if families.control and family.cause
            else None,
            "excess_ns": family.excess_ns,
            "worst": {
                "cpu": family.worst[0],
                "activation": family.worst[1],
                "latency_ns": family.worst_ns,
            },
        }
        for family in families.families
    ]


def _example(activation: TracedActivation, families: Families | None) -> dict[str, Any]:
    breakdown = activation.breakdown
    of = families.of if families is not None else {}
    return {
        "cpu": breakdown.cpu,
        "activation": breakdown.activation,
        **({"thread": activation.thread} if activation.thread is not None else {}),
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
