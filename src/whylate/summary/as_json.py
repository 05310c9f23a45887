"""The objects that --json prints: the fields of a summary, its verdict and its trust."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.summary.benchmarks.model import BenchmarkSummary, Measured, PointFigures
from whylate.summary.model import Summary
from whylate.summary.verdicts import overall

#: Version of the objects' keys; keys are only added within one version.
JSON_VERSION = 1
#: Fields of a section alone.
_OF_SECTIONS = ("section", "counted", "quantity", "subject")
#: Fields of a benchmark that are for people.
_SHOWN = frozenset(
    ("title", "common", "counts_per", "context", "conditions", "notes", "models", "curves")
)


def to_json(summary: Summary) -> dict[str, Any]:
    """Turn a summary into plain dicts, lists, strings and numbers; latencies are integers in ns.

    What was refused has value null and a "reason". "verdict" joins trust and requirements.
    """
    document = _head("whylate-summary", overall(summary.requirements, summary.trust), summary)
    app = summary.app
    if summary.section is None:
        # They say nothing of other workloads.
        for name in _OF_SECTIONS:
            del document[name]
    together = _figures(document.pop("together"))
    del together["cpu"]
    return document | {
        **together,
        "per_cpu": [_figures(cpu) for cpu in document["per_cpu"]],
        "per_thread": [_figures(thread) for thread in document["per_thread"]],
        "app": app and {"comm": app.comm, "pid": app.pid, "command": app.argv},
    }


def benchmark_json(summary: BenchmarkSummary) -> dict[str, Any]:
    """Turn a benchmark into plain dicts, lists, strings and numbers: keys of figures name units.

    Of each point: its parameters, figures ({"value", "low", "high"}), facts, and counts. A refused
    point has "refused", and no figures.
    """
    verdict = "pass" if summary.trust.verdict == "ok" else "no verdict"
    document = _head("whylate-benchmark", verdict, summary)
    document["points"] = [_point(point, summary.counts_per) for point in summary.points]
    if summary.off is None:
        # It says nothing of other workloads.
        del document["off"]
    return {key: value for key, value in document.items() if key not in _SHOWN}


def _head(kind: str, verdict: str, summary: Summary | BenchmarkSummary) -> dict[str, Any]:
    document = msgspec.to_builtins(summary, str_keys=True)
    for load in document["loads"]:
        if load["device"] is None:
            # It says nothing of other loads.
            del load["device"]
    return {
        "format": kind,
        "version": JSON_VERSION,
        **document,
        "verdict": verdict,
        "trust": summary.trust.verdict,
        "trust_reasons": summary.trust.reasons,
    }


def _figures(document: dict[str, Any]) -> dict[str, Any]:
    """Lay out figures: a key for each stage, and of each estimate what is known."""
    stages = document.pop("stages", {})
    for figures in (document, *stages.values()):
        figures["latency_ns"] = {
            name: _estimate(estimate) for name, estimate in figures["latency_ns"].items()
        }
    return document | {f"{name}_latency": stage for name, stage in stages.items()}


def _estimate(estimate: dict[str, Any]) -> dict[str, Any]:
    if estimate["effective_n"] is not None:
        estimate["effective_n"] = round(estimate["effective_n"], 1)
    optional = ("at_least", "effective_n", "reason")
    absent = {key for key in optional if estimate[key] is None or estimate[key] is False}
    return {key: value for key, value in estimate.items() if key not in absent}


def _point(point: PointFigures, counts_per: str) -> dict[str, Any]:
    counts = {key: _measured(count) for key, count in point.counts.items()}
    return {
        "name": point.name,
        "parameters": msgspec.to_builtins(point.point),
        "rounds": point.rounds,
        "repetitions": point.repetitions,
        **{key: _measured(figure) for key, figure in point.figures.items()},
        **point.facts,
        **({"counts": counts, "counts_per": counts_per} if counts else {}),
        **({"refused": point.refused} if point.refused else {}),
        **({"note": point.note} if point.note else {}),
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return {"value": measured.value, "low": measured.low, "high": measured.high}
