"""Warnings about a run that may be judged all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from whylate.quantities import format_count, format_seconds_down, format_short_ns
from whylate.recording.manifest import Manifest
from whylate.stats.run.drift import Trend
from whylate.summary.facts import fact_value, takes_turns
from whylate.summary.model import Caution

#: Family-wise false-alarm rate of the drift warning, over all its tests.
DRIFT_ALARM = 0.01
#: A trend smaller than this part of its level is not worth a warning, however certain.
DRIFT_SIZE = 0.02
#: A load's rate that is off by more than this part is reported.
RATE_OFF = 0.05
#: A clock resolution above this means timers that tick.
COARSE_NS = 10_000

# A task chooses its own name, which comes first: the rest is matched from the end.
_TASK = re.compile(
    r"(?P<name>.*) (?:(?:fifo|rr) (?P<priority>[0-9]{1,3})|deadline) pid [0-9]{1,10}"
)
#: What the probe says of a kernel without what BPF programs need.
_NO_BTF = "this kernel has no BTF"
#: The kernel's stopper threads: on every board, above every priority, and idle.
_STOPPER = re.compile(r"migration/[0-9]+")


def cautions(manifest: Manifest, trends: Sequence[Trend], cpus: Sequence[int]) -> list[Caution]:
    """Collect the warnings of a run. cpus: the CPU of each series that `trends` numbers."""
    return [
        *_overruns(manifest),
        *drift(trends, cpus),
        *board_cautions(manifest),
        *_rivals(manifest),
        *_clock(manifest),
        *_recorder(manifest),
        *_turns(manifest),
        *load_cautions(manifest),
        *noticed(manifest),
    ]


def board_cautions(manifest: Manifest) -> list[Caution]:
    """Warn of what a host, the firmware or heat did to the CPUs during the run."""
    # In virtual time a host takes nothing.
    hosts = () if manifest.plan.virtual_time else (*_crowd(manifest), *_host(manifest))
    return [*hosts, *_firmware(manifest)]


def load_cautions(manifest: Manifest) -> Iterator[Caution]:
    """Warn of loads whose rate was not the one that was asked for."""
    for load in manifest.loads:
        device = load.device
        if device is None:
            continue
        for way, asked, bytes_s in (
            ("to the board", device.asked_in_bits_per_s, device.received_per_s),
            ("from the board", device.asked_out_bits_per_s, device.delivered_per_s),
        ):
            if asked and abs(bytes_s * 8 / asked - 1) > RATE_OFF:
                text = (
                    f"Load {device.name}: {bytes_s * 8 / 1e6:.4g} Mbit/s arrived {way} instead of "
                    f"{asked / 1e6:.4g}."
                )
                yield Caution("load-rate", text)


def noticed(manifest: Manifest) -> list[Caution]:
    """Return the problems that the run noticed and that do not void it."""
    return [
        Caution(problem.code, problem.text) for problem in manifest.problems if not problem.fatal
    ]


def drift(trends: Sequence[Trend], cpus: Sequence[int]) -> list[Caution]:
    """Warn of trends that are significant (Bonferroni over all tests) and not small.

    One warning for each statistic, about the CPU that moved most: CPUs often drift together.
    """
    certain = [
        trend
        for trend in trends
        if trend.p_value < DRIFT_ALARM / len(trends)
        and abs(trend.change) > DRIFT_SIZE * abs(trend.level)
    ]
    warnings: list[Caution] = []
    for statistic in dict.fromkeys(trend.statistic for trend in certain):
        alike = [trend for trend in certain if trend.statistic == statistic]
        most = max(alike, key=_relative)
        direction = "rose" if most.change > 0 else "fell"
        part = f"{_relative(most):.0%}"
        if most.series is None:
            text = f"Late activations {direction} in number by {part} of their mean"
        else:
            more = f" (so did {len(alike) - 1} other CPUs)" if len(alike) > 1 else ""
            text = (
                f"The {statistic} of CPU {cpus[most.series]} {direction} by "
                f"{format_short_ns(round(abs(most.change)))}, {part} of its level{more}"
            )
        advice = "let the board warm up first, or measure longer"
        warnings.append(
            Caution("drift", f"{text} from the first fifth of the run to its last: {advice}.")
        )
    return warnings


def _relative(trend: Trend) -> float:
    return abs(trend.change) / max(abs(trend.level), 1e-9)


def _overruns(manifest: Manifest) -> Iterator[Caution]:
    if overrun := sum(account.overrun for account in manifest.cpus):
        text = (
            f"{format_count(overrun)} overruns (periods that elapsed during a stall) are counted "
            "at their lower bound."
        )
        yield Caution("overruns", text)


def _crowd(manifest: Manifest) -> Iterator[Caution]:
    here, own = manifest.plan.host_cpus, len(manifest.plan.measured_cpus)
    if here is not None and own > here:
        text = (
            f"Its {own} CPUs share the {here} CPUs of its host: work on more than {here} of them "
            "at once is slower for that reason alone."
        )
        yield Caution("crowded-host", text)


def _host(manifest: Manifest) -> Iterator[Caution]:
    seconds: dict[int | None, float] = {}
    for change in manifest.changes:
        if change.name == "steal" and change.delta > 0 and change.unit in ("s", "ns"):
            size = change.delta if change.unit == "s" else change.delta / 1e9
            seconds[change.cpu] = seconds.get(change.cpu, 0.0) + size
    measured = {cpu: size for cpu, size in seconds.items() if cpu in manifest.plan.measured_cpus}
    stolen = sum(measured.values()) if measured else seconds.get(None, 0.0)
    guest_of = fact_value(manifest, "hypervisor")
    if stolen:
        watched_s = sum((account.end_ns - account.start_ns) / 1e9 for account in manifest.cpus)
        part = f", {stolen / watched_s:.2g} of their time" if watched_s > 0 else ""
        worst = max(measured, key=lambda cpu: measured[cpu], default=None)
        where = f" Most of it on CPU {worst}." if len(measured) > 1 else ""
        text = (
            f"The hypervisor took {format_seconds_down(stolen)} from the measured CPUs{part}: "
            f"part of the tail may be the host's.{where}"
        )
        yield Caution("steal", text)
    elif guest_of:
        name = f" ({guest_of[:40]})" if isinstance(guest_of, str) else ""
        text = (
            f"The board is a virtual machine{name} that reports no steal time: time that the host "
            "took looks like the board's own latency."
        )
        yield Caution("guest", text)


def _firmware(manifest: Manifest) -> Iterator[Caution]:
    changes = [(change.name, change.delta) for change in manifest.changes]
    interrupts = max((delta for name, delta in changes if name == "smi"), default=0.0)
    if interrupts > 0:
        text = (
            f"{interrupts:.0f} system management interrupts came during the run: the firmware "
            "stopped the CPUs, and no kernel can see or prevent that."
        )
        yield Caution("smi", text)
    throttled = sum(delta for name, delta in changes if name.split("/")[0] == "thermal_throttle")
    if throttled > 0:
        text = (
            f"The CPUs were slowed down by heat {throttled:.0f} times during the run: cool "
            "the board, or lower its frequency, and measure again."
        )
        yield Caution("thermal-throttle", text)


def _rivals(manifest: Manifest) -> Iterator[Caution]:
    if not manifest.plan.is_scheduled:
        # `whylate explain` names what runs before a program's threads.
        return
    priority = manifest.plan.workload.priority
    listed = fact_value(manifest, "rt_tasks")
    tasks = listed if isinstance(listed, list) else []
    if rivals := [task for task in tasks if _is_rival(task, priority)]:
        shown = ", ".join(task[:60] for task in rivals[:3])
        more = f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""
        text = (
            f"Other real-time tasks run at or above the probe's priority {priority} and count as "
            f"latency: {shown}{more}."
        )
        yield Caution("rt-tasks", text)


def _is_rival(task: str, priority: int) -> bool:
    match = _TASK.fullmatch(task)
    if match is None or _STOPPER.fullmatch(match["name"]) or match["name"].startswith("whylate"):
        return False
    return match["priority"] is None or int(match["priority"]) >= priority


def _clock(manifest: Manifest) -> Iterator[Caution]:
    resolution_ns = manifest.probe.clock_resolution_ns or 0
    activations = manifest.plan.activations
    interval_ns = activations.interval_ns if activations is not None else 0
    if 0 < interval_ns < resolution_ns:
        text = (
            f"The interval of {format_short_ns(interval_ns)} is shorter than the clock's "
            f"resolution of {format_short_ns(resolution_ns)}: ask for a longer --interval."
        )
        yield Caution("interval", text)
    elif resolution_ns > COARSE_NS:
        text = (
            f"The clock's resolution is {format_short_ns(resolution_ns)}, so the kernel has no "
            "high-resolution timers: latencies are no finer than that."
        )
        yield Caution("coarse-clock", text)


def _recorder(manifest: Manifest) -> Iterator[Caution]:
    """Warn where the better engine failed on a kernel that could have had it."""
    report = manifest.recorder
    if report is None or report.engine != "tracefs" or not report.declined:
        return
    if _NO_BTF not in report.declined:
        text = (
            "Events were recorded by tracefs, which takes no stacks, for BPF failed "
            f"({report.declined}): less of the tail can be explained."
        )
        yield Caution("recorder-engine", text)


def _turns(manifest: Manifest) -> Iterator[Caution]:
    """Warn where CPUs in virtual time take turns on one of the host's."""
    if takes_turns(manifest):
        text = (
            "In virtual time the CPUs of this board take turns in the emulator: each stands still "
            "for tens of microseconds while it is another one's turn, which makes a tail of its "
            "own. Measure with --smp 1 where one CPU will do."
        )
        yield Caution("emulator-turns", text)
