"""Frequency scaling, idle states and temperature: what slows a CPU down or puts it to sleep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whylate.boards.facts.reading import CPUS, Files, by_value, cpu_number, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromCpus, FromFile, Source
from whylate.recording.manifest import Fact

_GOVERNORS = tuple(
    FromFile("idle_governor", f"{CPUS}/cpuidle/{name}", 64)
    for name in ("current_governor", "current_governor_ro")
)


@dataclass(frozen=True)
class IdleState:
    """One idle state of one CPU; `exit_us` is the exit latency that its driver declares."""

    cpu: int
    index: int
    name: str
    exit_us: int | None
    disabled: bool


def read_idle_states(files: Files) -> list[IdleState]:
    """Return every idle state of every CPU; [] where there are none."""
    states = []
    for (cpu_text, index_text), path in files.match(f"{CPUS}/cpu*/cpuidle/state*/name"):
        cpu, index = cpu_number(cpu_text), integer(index_text)
        if cpu is None or index is None or not 0 <= index < 64:
            continue
        directory = path.removesuffix("/name")
        states.append(
            IdleState(
                cpu=cpu,
                index=index,
                name=files.text(path, 32) or "?",
                exit_us=files.number(f"{directory}/latency"),
                disabled=(files.text(f"{directory}/disable") or "0") != "0",
            )
        )
    return states


def _idle_states(files: Files) -> Iterator[Fact]:
    """Yield the states by number, as "state1 C1: 2 us, enabled", by CPUs where they differ."""
    per_state: dict[int, dict[int, str]] = {}
    for state in read_idle_states(files):
        latency = "exit latency ?" if state.exit_us is None else f"{state.exit_us} us"
        text = f"{state.name}: {latency}, {'disabled' if state.disabled else 'enabled'}"
        per_state.setdefault(state.index, {})[state.cpu] = text
    lines: list[str] = []
    for index, texts in sorted(per_state.items()):
        value = by_value(texts)
        lines += [f"state{index} {text}" for text in ([value] if isinstance(value, str) else value)]
    if lines:
        yield make_fact("idle_states", lines, f"{CPUS}/cpu*/cpuidle/state*")


def _idle_governor(files: Files) -> list[Fact]:
    return next((facts for file in _GOVERNORS if (facts := file.facts(files))), [])


_ZONES = "/sys/class/thermal/thermal_zone*"


def _temperatures(files: Files) -> Iterator[Fact]:
    """Yield each thermal zone as "cpu-thermal: 48.2 °C"; sysfs has thousandths of a degree."""
    zones = []
    for (number,), path in files.match(f"{_ZONES}/temp"):
        thousandths = files.number(path)
        if thousandths is not None and -100_000 < thousandths < 300_000:
            name = files.text(path.removesuffix("temp") + "type", 40) or f"zone {number}"
            zones.append(f"{name}: {thousandths / 1000:.1f} °C")
    if zones:
        yield make_fact("temperatures", zones, f"{_ZONES}/temp")


#: cpuN/cpufreq rather than cpufreq/policyN: kernels before 4.3 have only the former.
POWER: tuple[Source, ...] = (
    FromCpus("governor", "cpufreq/scaling_governor", 64),
    FromCpus("frequency_driver", "cpufreq/scaling_driver", 64),
    FromCpus("frequency_min_khz", "cpufreq/scaling_min_freq", 64),
    FromCpus("frequency_max_khz", "cpufreq/scaling_max_freq", 64),
    FromCpus("frequency_lowest_khz", "cpufreq/cpuinfo_min_freq", 64),
    FromCpus("frequency_highest_khz", "cpufreq/cpuinfo_max_freq", 64),
    FromCpus("energy_preference", "cpufreq/energy_performance_preference", 64),
    FromFile("frequency_boost", f"{CPUS}/cpufreq/boost", 16, integer),
    FromFile("intel_pstate", f"{CPUS}/intel_pstate/status", 16),
    FromFile("intel_no_turbo", f"{CPUS}/intel_pstate/no_turbo", 16, integer),
    FromFile("idle_driver", f"{CPUS}/cpuidle/current_driver", 64),
    Derived(_idle_governor, tuple(request for file in _GOVERNORS for request in file.requests)),
    Derived(
        _idle_states,
        (
            FileRequest(f"{CPUS}/cpu[0-9]*/cpuidle/state[0-9]*/name", 32),
            FileRequest(f"{CPUS}/cpu[0-9]*/cpuidle/state[0-9]*/latency", 16),
            FileRequest(f"{CPUS}/cpu[0-9]*/cpuidle/state[0-9]*/disable", 16),
        ),
    ),
    Derived(
        _temperatures,
        (
            FileRequest("/sys/class/thermal/thermal_zone[0-9]*/temp", 16),
            FileRequest("/sys/class/thermal/thermal_zone[0-9]*/type", 40),
        ),
    ),
    FromFile(
        "guest_halt_poll_ns", "/sys/module/haltpoll/parameters/guest_halt_poll_ns", 32, integer
    ),
)
