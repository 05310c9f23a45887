"""Frequency scaling and idle states: what slows a CPU down, and what puts it to sleep."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.boards.facts.reading import (
    CPU_LIMIT,
    Files,
    by_value,
    cpu_fact,
    file_fact,
    integer,
    make_fact,
)
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

_SYSTEM = "/sys/devices/system/cpu"
_CPUS = f"{_SYSTEM}/cpu[0-9]*"
#: cpuN/cpufreq rather than cpufreq/policyN: kernels before 4.3 have only the former.
_FREQ_FILES = (
    "scaling_governor",
    "scaling_driver",
    "scaling_min_freq",
    "scaling_max_freq",
    "cpuinfo_min_freq",
    "cpuinfo_max_freq",
    "energy_performance_preference",
)

WANTED = (
    *(FileRequest(f"{_CPUS}/cpufreq/{name}", 64) for name in _FREQ_FILES),
    FileRequest(f"{_SYSTEM}/cpufreq/boost", 16),
    FileRequest(f"{_SYSTEM}/intel_pstate/status", 16),
    FileRequest(f"{_SYSTEM}/intel_pstate/no_turbo", 16),
    FileRequest(f"{_SYSTEM}/cpuidle/current_driver", 64),
    FileRequest(f"{_SYSTEM}/cpuidle/current_governor", 64),
    FileRequest(f"{_SYSTEM}/cpuidle/current_governor_ro", 64),
    FileRequest(f"{_CPUS}/cpuidle/state[0-9]*/name", 32),
    FileRequest(f"{_CPUS}/cpuidle/state[0-9]*/latency", 16),
    FileRequest(f"{_CPUS}/cpuidle/state[0-9]*/disable", 16),
    FileRequest("/sys/module/haltpoll/parameters/guest_halt_poll_ns", 32),
)


@dataclass(frozen=True)
class IdleState:
    """One idle state of one CPU; `exit_us` is the exit latency that its driver declares."""

    cpu: int
    index: int
    name: str
    exit_us: int | None
    disabled: bool


def idle_states(files: Files) -> list[IdleState]:
    """Every idle state of every CPU; [] where there are none."""
    found = []
    for (cpu_text, index_text), path in files.match(f"{_SYSTEM}/cpu*/cpuidle/state*/name"):
        cpu, index = integer(cpu_text), integer(index_text)
        if cpu is None or index is None or not 0 <= cpu < CPU_LIMIT or not 0 <= index < 64:
            continue
        at = path.removesuffix("/name")
        found.append(
            IdleState(
                cpu=cpu,
                index=index,
                name=files.text(path, 32) or "?",
                exit_us=files.number(f"{at}/latency"),
                disabled=(files.text(f"{at}/disable") or "0") != "0",
            )
        )
    return found


def idle_summary(states: list[IdleState]) -> list[str]:
    """Return the states by number, as "state1 C1: 2 us, enabled", by CPUs where they differ."""
    per_state: dict[int, dict[int, str]] = {}
    for state in states:
        latency = "exit latency ?" if state.exit_us is None else f"{state.exit_us} us"
        text = f"{state.name}: {latency}, {'disabled' if state.disabled else 'enabled'}"
        per_state.setdefault(state.index, {})[state.cpu] = text
    lines: list[str] = []
    for index, texts in sorted(per_state.items()):
        value = by_value(texts)
        texts_shown = [value] if isinstance(value, str) else value
        lines.extend(f"state{index} {text}" for text in texts_shown)
    return lines


def power_facts(files: Files) -> list[Fact]:
    """Governors, frequency limits, boost, the idle driver and its states."""
    facts: list[Fact] = []
    facts += cpu_fact(files, "governor", "cpufreq/scaling_governor")
    facts += cpu_fact(files, "frequency_driver", "cpufreq/scaling_driver")
    facts += cpu_fact(files, "frequency_min_khz", "cpufreq/scaling_min_freq")
    facts += cpu_fact(files, "frequency_max_khz", "cpufreq/scaling_max_freq")
    facts += cpu_fact(files, "frequency_lowest_khz", "cpufreq/cpuinfo_min_freq")
    facts += cpu_fact(files, "frequency_highest_khz", "cpufreq/cpuinfo_max_freq")
    facts += cpu_fact(files, "energy_preference", "cpufreq/energy_performance_preference")
    facts += file_fact(files, "frequency_boost", f"{_SYSTEM}/cpufreq/boost", integer)
    facts += file_fact(files, "intel_pstate", f"{_SYSTEM}/intel_pstate/status")
    facts += file_fact(files, "intel_no_turbo", f"{_SYSTEM}/intel_pstate/no_turbo", integer)
    facts += file_fact(files, "idle_driver", f"{_SYSTEM}/cpuidle/current_driver")
    for name in ("current_governor", "current_governor_ro"):
        governor = file_fact(files, "idle_governor", f"{_SYSTEM}/cpuidle/{name}")
        if governor:
            facts += governor
            break
    states = idle_states(files)
    if states:
        source = f"{_SYSTEM}/cpu*/cpuidle/state*"
        facts.append(make_fact("idle_states", idle_summary(states), source))
    poll = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
    return facts + file_fact(files, "guest_halt_poll_ns", poll, integer)
