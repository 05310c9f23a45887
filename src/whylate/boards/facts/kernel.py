"""The kernel: which one, how preemptible, how it was started, and in what state it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whylate.boards.facts import cmdline, config
from whylate.boards.facts.reading import Files, chosen, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromFile, FromProbe, Source
from whylate.recording.manifest import Fact

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
    return _preemption_by_build(files, config.read_options(files), built)


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
    *config.CONFIGURATION,
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
