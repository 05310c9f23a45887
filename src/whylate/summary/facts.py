"""Facts of a board that summaries use."""

from __future__ import annotations

from typing import Any

from whylate.recording.manifest import Manifest


def fact_value(manifest: Manifest, name: str) -> object:
    """Return a fact; None where it is not known."""
    return next((fact.value for fact in manifest.facts if fact.name == name), None)


def fact_text(manifest: Manifest, name: str) -> str | None:
    """Return a fact that is a text; None where it is not known."""
    value = fact_value(manifest, name)
    return value if isinstance(value, str) and value else None


def clock_source(manifest: Manifest) -> str | None:
    """Return the kernel's clock source in the run: facts are read before settings are applied."""
    for setting in reversed(manifest.plan.settings):
        if setting.path.endswith("/current_clocksource"):
            return setting.value
    return fact_text(manifest, "clock_source")


def takes_turns(manifest: Manifest) -> bool:
    """Whether the board's CPUs took turns on one of the host's: several CPUs in virtual time."""
    online = fact_text(manifest, "cpus_online") or ""
    return manifest.plan.virtual_time and any(mark in online for mark in ",-")


def describe_recording(manifest: Manifest, name: str) -> dict[str, Any]:
    """Return the fields of a RecordingSummary that the manifest has."""
    return {
        "recording": name,
        "board": manifest.board,
        "state": manifest.state,
        "created": manifest.created,
        "kernel": fact_text(manifest, "kernel_release"),
        "cpu_model": fact_text(manifest, "cpu_model"),
        "workload": manifest.plan.workload.kind,
        "loads": list(manifest.loads),
        "virtual_time": manifest.plan.virtual_time,
        "hits": list(manifest.hits),
    }
