"""Counters of the kernel, before and after: what moved during a run.

A counter that fell has wrapped where it was in the last quarter of its width and the step is
less than half of it; any other fall is a reset or a CPU that left, and gives no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whylate.boards.facts import interrupts
from whylate.boards.facts.reading import CPU_LIMIT, Files, clean, integer
from whylate.boards.facts.snapshot import FileRequest, Snapshot
from whylate.recording.manifest import Change

STAT = "/proc/stat"
VMSTAT = "/proc/vmstat"
SOFTIRQS = "/proc/softirqs"
MSR = "/dev/cpu/*/msr"
_SYSTEM = "/sys/devices/system/cpu"
_THROTTLE = f"{_SYSTEM}/cpu*/thermal_throttle/*_throttle_count"

#: MSR_SMI_COUNT, Intel Software Developer's Manual, volume 4: SMIs since reset, 32 bits.
SMI_COUNT_OFFSET = 0x34

WANTED = (
    FileRequest(interrupts.INTERRUPTS, 128 * 1024),
    FileRequest(SOFTIRQS, 32 * 1024),
    FileRequest(STAT, 32 * 1024),
    FileRequest(VMSTAT, 16 * 1024),
    FileRequest(f"{_SYSTEM}/cpu[0-9]*/thermal_throttle/*_throttle_count", 32),
    FileRequest(f"{_SYSTEM}/cpu[0-9]*/cpuidle/state[0-9]*/usage", 32),
    FileRequest(f"{_SYSTEM}/cpu[0-9]*/cpufreq/stats/total_trans", 32),
    FileRequest("/dev/cpu/[0-9]*/msr", 8, SMI_COUNT_OFFSET),
)

CHANGE_LIMIT = 256
#: /proc/stat counts in USER_HZ, 100 everywhere but on alpha and ia64.
USER_HZ = 100

#: vmstat holds gauges too; these count events.
_VMSTAT_EVENTS = (
    "pgfault",
    "pgmajfault",
    "pgmigrate_",
    "pgscan_direct",
    "pgscan_kswapd",
    "pgsteal_direct",
    "pgsteal_kswapd",
    "allocstall",
    "compact_",
    "thp_",
    "numa_",
    "pswp",
    "swap_ra",
    "nr_tlb_",
    "oom_kill",
    "drop_",
    "kswapd_",
    "pageoutrun",
    "ksm_swpin_copy",
    "cow_ksm",
    "balloon_",
)
#: Kept however small they are beside a million timer interrupts.
_GRAVE = ("steal", "smi", "thermal_throttle", "interrupts/NMI", "interrupts/MCE", "interrupts/TRM")


@dataclass(frozen=True)
class Counter:
    """One reading; `bits` is the width at which it wraps, `per_unit` the counts in one unit."""

    value: int
    unit: str
    source: str
    bits: int = 64
    per_unit: int = 1


Key = tuple[str, int | None]


def stolen_s(files: Files) -> float | None:
    """Return what the hypervisor took of all CPUs since boot; None where nobody says."""
    stolen = [counter for (name, _), counter in counters(files).items() if name == "steal"]
    return sum(one.value / one.per_unit for one in stolen) if stolen else None


def counters(files: Files, named_by: Files | None = None) -> dict[Key, Counter]:
    """Return every known counter of a snapshot, by name and CPU (None: the whole board).

    `named_by`: the snapshot that has the names of idle states, if it is another one.
    """
    found: dict[Key, Counter] = {}
    for key, counter in (
        *_interrupts(files),
        *_stat(files),
        *_vmstat(files),
        *_throttles(files),
        *_idle_and_frequency(files, named_by or files),
        *_system_management(files),
    ):
        found.setdefault(key, counter)
    return found


def _interrupts(files: Files) -> Iterator[tuple[Key, Counter]]:
    for path, kind in ((interrupts.INTERRUPTS, "interrupts"), (SOFTIRQS, "softirq")):
        for row in interrupts.rows(files, path):
            name = f"{kind}/{row.label}" + (f": {row.name}" if row.name else "")
            for cpu, count in row.counts.items():
                # The kernel keeps these in unsigned ints.
                yield (name, cpu), Counter(count, "times", path, bits=32)


def _stat(files: Files) -> Iterator[tuple[Key, Counter]]:
    for line in files.lines(STAT):
        words = line.split()
        if len(words) == 2 and words[0] in {"ctxt", "processes"}:
            name = {"ctxt": "context switches", "processes": "forks"}[words[0]]
            value = integer(words[1])
            if value is not None and value >= 0:
                yield (name, None), Counter(value, "times", STAT)
        # proc(5): cpuN user nice system idle iowait irq softirq steal ...
        elif len(words) >= 9 and words[0].startswith("cpu"):
            cpu, stolen = integer(words[0][3:]), integer(words[8])
            if cpu is not None and 0 <= cpu < CPU_LIMIT and stolen is not None and stolen >= 0:
                yield ("steal", cpu), Counter(stolen, "s", STAT, per_unit=USER_HZ)


def _vmstat(files: Files) -> Iterator[tuple[Key, Counter]]:
    for line in files.lines(VMSTAT):
        name, _, text = line.partition(" ")
        value = integer(text.strip())
        if name.startswith(_VMSTAT_EVENTS) and value is not None and value >= 0:
            # An unsigned long: on a 32-bit kernel it cannot be above this.
            bits = 32 if value < 2**32 else 64
            yield (f"vmstat/{clean(name, 64)}", None), Counter(value, "times", VMSTAT, bits)


def _throttles(files: Files) -> Iterator[tuple[Key, Counter]]:
    for (cpu_text, level), path in files.match(_THROTTLE):
        cpu, value = integer(cpu_text), files.number(path)
        if cpu is not None and 0 <= cpu < CPU_LIMIT and value is not None and value >= 0:
            name = f"thermal_throttle/{clean(level, 32)}"
            yield (name, cpu), Counter(value, "times", path)


def _idle_and_frequency(files: Files, named_by: Files) -> Iterator[tuple[Key, Counter]]:
    for (cpu_text, state), path in files.match(f"{_SYSTEM}/cpu*/cpuidle/state*/usage"):
        cpu, value = integer(cpu_text), files.number(path)
        if cpu is not None and 0 <= cpu < CPU_LIMIT and value is not None and value >= 0:
            name = named_by.text(path.removesuffix("/usage") + "/name", 32) or f"state{state}"
            yield (f"cpuidle/{clean(name, 40)}", cpu), Counter(value, "times", path)
    for cpu, text in files.by_cpu("cpufreq/stats/total_trans").items():
        value = integer(text)
        if value is not None and value >= 0:
            path = f"{_SYSTEM}/cpu{cpu}/cpufreq/stats/total_trans"
            yield ("frequency changes", cpu), Counter(value, "times", path)


def _system_management(files: Files) -> Iterator[tuple[Key, Counter]]:
    for (cpu_text,), path in files.match(MSR):
        cpu, data = integer(cpu_text), files.data(path)
        if cpu is not None and 0 <= cpu < CPU_LIMIT and data is not None and len(data) == 8:
            value = int.from_bytes(data[:4], "little")
            source = f"{path} at {SMI_COUNT_OFFSET:#x}"
            yield ("smi", cpu), Counter(value, "times", source, bits=32)


def step(before: Counter, after: Counter) -> int | None:
    """How far a counter went, across a wrap; None where it was set back instead."""
    if after.value >= before.value:
        return after.value - before.value
    # A value above its nominal width was never kept in it.
    width = 1 << (before.bits if before.value < 1 << before.bits else 64)
    wrapped = after.value - before.value + width
    if before.value < width - width // 4 or not 0 <= wrapped < width // 2:
        return None
    return wrapped


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """Counters that moved between two snapshots, grave ones first, then the largest; ≤ 256.

    A counter that only one of the snapshots has is left out.
    """
    first_files = Files(before)
    # The names of idle states do not change and are not read again after a run.
    first, second = counters(first_files), counters(Files(after), named_by=first_files)
    moved: list[Change] = []
    for key, counter in first.items():
        later = second.get(key)
        delta = step(counter, later) if later is not None else None
        if delta:
            name, cpu = key
            moved.append(
                Change(
                    name=clean(name, 120),
                    cpu=cpu,
                    delta=delta / counter.per_unit,
                    unit=counter.unit,
                    source=clean(counter.source),
                )
            )
    moved.sort(key=lambda c: (not c.name.startswith(_GRAVE), -c.delta, c.name, c.cpu or 0))
    return moved[:CHANGE_LIMIT]
