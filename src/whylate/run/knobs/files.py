"""Knobs that are files of the kernel: only one knob may write a file, by whichever name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from whylate.recording.plan import THREADS, Setting
from whylate.run.errors import RequestError
from whylate.text import is_number
from whylate.wire.constants import HIGHEST_PRIORITY, LONGEST_COMM

#: Stands for each CPU of the board in the path of a setting.
EACH_CPU = "{cpu}"
_CPU = "/sys/devices/system/cpu"
#: Name of a knob -> its file.
FILES = {
    "governor": f"{_CPU}/cpu{EACH_CPU}/cpufreq/scaling_governor",
    "min-frequency": f"{_CPU}/cpu{EACH_CPU}/cpufreq/scaling_min_freq",
    "max-frequency": f"{_CPU}/cpu{EACH_CPU}/cpufreq/scaling_max_freq",
    "boost": f"{_CPU}/cpufreq/boost",
    "thp": "/sys/kernel/mm/transparent_hugepage/enabled",
    "thp-defrag": "/sys/kernel/mm/transparent_hugepage/defrag",
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "rt-runtime": "/proc/sys/kernel/sched_rt_runtime_us",
    "rt-period": "/proc/sys/kernel/sched_rt_period_us",
    "preempt": "/sys/kernel/debug/sched/preempt",
}
#: Prefix of a knob -> what may follow its colon, the file, and how to write it.
FILE_PREFIXES = {
    "sysctl": (r"[A-Za-z0-9_.-]{1,120}", "/proc/sys/{0}", "write it like sysctl:vm.swappiness"),
    "module": (
        r"([A-Za-z0-9_]{1,60})\.([A-Za-z0-9_]{1,60})",
        "/sys/module/{1}/parameters/{2}",
        "write it like module:kvm.halt_poll_ns",
    ),
    "irq": (r"[0-9]{1,5}", "/proc/irq/{0}/smp_affinity_list", "write the number of an interrupt"),
    "idle-state": (
        r"[0-9]{1,2}",
        f"{_CPU}/cpu{{{EACH_CPU}}}/cpuidle/state{{0}}/disable",
        "write idle-state:2 = on or off",
    ),
}
_ROOTS = ("/proc/sys/", "/proc/irq/", "/sys/")
_LONGEST_PATH = 200
_IDLE_STATE = re.compile(rf"{_CPU}/cpu[^/]+/cpuidle/state\d+/disable")


def file_setting(name: str, value: str) -> Setting | None:
    """Return the file that a knob writes, {cpu} in it for each CPU; None if the knob is no file.

    The priority of threads is one as well.

    Raises RequestError for a name or value that the knob cannot have.
    """
    path = FILES.get(name, name)
    prefix, colon, rest = name.partition(":")
    if prefix + colon == THREADS:
        return threads_setting(rest, value)
    if prefix in FILE_PREFIXES:
        pattern, template, advice = FILE_PREFIXES[prefix]
        match = re.fullmatch(pattern, rest)
        if match is None or (prefix == "idle-state" and value not in ("on", "off")):
            raise RequestError(f"knob {prefix}:{shorten(rest)}: {advice}")
        if prefix == "idle-state":
            value = "1" if value == "off" else "0"
        word = rest.replace(".", "/") if prefix == "sysctl" else rest
        path = template.format(word, *match.groups())
    elif not path.startswith("/"):
        return None
    fits = path.isprintable() and len(path) <= _LONGEST_PATH
    if not fits or not path.startswith(_ROOTS) or "/../" in path:
        raise RequestError(f"knob {shorten(path)}: a path must be under {', '.join(_ROOTS)}")
    return Setting(path, value)


def threads_setting(name: str, value: str) -> Setting:
    """Return the setting of a priority for all threads of a name; raises RequestError."""
    if not name.isprintable() or not 0 < len(name.encode()) <= LONGEST_COMM:
        raise RequestError(
            f"knob {THREADS}{shorten(name)}: write the name of threads, as ps -L -o comm shows it"
        )
    if not is_number(value, 2) or not 1 <= int(value) <= HIGHEST_PRIORITY:
        raise RequestError(f"knob {THREADS}{shorten(name)}: expected a number from 1 to 99")
    return Setting(f"{THREADS}{name}", str(int(value)))


def check_one_file(files: Sequence[tuple[str, str]], name: str, path: str) -> None:
    """Raise RequestError for a second knob of one file, since only the last would take effect.

    files: names and paths of the knobs so far.
    """
    for other_name, other_path in files:
        if same_file(other_path, path):
            raise RequestError(
                f"knobs {shorten(other_name)} and {shorten(name)} both set {shorten(path)}: "
                "name one"
            )


def plain_path(path: str) -> str:
    """Return a path without // and /./ in it."""
    return posixpath.normpath(path)


def same_file(first: str, second: str) -> bool:
    """Whether two paths mean one file, on at least one CPU."""
    return _covers(first, second) or _covers(second, first)


def idle_states(settings: Sequence[Setting]) -> list[str]:
    """Return the paths of settings that enable or disable an idle state."""
    paths = [plain_path(setting.path) for setting in settings]
    return [path for path in paths if _IDLE_STATE.fullmatch(path)]


def shorten(text: str) -> str:
    """Return a text as a message quotes it."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _covers(pattern_path: str, path: str) -> bool:
    """Whether a path, with any CPU for {cpu}, is the other path, with CPU 0 for {cpu}."""
    parts = plain_path(pattern_path).split(EACH_CPU)
    pattern = r"\d+".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, plain_path(path).replace(EACH_CPU, "0")) is not None
