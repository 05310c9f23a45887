"""The object that --json prints of a recording that has trials: keys of figures name units."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.command import CommandPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.summary.as_json import JSON_VERSION
from whylate.summary.trial_model import Measured, NetworkFigures, PointFigures, TrialsSummary

#: By what counts are divided.
_WORK: dict[type[BenchmarkPoint], str] = {
    SwitchPoint: "hop",
    MemoryPoint: "pass",
    ClockPoint: "call",
    CommandPoint: "run",
}


def trials_json(summary: TrialsSummary) -> dict[str, Any]:
    """Turn a summary into plain dicts, lists, strings and numbers.

    Of each point: its parameters, what was measured ({"value", "low", "high"}), what was counted
    or read, and what counters counted. A point that was refused has "refused", and no figures.
    """
    return {
        "format": "whylate-trials",
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
        "points": [_point(one) for one in summary.points],
        "networks": [_network(one) for one in summary.networks],
        "findings": msgspec.to_builtins(summary.findings),
        "loads": msgspec.to_builtins(summary.loads),
        "warnings": msgspec.to_builtins(summary.warnings),
        "interval_note": summary.interval_note,
        "virtual_time": summary.virtual_time,
    }


def _point(point: PointFigures) -> dict[str, Any]:
    parameters = msgspec.to_builtins(point.point)
    parameters.pop("of", None)
    return {
        "name": point.name,
        "parameters": parameters,
        "rounds": point.rounds,
        "repetitions": point.repetitions,
        **{key: _measured(one) for key, one in point.figures.items()},
        **point.facts,
        **({"counts": {key: _measured(one) for key, one in point.counts.items()},
            "counts_per": _WORK[type(point.point)]} if point.counts else {}),
        **({"refused": point.refused} if point.refused else {}),
        **({"note": point.note} if point.note else {}),
    }  # fmt: skip


def _measured(one: Measured) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _network(one: NetworkFigures) -> dict[str, Any]:
    return {
        "name": one.name,
        "fitted_to_threads": one.threads,
        "think_ns": _measured(one.think_ns),
        "service_ns": _measured(one.service_ns),
        "predicted": [
            {
                "threads": each.threads,
                "calls_per_us": _measured(each.calls_per_us),
                "is_prediction": True,
            }
            for each in one.predicted
        ],
        "misfit": one.misfit,
        "off": one.off,
    }
