"""Synthetic runs for the report's tests: made from a seed here, not measured on any board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from whylate.causes.answer import Answer, explain, explain_recording, read_activations
from whylate.recording.manifest import (
    Change,
    CpuAccount,
    CrashReport,
    Fact,
    LoadReport,
    Manifest,
    ProbeReport,
)
from whylate.recording.plan import FaultPlan, LoadPlan, RunPlan, Setting
from whylate.recording.reader import open_recording
from whylate.recording.samples import CpuSamples, CpuStages
from whylate.recording.workloads.wakeup import Wakeup
from whylate.summary.model import (
    Caution,
    Estimate,
    Exceedance,
    Figures,
    Requirement,
    Summary,
    Trust,
)
from whylate.summary.summarize import summarize
from whylate.wire.constants import NOT_SEEN

#: A recording with windows; test_perfetto.py says how it was made.
RECORDED = Path(__file__).parent / "data" / "pc-three-causes"
INTERVAL_NS = 1_000_000
START_NS = 1_234_567_890_123


def cpu_samples(cpu: int, n: int, seed: int = 1, stall: int = 30, early: int = 0) -> CpuSamples:
    """A lognormal body, a rare tail, one stall of `stall` overruns, `early` negative latencies."""
    rng = np.random.default_rng([seed, cpu])
    latency_ns = rng.lognormal(np.log(9_000 + 700 * (cpu % 4)), 0.22, n).astype(np.int64)
    late = rng.random(n) < 4e-4
    latency_ns[late] += rng.exponential(45_000, int(late.sum())).astype(np.int64)
    overrun = np.zeros(n, np.bool_)
    if stall and n > 4 * stall:
        at = int(n * 0.61) + cpu
        latency_ns[at - 1] = stall * INTERVAL_NS + 412_000
        latency_ns[at : at + stall] = INTERVAL_NS * np.arange(stall, 0, -1) - 588_000
        overrun[at : at + stall] = True
    if early:
        latency_ns[rng.choice(n // 2, early, replace=False)] = -rng.integers(1, 900, early)
    return CpuSamples(
        cpu=cpu,
        start_ns=START_NS + 1_000 * cpu,
        interval_ns=INTERVAL_NS,
        activation=np.arange(n, dtype=np.int64),
        latency_ns=latency_ns,
        overrun=overrun,
    )


def figures(cpu: int | None, samples: Sequence[CpuSamples]) -> Figures:
    """Plain quantiles with made-up intervals: the shape of a summary, not its statistics."""
    latency_ns = np.concatenate([s.latency_ns for s in samples])
    overrun = int(sum(int(s.overrun.sum()) for s in samples))
    n = latency_ns.size
    found: dict[str, Estimate] = {}
    for name, q in (
        ("p50", 0.5),
        ("p90", 0.9),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
    ):
        if n * (1 - q) < 10:
            reason = f"{name} needs {round(10 / (1 - q)):,} samples, this run has {n:,}"
            found[name] = Estimate(None, None, None, reason=reason)
            continue
        value = int(np.quantile(latency_ns, q))
        half = (1 - q) ** -0.5 * 0.004
        high = None if q > 0.9998 and n < 200_000 else int(value * (1 + half))
        found[name] = Estimate(
            value, int(value * (1 - half)), high, q > 0.9998 and overrun > 0, n / 3
        )
    found["max"] = Estimate(int(latency_ns.max()), None, None, overrun > 0)
    return Figures(cpu, n, n - overrun, overrun, 0, int(latency_ns.min()), found)


def summary_of(samples: Sequence[CpuSamples]) -> Summary:
    together = figures(None, samples)
    n = samples[0].activation.size
    return Summary(
        recording="runs/2026-03-02T10-11-12-bench-imx6",
        board="bench-imx6",
        state="complete",
        created="2026-03-02T10:11:12Z",
        kernel="6.1.0-41-rt-armmp",
        cpu_model="ARMv7 Processor rev 10 (Freescale i.MX6 Quad)",
        workload="wakeup",
        interval_ns=INTERVAL_NS,
        priority=95,
        planned_ns=n * INTERVAL_NS,
        elapsed_ns=n * INTERVAL_NS,
        trust=Trust("ok", []),
        together=together,
        per_cpu=[figures(s.cpu, [s]) for s in samples],
        exceedance=Exceedance(
            together.latency_ns["max"].value, 412.0, 0.6, 3 / (0.31 * n), 0.31, 0.31 * n
        ),
        loads=[
            LoadReport("memory", 2, "bytes", 1.41e9, 1.182e9),
            LoadReport("switch", 1, "switches", 213_400.0, 187_200.0),
            LoadReport(
                "cmd", 1, "runs", None, None, "dd if=/dev/zero of=/tmp/x", "ended after 3 s"
            ),
        ],
        warnings=[
            Caution(
                "idle-states", "The CPUs may enter deep idle states: wakeups pay for the exit."
            ),
            Caution("governor", "The cpufreq governor is ondemand: latency depends on the clock."),
        ],
        requirements=[
            Requirement("p99.9 < 100us", "pass", "the interval of p99.9 ends at 98.2 µs"),
            Requirement("max < 1ms", "fail", "the worst latency is at least 30.4 ms"),
            Requirement("p99.99 < 60us", "inconclusive", "the interval has no upper end"),
        ],
        interval_note="95 %, conditional on this run (this boot, this placement)",
    )


def manifest_of(samples: Sequence[CpuSamples], summary: Summary) -> Manifest:
    accounts = [
        CpuAccount(
            cpu=s.cpu,
            start_ns=s.start_ns,
            end_ns=s.start_ns + s.activation.size * INTERVAL_NS,
            expected=s.activation.size,
            seen=int((~s.overrun).sum()),
            overrun=int(s.overrun.sum()),
            dropped=0,
            policy="fifo",
            priority=95,
            memory_locked=True,
        )
        for s in samples
    ]
    facts = [
        Fact("kernel.release", "6.1.0-41-rt-armmp", "uname"),
        Fact("kernel.preemption", "preempt_rt", "/sys/kernel/realtime"),
        Fact(
            "kernel.cmdline", "console=ttymxc1,115200 root=/dev/mmcblk0p1 rootwait", "/proc/cmdline"
        ),
        Fact("cpu.model", "ARMv7 Processor rev 10 (v7l)", "/proc/cpuinfo"),
        Fact("cpu.count", len(samples), "/sys/devices/system/cpu/online"),
        Fact("cpu.0.governor", "ondemand", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        Fact("cpu.0.idle_states", ["WFI", "cpu-sleep"], "/sys/devices/system/cpu/cpu0/cpuidle"),
        Fact("clock.source", "mxc_timer1", "/sys/devices/system/clocksource/clocksource0"),
        Fact("clock.highres", True, "/proc/timer_list"),
        Fact("sched.rt_runtime_us", 950000, "/proc/sys/kernel/sched_rt_runtime_us"),
        Fact("memory.thp", None, "/sys/kernel/mm/transparent_hugepage/enabled"),
    ]
    facts += [
        Fact(f"sysctl.kernel.item_{i}", i * 17, f"/proc/sys/kernel/item_{i}") for i in range(40)
    ]
    facts = [msgspec.structs.replace(f, theme=f.name.split(".")[0]) for f in facts]
    return Manifest(
        format="whylate-recording",
        schema_version=6,
        state="complete",
        created=summary.created,
        whylate="0.1.0",
        board=summary.board,
        clock="CLOCK_MONOTONIC",
        plan=RunPlan(
            workload=Wakeup(duration_ns=summary.planned_ns, interval_ns=INTERVAL_NS),
            cpus=[s.cpu for s in samples],
            loads=[LoadPlan("memory", 2)],
            settings=[Setting("/proc/sys/kernel/sched_rt_runtime_us", "-1")],
        ),
        cpus=accounts,
        loads=summary.loads,
        facts=facts,
        changes=[
            Change(
                "interrupts: LOC Local timer interrupts",
                0,
                60_312,
                "interrupts",
                "/proc/interrupts",
            ),
            Change("steal", 1, 0.35, "s", "/proc/stat"),
            Change("throttle count", None, 2, "events", "/sys/devices/system/cpu"),
        ],
        probe=ProbeReport(
            version="0.1.0",
            arch="armv7l",
            sha256="ab" * 32,
            cpu_time_ns=1_930_000_000,
            peak_memory_bytes=8_400_000,
            clock_resolution_ns=1,
            clock_read_ns=412,
            frames=812,
            frames_damaged=1,
            frames_resent=1,
            frames_lost=0,
        ),
        problems=[],
    )


def run_of(
    cpus: int = 2, n: int = 60_000, seed: int = 1, stall: int = 30, early: int = 0
) -> tuple[Summary, Manifest, list[CpuSamples]]:
    samples = [cpu_samples(c, n, seed, stall if c == cpus - 1 else 0, early) for c in range(cpus)]
    summary = summary_of(samples)
    return summary, manifest_of(samples, summary), samples


def staged_run() -> tuple[Summary, Manifest, list[CpuSamples]]:
    """Interrupts at a third of the latency, the CPU at nine tenths; every 50th was not seen."""
    _, manifest, samples = run_of(n=20_000)
    staged = []
    for one in samples:
        unseen = one.overrun | (one.activation % 50 == 0)
        times = [np.where(unseen, NOT_SEEN, one.latency_ns * part).astype(np.int32)
                 for part in (0.33, 0.9)]  # fmt: skip
        staged.append(replace(one, stages=CpuStages(*times)))
    return summarize(staged, manifest, "runs/staged"), manifest, staged


def recorded_run() -> tuple[Summary, Manifest, list[CpuSamples], Answer]:
    """A recording of a virtual board on which three injected faults acted, with its answer."""
    recording = open_recording(RECORDED)
    summary = summarize(recording.samples, recording.manifest, "runs/recorded")
    return summary, recording.manifest, recording.samples, explain_recording(recording)


def hostile_answer() -> Answer:
    """The same, with every name that a board could choose an attack."""
    recording = open_recording(RECORDED)
    windows = [
        replace(story.window, events=tuple(replace(one, name=HOSTILE, stack=(HOSTILE,) * 3)
                                           for one in story.window.events))
        for story in read_activations(recording)
    ]  # fmt: skip
    return explain(recording.manifest, recording.samples, windows)


HOSTILE = (
    '</script><img src=x onerror="window.hit=1"><b>[bold red]x[/]\x1b[2J\x07\u202egnp\u2028&{{7*7}}'
)


def hostile_run() -> tuple[Summary, Manifest, list[CpuSamples]]:
    """Every text that a board could choose is an attack."""
    summary, manifest, samples = run_of(n=5_000)
    hostile_load = LoadReport("cmd", 1, HOSTILE, 1.0, None, HOSTILE, HOSTILE)
    refused = Estimate(None, None, None, reason=HOSTILE)
    summary = msgspec.structs.replace(
        summary,
        recording=HOSTILE,
        board=HOSTILE,
        state=HOSTILE,
        created=HOSTILE,
        kernel=HOSTILE,
        cpu_model=HOSTILE,
        workload=HOSTILE,
        trust=Trust("no verdict", [HOSTILE]),
        together=msgspec.structs.replace(
            summary.together, latency_ns={**summary.together.latency_ns, "p99.99": refused}
        ),
        exceedance=Exceedance(None, None, None, None, None, None, HOSTILE),
        loads=[hostile_load],
        warnings=[Caution(HOSTILE, HOSTILE)],
        requirements=[Requirement(HOSTILE, "no verdict", HOSTILE)],
        virtual_time=True,
        samples_sha256=HOSTILE,
        causes=[FaultPlan(HOSTILE, {HOSTILE: HOSTILE})],
        crashes=[CrashReport(HOSTILE, HOSTILE, [HOSTILE] * 3, 7, True)],
        interval_note=HOSTILE,
    )
    manifest = msgspec.structs.replace(
        manifest,
        created=HOSTILE,
        board=HOSTILE,
        clock=HOSTILE,
        whylate=HOSTILE,
        loads=[hostile_load],
        facts=[Fact(f"{HOSTILE}.{i}", [HOSTILE] * 3, HOSTILE) for i in range(3)],
        changes=[Change(HOSTILE, 0, 1.0, HOSTILE, HOSTILE)],
        probe=msgspec.structs.replace(
            manifest.probe, version=HOSTILE, arch=HOSTILE, sha256=HOSTILE
        ),
    )
    return summary, manifest, samples
