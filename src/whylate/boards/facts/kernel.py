"""The kernel: which one, how built and preemptible, how it was started, in what state it is."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from whylate.boards.facts import cmdline
from whylate.boards.facts.reading import Files, chosen, decode, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromFile, FromProbe, Source
from whylate.recording.manifest import Fact
from whylate.text import is_number

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


def is_kept(name: str) -> bool:
    """Whether an option is among the facts of a kernel that has it set."""
    return name in COSTLY or name in KEPT or name.startswith(_FAMILIES)


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
        if is_kept(name):
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
    if is_number(hz, 5):
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


_PREEMPT = "/sys/kernel/debug/sched/preempt"
_REALTIME = "/sys/kernel/realtime"
_SYSCTL = "/proc/sys/kernel"
#: Documentation/admin-guide/tainted-kernels.rst: the taint flags by bit number.
TAINT_FLAGS = "PFSRMBUDAWCIOELKXTNJ"

#: Configuration options in the order in which they decide, where nothing else does.
_DEFAULTS = (
    ("PREEMPT_LAZY", "lazy"),
    ("PREEMPT_NONE", "none"),
    ("PREEMPT_VOLUNTARY", "voluntary"),
    ("PREEMPT", "full"),
    ("PREEMPT__LL", "full"),
)
_MODELS = frozenset({"none", "voluntary", "full", "lazy"})
_BUILT = {"PREEMPT": "full", "LAZY": "lazy"}
_BUILT_AS = re.compile(r"\bPREEMPT(?:[_ ](RT|DYNAMIC|LAZY))?\b")


def find_preemption(files: Files) -> tuple[str | None, str]:
    """Return the preemption model in force and how it is known.

    One of "rt", "full", "lazy", "voluntary", "none", "none or voluntary"; None where that is
    unknown. The scheduler's own statement comes first, then how the kernel was started and built.
    """
    match = _BUILT_AS.search(files.probe.version)
    built = (match.group(1) or "PREEMPT") if match else None
    if files.text(_REALTIME) == "1":
        return "rt", _REALTIME
    if built == "RT":
        return "rt", "uname version"
    now = chosen(files.text(_PREEMPT) or "")
    if now in _MODELS:
        return now, _PREEMPT
    return _preemption_by_build(files, read_options(files), built)


def _preemption_by_build(
    files: Files, options: dict[str, str], built: str | None
) -> tuple[str | None, str]:
    if "y" in {options.get("PREEMPT_RT_FULL"), options.get("PREEMPT_RT")}:
        return "rt", "kernel configuration"
    dynamic = built == "DYNAMIC" or options.get("PREEMPT_DYNAMIC") == "y"
    asked = cmdline.value_of(cmdline.read_command_line(files), "preempt")
    if dynamic and asked in _MODELS:
        return asked, f"{cmdline.PATH} (preempt=)"
    for name, model in _DEFAULTS:
        if options.get(name) == "y":
            return model, "kernel configuration"
    if dynamic:
        return None, f"uname version says PREEMPT_DYNAMIC; {_PREEMPT} and config are not readable"
    if built in _BUILT:
        return _BUILT[built], "uname version"
    return "none or voluntary", "uname version names no PREEMPT"


def parse_taint(text: str) -> str | None:
    """Return "no" for 0, otherwise the number and its flags."""
    value = integer(text)
    if value is None or value < 0:
        return None
    flags = "".join(flag for bit, flag in enumerate(TAINT_FLAGS) if value >> bit & 1)
    return "no" if value == 0 else f"{value} ({flags})"


def parse_console_level(text: str) -> int | None:
    """Return the first of the four numbers of /proc/sys/kernel/printk."""
    return integer(text.split(" ", maxsplit=1)[0])


def _preemption(files: Files) -> Iterator[Fact]:
    yield make_fact("preemption", *find_preemption(files))


def _command_line(files: Files) -> Iterator[Fact]:
    parameters = cmdline.read_command_line(files)
    if parameters is not None:
        yield make_fact("kernel_command_line", parameters, cmdline.PATH, limit=256)
    elif (error := files.closed(cmdline.PATH)) is not None:
        yield make_fact("kernel_command_line", None, f"{cmdline.PATH}: not readable ({error})")


def _consoles(files: Files) -> Iterator[Fact]:
    consoles = [words[0] for line in files.lines("/proc/consoles") if (words := line.split())]
    if consoles:
        yield make_fact("consoles", consoles, "/proc/consoles")


KERNEL: tuple[Source, ...] = (
    FromProbe("hostname", lambda p: p.nodename, "uname nodename"),
    FromProbe("kernel_name", lambda p: p.sysname, "uname sysname"),
    FromProbe("kernel_release", lambda p: p.release, "uname release"),
    FromProbe("kernel_version", lambda p: p.version, "uname version"),
    FromProbe("machine", lambda p: p.machine, "uname machine"),
    Derived(_preemption, (FileRequest(_REALTIME, 16), FileRequest(_PREEMPT, 128))),
    Derived(_command_line, (FileRequest(cmdline.PATH, 4096),)),
    *CONFIGURATION,
    FromFile("kernel_taint", f"{_SYSCTL}/tainted", 32, parse_taint),
    FromFile("uptime_s", "/proc/uptime", 64, lambda text: integer(text.partition(".")[0])),
    # Which boot: runs of several boots are stronger evidence than as many of one.
    FromFile("boot_id", f"{_SYSCTL}/random/boot_id", 64),
    FromFile("printk_console_level", f"{_SYSCTL}/printk", 64, parse_console_level),
    Derived(_consoles, (FileRequest("/proc/consoles", 1024),)),
    *(
        FromFile(name, f"{_SYSCTL}/{name}", 16, integer)
        for name in ("watchdog", "nmi_watchdog", "soft_watchdog", "watchdog_thresh")
    ),
    FromFile("watchdog_cpus", f"{_SYSCTL}/watchdog_cpumask", 256),
    FromFile("rcu_expedited", "/sys/kernel/rcu_expedited", 16, integer),
    FromFile("rcu_normal", "/sys/kernel/rcu_normal", 16, integer),
    FromFile("lockdown", "/sys/kernel/security/lockdown", 64, chosen),
)
