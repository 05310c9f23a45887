"""Recordings of schema 1 to 5, converted when they are read.

Until schema 5 a plan had the fields of all workloads side by side, benchmarks were called trials,
and injected faults causes.
"""

from __future__ import annotations

from typing import Any

#: The last schema that is converted.
FORMER_VERSION = 5
#: What a conversion raises where the text is not what it should be.
ERRORS = (KeyError, TypeError, ValueError, AttributeError)

#: The name of repetitions.parquet, and of its columns.
FORMER_REPETITIONS = "trials.parquet"
FORMER_COLUMNS = {"trial": "turn"}
#: Columns of windows.parquet.
FORMER_WINDOWS = {"why": "reason"}

_PLAN = ("cpus", "loads", "settings", "virtual_time", "seed", "host_cpus")


def convert_manifest(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a decoded manifest.json as one of schema 6; raises one of ERRORS."""
    manifest = {**manifest, "plan": convert_plan(manifest["plan"])}
    recorder = manifest.get("recorder")
    if recorder is not None:
        manifest["recorder"] = _renamed(recorder, {"passed_over": "rate_limited"})
    turns = manifest.pop("trials", [])
    manifest["turns"] = [_renamed(turn, {"trial": "turn"}) for turn in turns]
    return manifest


def convert_opening(opening: dict[str, Any]) -> dict[str, Any]:
    """Return the decoded first record of a journal as one of schema 6; raises likewise."""
    return {**opening, "plan": convert_plan(opening["plan"])}


def convert_plan(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan as one of schema 6; raises likewise."""
    converted = {name: plan[name] for name in _PLAN if name in plan}
    converted["faults"] = plan.get("causes", [])
    kind = plan["workload"]
    if plan.get("trials") is not None:
        converted["workload"] = _benchmark(kind, plan)
    else:
        converted["workload"] = _activations(kind, plan)
    return converted


def _activations(kind: str, plan: dict[str, Any]) -> dict[str, Any]:
    recorder = plan.get("recorder")
    workload = {
        "kind": kind,
        "duration_ns": plan["duration_ns"],
        "spool": plan["spool"],
        "recorder": recorder and _renamed(recorder, {"body_every": "control_every"}),
    }
    if kind == "app":
        return {**workload, "target": _target(plan["app"])}
    for name in ("interval_ns", "priority", "allow_idle_states"):
        workload[name] = plan[name]
    for name in ("phase_ns", "until", "counters"):
        if name in plan:
            workload[name] = plan[name]
    return workload


def _target(app: dict[str, Any]) -> dict[str, Any]:
    for by, field in (("comm", "comm"), ("pid", "pid"), ("command", "argv")):
        if app.get(by) is not None:
            return {"by": by, field: app[by]}
    raise ValueError("a watched program without a name, a process or a command")


def _benchmark(kind: str, plan: dict[str, Any]) -> dict[str, Any]:
    trials = dict(plan["trials"])
    priority = trials.pop("priority", 0)
    points = [{k: v for k, v in point.items() if k != "of"} for point in trials.pop("points")]
    workload = {**trials, "kind": kind, "points": points}
    if kind == "switch":
        workload["priority"] = priority
    if kind != "cmd":
        # A request to leave the tasks unpinned was kept as points without CPUs alone.
        workload["free"] = not any(
            point.get("cpus") or point.get("cpu") is not None for point in points
        )
    return workload


def convert_study(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a decoded study.json of schema 1 as one of schema 2; raises one of ERRORS."""
    plan = {**plan, "schema_version": 2}
    duration_ns, interval_ns = plan.pop("duration_ns"), plan.pop("interval_ns")
    priority, threshold_ns = plan.pop("priority", 80), plan.pop("threshold_ns", None)
    recorder, trials = plan.pop("recorder", True), plan.pop("trials", None)
    if trials is not None:
        free, block_ns = trials.pop("free", False), trials.pop("block_ns", None)
        trials["counters"] = [{"name": name} for name in trials.get("counters", [])]
        workload = _benchmark(trials["points"][0]["of"], {"trials": trials}) | {"free": free}
        if block_ns is not None:
            workload["block_ns"] = block_ns
    else:
        workload = {
            "kind": "wakeup",
            "duration_ns": duration_ns,
            "interval_ns": interval_ns,
            "priority": priority,
            "recorder": {"threshold_ns": threshold_ns} if recorder else None,
        }
    return {**plan, "workload": workload}


def convert_window(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of windows.parquet, or of events.parquet, as one of schema 6."""
    if "why" in row:
        row["reason"] = {"body": "control"}.get(row["why"], row.pop("why"))
    return row


def _renamed(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in fields.items()}
