"""The kernel: which one, how preemptible, started how, and in what state."""

from __future__ import annotations

import re

from whylate.boards.facts import cmdline, config
from whylate.boards.facts.reading import Files, chosen, file_fact, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts
from whylate.recording.manifest import Fact

_PREEMPT = "/sys/kernel/debug/sched/preempt"

WANTED = (
    FileRequest(cmdline.PATH, 4096),
    FileRequest("/sys/kernel/realtime", 16),
    FileRequest(_PREEMPT, 128),
    FileRequest("/proc/uptime", 64),
    FileRequest("/proc/sys/kernel/random/boot_id", 64),
    FileRequest("/proc/sys/kernel/tainted", 32),
    FileRequest("/proc/sys/kernel/printk", 64),
    FileRequest("/proc/consoles", 1024),
    FileRequest("/proc/sys/kernel/watchdog", 16),
    FileRequest("/proc/sys/kernel/nmi_watchdog", 16),
    FileRequest("/proc/sys/kernel/soft_watchdog", 16),
    FileRequest("/proc/sys/kernel/watchdog_thresh", 16),
    FileRequest("/proc/sys/kernel/watchdog_cpumask", 256),
    FileRequest("/sys/kernel/rcu_expedited", 16),
    FileRequest("/sys/kernel/rcu_normal", 16),
    FileRequest("/sys/kernel/security/lockdown", 64),
)

#: Documentation/admin-guide/tainted-kernels.rst: the letters by bit number.
TAINT_LETTERS = "PFSRMBUDAWCIOELKXTNJ"

#: Configuration options in the order in which they decide, where nothing else does.
_DEFAULTS = (
    ("PREEMPT_LAZY", "lazy"),
    ("PREEMPT_NONE", "none"),
    ("PREEMPT_VOLUNTARY", "voluntary"),
    ("PREEMPT", "full"),
    ("PREEMPT__LL", "full"),
)
_MODELS = frozenset({"none", "voluntary", "full", "lazy"})
_BUILT_AS = re.compile(r"\bPREEMPT(?:[_ ](RT|DYNAMIC|LAZY))?\b")


def preemption(files: Files, probe: ProbeFacts) -> tuple[str | None, str]:
    """Return the preemption model in force and how it is known.

    One of "rt", "full", "lazy", "voluntary", "none", "none or voluntary"; None when it cannot be
    told. The scheduler's own word comes first, then what the kernel was started and built with.
    """
    match = _BUILT_AS.search(probe.version)
    built = (match.group(1) or "PREEMPT") if match else None
    if files.text("/sys/kernel/realtime") == "1":
        return "rt", "/sys/kernel/realtime"
    if built == "RT":
        return "rt", "uname version"
    now = chosen(files.text(_PREEMPT) or "")
    if now in _MODELS:
        return now, _PREEMPT
    return _preemption_by_build(files, config.options(files, probe), built)


def _preemption_by_build(
    files: Files, options: dict[str, str], built: str | None
) -> tuple[str | None, str]:
    if "y" in {options.get("PREEMPT_RT_FULL"), options.get("PREEMPT_RT")}:
        return "rt", "kernel configuration"
    dynamic = built == "DYNAMIC" or options.get("PREEMPT_DYNAMIC") == "y"
    asked = cmdline.value_of(cmdline.of_board(files), "preempt")
    if dynamic and asked in _MODELS:
        return asked, f"{cmdline.PATH} (preempt=)"
    for name, model in _DEFAULTS:
        if options.get(name) == "y":
            return model, "kernel configuration"
    if dynamic:
        return None, f"uname version says PREEMPT_DYNAMIC; {_PREEMPT} and config are not readable"
    named = {"PREEMPT": "full", "LAZY": "lazy"}.get(built or "")
    return (
        (named, "uname version")
        if named
        else (
            "none or voluntary",
            "uname version names no PREEMPT",
        )
    )


def taint(text: str) -> str | None:
    """Return "no" for 0, otherwise the number and its letters."""
    value = integer(text)
    if value is None or value < 0:
        return None
    letters = "".join(letter for bit, letter in enumerate(TAINT_LETTERS) if value >> bit & 1)
    return "no" if value == 0 else f"{value} ({letters})"


def console_level(text: str) -> int | None:
    """Return the first of the four numbers of /proc/sys/kernel/printk."""
    return integer(text.split(" ", maxsplit=1)[0])


def kernel_facts(files: Files, probe: ProbeFacts) -> list[Fact]:
    """Release, preemption, command line, configuration, taint, console and watchdogs."""
    model, source = preemption(files, probe)
    facts = [
        make_fact("hostname", probe.nodename, "uname nodename"),
        make_fact("kernel_name", probe.sysname, "uname sysname"),
        make_fact("kernel_release", probe.release, "uname release"),
        make_fact("kernel_version", probe.version, "uname version"),
        make_fact("machine", probe.machine, "uname machine"),
        make_fact("preemption", model, source),
    ]
    line = cmdline.of_board(files)
    if line is None:
        facts += file_fact(files, "kernel_command_line", cmdline.PATH, lambda _: None)
    else:
        facts.append(make_fact("kernel_command_line", line, cmdline.PATH, limit=256))
    facts += config.config_facts(files, probe)
    facts += file_fact(files, "kernel_taint", "/proc/sys/kernel/tainted", taint)
    facts += file_fact(files, "uptime_s", "/proc/uptime", lambda t: integer(t.partition(".")[0]))
    # Which boot: runs of several of them say more than as many of one.
    facts += file_fact(files, "boot_id", "/proc/sys/kernel/random/boot_id")
    facts += file_fact(files, "printk_console_level", "/proc/sys/kernel/printk", console_level)
    consoles = [words[0] for line in files.lines("/proc/consoles") if (words := line.split())]
    if consoles:
        facts.append(make_fact("consoles", consoles, "/proc/consoles"))
    for name in ("watchdog", "nmi_watchdog", "soft_watchdog", "watchdog_thresh"):
        facts += file_fact(files, name, f"/proc/sys/kernel/{name}", integer)
    facts += file_fact(files, "watchdog_cpus", "/proc/sys/kernel/watchdog_cpumask")
    for name in ("rcu_expedited", "rcu_normal"):
        facts += file_fact(files, name, f"/sys/kernel/{name}", integer)
    facts += file_fact(files, "lockdown", "/sys/kernel/security/lockdown", chosen)
    return facts
