"""The kernel's build configuration, reduced to what affects latency or its measurement."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from whylate.boards.facts.reading import Files, decode, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, Source
from whylate.recording.manifest import Fact

#: A whole kernel configuration is about 0.3 MiB; more than this is a bomb.
UNPACKED_LIMIT = 2 * 1024 * 1024

#: Options that slow the kernel's hot paths merely by being built in.
_COSTLY = """
PROVE_LOCKING LOCKDEP DEBUG_LOCK_ALLOC LOCK_STAT DEBUG_SPINLOCK DEBUG_MUTEXES DEBUG_RT_MUTEXES
DEBUG_RWSEMS DEBUG_WW_MUTEX_SLOWPATH DEBUG_PREEMPT DEBUG_ATOMIC_SLEEP DEBUG_IRQFLAGS
TRACE_IRQFLAGS PREEMPT_TRACER IRQSOFF_TRACER DEBUG_OBJECTS KASAN KCSAN KMSAN KCOV
GCOV_KERNEL SLUB_DEBUG_ON DEBUG_SLAB DEBUG_PAGEALLOC_ENABLE_DEFAULT DEBUG_KMEMLEAK DEBUG_VM
DEBUG_TIMEKEEPING DEBUG_PER_CPU_MAPS PROVE_RCU RCU_EQS_DEBUG FAULT_INJECTION
TRACE_BRANCH_PROFILING CSD_LOCK_WAIT_DEBUG RCU_TORTURE_TEST
"""
COSTLY = frozenset(_COSTLY.split())

#: The other options worth keeping.
_KEPT = """
SMP NR_CPUS HZ HZ_PERIODIC NO_HZ_IDLE NO_HZ_FULL HIGH_RES_TIMERS PREEMPT_NONE PREEMPT_VOLUNTARY
PREEMPT PREEMPT_LAZY PREEMPT_DYNAMIC PREEMPT_RT PREEMPT_RT_FULL PREEMPT__LL CPU_ISOLATION
RCU_NOCB_CPU RCU_NOCB_CPU_DEFAULT_ALL RCU_BOOST RCU_LAZY IRQ_FORCED_THREADING
IRQ_TIME_ACCOUNTING VIRT_CPU_ACCOUNTING_GEN TICK_CPU_ACCOUNTING PARAVIRT_TIME_ACCOUNTING
RT_GROUP_SCHED CFS_BANDWIDTH SCHED_AUTOGROUP SCHED_MC SCHED_SMT SCHED_CORE UCLAMP_TASK CPU_FREQ
CPU_IDLE INTEL_IDLE HALTPOLL_CPUIDLE TRANSPARENT_HUGEPAGE TRANSPARENT_HUGEPAGE_ALWAYS
TRANSPARENT_HUGEPAGE_MADVISE COMPACTION KSM NUMA NUMA_BALANCING SWAP ZRAM MEMCG PSI KFENCE
SLUB_DEBUG SCHED_DEBUG SCHEDSTATS SOFTLOCKUP_DETECTOR HARDLOCKUP_DETECTOR DETECT_HUNG_TASK
WQ_WATCHDOG FTRACE FUNCTION_TRACER FUNCTION_GRAPH_TRACER DYNAMIC_FTRACE SCHED_TRACER
OSNOISE_TRACER TIMERLAT_TRACER HWLAT_TRACER PREEMPTIRQ_TRACEPOINTS KPROBES BPF_SYSCALL BPF_JIT
DEBUG_INFO_BTF PERF_EVENTS CC_OPTIMIZE_FOR_SIZE CC_OPTIMIZE_FOR_PERFORMANCE PAGE_TABLE_ISOLATION
MITIGATION_PAGE_TABLE_ISOLATION RETPOLINE MITIGATION_RETPOLINE CPU_MITIGATIONS
SPECULATION_MITIGATIONS HYPERVISOR_GUEST KVM_GUEST ACPI_PROCESSOR_IDLE HPET_TIMER CACHE_L2X0
ARM_PSCI_CPUIDLE ARM_GIC_V3 STRICT_KERNEL_RWX PRINTK_CALLER LOCALVERSION
"""
KEPT = frozenset(_KEPT.split())
_FAMILIES = ("CPU_FREQ_DEFAULT_GOV_", "CPU_IDLE_GOV_", "HZ_", "PL310_ERRATA_", "PREEMPT_")

_OPTION = re.compile(rb"^CONFIG_([A-Z0-9_]{1,80})=([^\n]{1,200})$", re.MULTILINE)


def find_configuration(files: Files) -> str | None:
    """Return the configuration's path; the running kernel's own file comes first."""
    for path in ("/proc/config.gz", f"/boot/config-{files.probe.release}"):
        if files.data(path) is not None:
            return path
    return None


def read_options(files: Files) -> dict[str, str]:
    """Return the options that are set and listed above, without CONFIG_; {} if none is readable.

    A damaged or oversized archive gives what could be unpacked of it.
    """
    path = find_configuration(files)
    data = files.data(path) if path is not None else None
    if data is None:
        return {}
    if path == "/proc/config.gz":
        data = unpack(data)
    options = {}
    for match in _OPTION.finditer(data[:UNPACKED_LIMIT]):
        name = match.group(1).decode("ascii")
        if name in COSTLY or name in KEPT or name.startswith(_FAMILIES):
            options[name] = decode(match.group(2)).strip('"')
    return options


def unpack(data: bytes) -> bytes:
    """Return at most UNPACKED_LIMIT bytes of a gzip stream; b"" where it is not one."""
    try:
        return zlib.decompressobj(wbits=31).decompress(data, UNPACKED_LIMIT)
    except zlib.error:
        return b""


def _configuration(files: Files) -> Iterator[Fact]:
    path = find_configuration(files)
    if path is None:
        closed = files.closed("/proc/config.gz") or files.closed(
            f"/boot/config-{files.probe.release}"
        )
        source = "neither /proc/config.gz nor /boot/config-RELEASE could be read"
        yield make_fact("kernel_config", None, f"{source} ({closed or 'ENOENT'})")
        return
    options = read_options(files)
    if not options:
        yield make_fact("kernel_config", None, f"{path}: not understood")
        return
    shown = [f"{name}={value}" for name, value in sorted(options.items())]
    costly = sorted(name for name in options if name in COSTLY and options[name] == "y")
    yield make_fact("kernel_config", shown, path, limit=256)
    yield make_fact("kernel_debug_options", costly, path)
    hz = options.get("HZ", "")
    if hz.isascii() and hz.isdigit() and len(hz) < 6:
        yield make_fact("kernel_hz", int(hz), path)


CONFIGURATION: tuple[Source, ...] = (
    Derived(
        _configuration,
        (
            FileRequest("/proc/config.gz", 256 * 1024),
            # `for_release` fills it in: a wildcard would fetch that of every installed kernel.
            FileRequest("/boot/config-{release}", 320 * 1024),
        ),
    ),
)
