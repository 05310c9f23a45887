"""The object that --json prints."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.summary.model import Estimate, Figures, StageFigures, Summary, ThreadFigures
from whylate.summary.verdicts import overall

#: Version of the object's keys; keys are only added within one version.
JSON_VERSION = 1


def to_json(summary: Summary) -> dict[str, Any]:
    """Turn a summary into plain dicts, lists, strings and numbers; latencies are integers in ns.

    What was refused has value null and a "reason". "verdict" joins trust and requirements.
    """
    return {
        "format": "whylate-summary",
        "version": JSON_VERSION,
        "recording": summary.recording,
        "board": summary.board,
        "state": summary.state,
        "created": summary.created,
        "kernel": summary.kernel,
        "cpu_model": summary.cpu_model,
        "workload": summary.workload,
        "interval_ns": summary.interval_ns,
        "priority": summary.priority,
        "planned_ns": summary.planned_ns,
        "elapsed_ns": summary.elapsed_ns,
        "verdict": overall(summary.requirements, summary.trust),
        "trust": summary.trust.verdict,
        "trust_reasons": list(summary.trust.reasons),
        **_figures(summary.together),
        "per_cpu": [{"cpu": cpu.cpu, **_figures(cpu)} for cpu in summary.per_cpu],
        "app": summary.app
        and {"comm": summary.app.comm, "pid": summary.app.pid, "command": summary.app.argv},
        "threads": summary.threads,
        "per_thread": [_thread(thread) for thread in summary.per_thread],
        "events": [
            {
                "name": event.name,
                "per_activation": event.per_activation,
                "per_cpu": {str(cpu): count for cpu, count in event.per_cpu.items()},
            }
            for event in summary.events
        ],
        "exceedance": msgspec.to_builtins(summary.exceedance),
        "loads": msgspec.to_builtins(summary.loads),
        "warnings": msgspec.to_builtins(summary.warnings),
        "requirements": msgspec.to_builtins(summary.requirements),
        "samples_sha256": summary.samples_sha256,
        "virtual_time": summary.virtual_time,
        "seed": summary.seed,
        "phase_ns": summary.phase_ns,
        "crashes": msgspec.to_builtins(summary.crashes),
        "causes": msgspec.to_builtins(summary.causes),
        "interval_note": summary.interval_note,
    }


def _thread(thread: ThreadFigures) -> dict[str, Any]:
    return {
        "pid": thread.pid,
        "name": thread.name,
        "seen": thread.seen,
        "min_ns": thread.min_ns,
        "latency_ns": {name: _estimate(estimate) for name, estimate in thread.latency_ns.items()},
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "expected": figures.expected,
        "seen": figures.seen,
        "overrun": figures.overrun,
        "dropped": figures.dropped,
        "min_ns": figures.min_ns,
        "latency_ns": {name: _estimate(estimate) for name, estimate in figures.latency_ns.items()},
        **{f"{name}_latency": _stage(stage) for name, stage in figures.stages.items()},
    }


def _stage(stage: StageFigures) -> dict[str, Any]:
    return {
        "seen": stage.seen,
        "not_seen": stage.not_seen,
        "latency_ns": {name: _estimate(estimate) for name, estimate in stage.latency_ns.items()},
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    document: dict[str, Any] = {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
    }
    if estimate.at_least:
        document["at_least"] = True
    if estimate.effective_n is not None:
        document["effective_n"] = round(estimate.effective_n, 1)
    if estimate.reason is not None:
        document["reason"] = estimate.reason
    return document
