"""Counters of the kernel, before and after: what moved during a run.

A counter that fell has wrapped where it was in the last quarter of its width and the step is
less than half of it; any other fall is a reset or a CPU that went offline, and gives no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whylate.boards.facts.interrupts import INTERRUPTS, read_rows
from whylate.boards.facts.reading import CPUS, Files, cpu_number, integer
from whylate.boards.facts.snapshot import FileRequest, Snapshot
from whylate.recording.manifest import Change
from whylate.text import clean

STAT = "/proc/stat"
VMSTAT = "/proc/vmstat"
SOFTIRQS = "/proc/softirqs"
MSR = "/dev/cpu/*/msr"

#: MSR_SMI_COUNT, Intel Software Developer's Manual, volume 4: SMIs since reset, 32 bits.
SMI_COUNT_OFFSET = 0x34

WANTED = (
    FileRequest(INTERRUPTS, 128 * 1024),
    FileRequest(SOFTIRQS, 32 * 1024),
    FileRequest(STAT, 32 * 1024),
    FileRequest(VMSTAT, 16 * 1024),
    FileRequest(f"{CPUS}/cpu[0-9]*/thermal_throttle/*_throttle_count", 32),
    FileRequest(f"{CPUS}/cpu[0-9]*/cpuidle/state[0-9]*/usage", 32),
    FileRequest(f"{CPUS}/cpu[0-9]*/cpufreq/stats/total_trans", 32),
    FileRequest("/dev/cpu/[0-9]*/msr", 8, SMI_COUNT_OFFSET),
)

CHANGE_LIMIT = 256
#: /proc/stat counts in USER_HZ, 100 everywhere except on alpha and ia64.
USER_HZ = 100

#: vmstat holds gauges too; these count events.
_VMSTAT_EVENTS = (
    "pgfault", "pgmajfault", "pgmigrate_", "pgscan_direct", "pgscan_kswapd", "pgsteal_direct",
    "pgsteal_kswapd", "allocstall", "compact_", "thp_", "numa_", "pswp", "swap_ra", "nr_tlb_",
    "oom_kill", "drop_", "kswapd_", "pageoutrun", "ksm_swpin_copy", "cow_ksm", "balloon_",
)  # fmt: skip
#: Listed first, however small they are beside a million timer interrupts.
_GRAVE = ("steal", "smi", "thermal_throttle", "interrupts/NMI", "interrupts/MCE", "interrupts/TRM")


@dataclass(frozen=True)
class Counter:
    """One reading; `bits` is the width at which it wraps, `per_unit` the counts per unit."""

    value: int
    unit: str
    source: str
    bits: int = 64
    per_unit: int = 1


Key = tuple[str, int | None]


def read_steal_s(files: Files) -> float | None:
    """Return the steal time of all CPUs since boot; None where the kernel does not report it."""
    steal = [counter for (name, _), counter in read_counters(files).items() if name == "steal"]
    return sum(counter.value / counter.per_unit for counter in steal) if steal else None


def read_counters(files: Files, named_by: Files | None = None) -> dict[Key, Counter]:
    """Return every known counter of a snapshot, by name and CPU (None: the whole board).

    `named_by`: the snapshot that has the names of idle states, if it is another one.
    """
    counters: dict[Key, Counter] = {}
    for key, counter in (
        *_interrupts(files),
        *_stat(files),
        *_vmstat(files),
        *_per_cpu_files(files, named_by or files),
        *_system_management(files),
    ):
        if counter.value >= 0:
            counters.setdefault(key, counter)
    return counters


def _interrupts(files: Files) -> Iterator[tuple[Key, Counter]]:
    for path, kind in ((INTERRUPTS, "interrupts"), (SOFTIRQS, "softirq")):
        for row in read_rows(files, path):
            name = f"{kind}/{row.label}" + (f": {row.name}" if row.name else "")
            for cpu, count in row.counts.items():
                # The kernel stores these in unsigned ints.
                yield (name, cpu), Counter(count, "times", path, bits=32)


def _stat(files: Files) -> Iterator[tuple[Key, Counter]]:
    for line in files.lines(STAT):
        words = line.split()
        if len(words) == 2 and words[0] in {"ctxt", "processes"}:
            name = {"ctxt": "context switches", "processes": "forks"}[words[0]]
            if (value := integer(words[1])) is not None:
                yield (name, None), Counter(value, "times", STAT)
        # proc(5): cpuN user nice system idle iowait irq softirq steal ...
        elif len(words) >= 9 and words[0].startswith("cpu"):
            cpu, steal = cpu_number(words[0][3:]), integer(words[8])
            if cpu is not None and steal is not None:
                yield ("steal", cpu), Counter(steal, "s", STAT, per_unit=USER_HZ)


def _vmstat(files: Files) -> Iterator[tuple[Key, Counter]]:
    for line in files.lines(VMSTAT):
        name, _, text = line.partition(" ")
        value = integer(text.strip())
        if name.startswith(_VMSTAT_EVENTS) and value is not None:
            # An unsigned long: on a 32-bit kernel it cannot be above this.
            bits = 32 if value < 2**32 else 64
            yield (f"vmstat/{clean(name, 64)}", None), Counter(value, "times", VMSTAT, bits)


def _per_cpu_files(files: Files, named_by: Files) -> Iterator[tuple[Key, Counter]]:
    """Yield thermal throttling, uses of idle states, and changes of the frequency."""
    for kind, pattern in (
        ("thermal_throttle/", "thermal_throttle/*_throttle_count"),
        ("cpuidle/", "cpuidle/state*/usage"),
        ("frequency changes", "cpufreq/stats/total_trans"),
    ):
        for (cpu_text, *parts), path in files.match(f"{CPUS}/cpu*/{pattern}"):
            cpu, value = cpu_number(cpu_text), files.number(path)
            name = clean("".join(parts), 32)
            if kind == "cpuidle/":
                state = named_by.text(path.removesuffix("usage") + "name", 32)
                name = clean(state or f"state{name}", 40)
            if cpu is not None and value is not None:
                yield (kind + name, cpu), Counter(value, "times", path)


def _system_management(files: Files) -> Iterator[tuple[Key, Counter]]:
    for (cpu_text,), path in files.match(MSR):
        cpu, data = cpu_number(cpu_text), files.data(path)
        if cpu is not None and data is not None and len(data) == 8:
            value = int.from_bytes(data[:4], "little")
            source = f"{path} at {SMI_COUNT_OFFSET:#x}"
            yield ("smi", cpu), Counter(value, "times", source, bits=32)


def step(before: Counter, after: Counter) -> int | None:
    """Return how far a counter advanced, across a wrap; None where it was reset instead."""
    if after.value >= before.value:
        return after.value - before.value
    # A value above its nominal width was never stored in that width.
    width = 1 << (before.bits if before.value < 1 << before.bits else 64)
    wrapped = after.value - before.value + width
    if before.value < width - width // 4 or not 0 <= wrapped < width // 2:
        return None
    return wrapped


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """Return the counters that moved, grave ones first, then the largest; at most 256.

    A counter that only one of the snapshots has is left out.
    """
    first_files = Files(before)
    # The names of idle states do not change and are not read again after a run.
    first = read_counters(first_files)
    second = read_counters(Files(after), named_by=first_files)
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
