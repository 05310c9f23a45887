"""The object that --json prints of a benchmark: keys of figures name units."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.summary.as_json import JSON_VERSION
from whylate.summary.benchmarks.model import (
    BenchmarkSummary,
    Measured,
    NetworkFigures,
    PointFigures,
)


def benchmark_json(summary: BenchmarkSummary) -> dict[str, Any]:
    """Turn a summary into plain dicts, lists, strings and numbers.

    Of each point: its parameters, figures ({"value", "low", "high"}), facts, and counts. A refused
    point has "refused", and no figures.
    """
    return {
        "format": "whylate-benchmark",
        "version": JSON_VERSION,
        "recording": summary.recording,
        "board": summary.board,
        "state": summary.state,
        "created": summary.created,
        "kernel": summary.kernel,
        "cpu_model": summary.cpu_model,
        "workload": summary.workload,
        "clock_source": summary.clock_source,
        "verdict": "pass" if summary.trust.verdict == "ok" else "no verdict",
        "trust": summary.trust.verdict,
        "trust_reasons": list(summary.trust.reasons),
        "rounds": summary.rounds,
        "repetitions": summary.repetitions,
        "points": [_point(point, summary.counts_per) for point in summary.points],
        "networks": [_network(network) for network in summary.networks],
        "findings": msgspec.to_builtins(summary.findings),
        "loads": msgspec.to_builtins(summary.loads),
        "warnings": msgspec.to_builtins(summary.warnings),
        "interval_note": summary.interval_note,
        "virtual_time": summary.virtual_time,
    }


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


def _network(network: NetworkFigures) -> dict[str, Any]:
    return {
        "name": network.name,
        "fitted_to_threads": network.threads,
        "think_ns": _measured(network.think_ns),
        "service_ns": _measured(network.service_ns),
        "predicted": [
            {
                "threads": prediction.threads,
                "calls_per_us": _measured(prediction.calls_per_us),
                "is_prediction": True,
            }
            for prediction in network.predicted
        ],
        "misfit": network.misfit,
        "off": network.off,
    }
