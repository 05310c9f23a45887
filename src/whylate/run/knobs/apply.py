"""Knobs: named settings that a run has applied, read back, and put back after it.

What a knob is on the board is a file of the kernel's, a word of its command line, another kernel
or image, something of the run itself, or whatever a command of the user's own can set. Files are
the probe's to write: it reads each before, applies it, fails the run where it does not read back
what was written, and puts it back whatever becomes of the run. Commands are run from here,
likewise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from whylate.lab.errors import LabError
from whylate.recording.plan import RunPlan, Setting
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.commands import CommandKnob, CommandSetting
from whylate.run.knobs.files import same_file
from whylate.run.knobs.variables import Variables, check_variable
from whylate.run.loads import parse_faults, parse_load
from whylate.run.resolve import EACH_CPU
from whylate.run.workloads import rules

_CPU = "/sys/devices/system/cpu"
#: Knobs that are one file, or one for each CPU.
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
#: The knob that is a file for a board's card.
IMAGE = "image"
#: The longest value of a knob, in letters, and of those that hold a command, a path or words.
_LONGEST, _LONG, _LONG_VALUES = 200, 4000, ("load", "fault", IMAGE)
_SYSCTL = re.compile(r"[a-z0-9_.-]{1,120}", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_MODULE = re.compile(r"([A-Za-z0-9_]{1,60})\.([A-Za-z0-9_]{1,60})")
_ARGUMENT = re.compile(r"[!-~]{1,200}")
_ROOTS = ("/proc/sys/", "/proc/irq/", "/sys/")


Kernel = Literal["rt", "ordinary"]


@dataclass(frozen=True)
class Applied:
    """A run with its knobs.

    knobs: by name, as they were given. kernel_args: words for the command line, for which it
    boots anew. left_out: names of words that must not stand there. kernel: which of a virtual
    board's two it boots; None: the one that its name says. image: the file that its card holds;
    "": whatever it holds. variables: for the commands of the run.
    commands: knobs of one's own that are set around it, of those in `own`.
    """

    plan: RunPlan
    knobs: Mapping[str, str] = field(default_factory=dict)
    kernel_args: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    kernel: Kernel | None = None
    image: str = ""
    variables: Variables = ()
    commands: tuple[CommandSetting, ...] = ()
    own: Mapping[str, CommandKnob] = field(default_factory=dict)


def apply_knobs(
    plan: RunPlan, knobs: Mapping[str, str], own: Mapping[str, CommandKnob] | None = None
) -> Applied:
    """Return the run with these knobs; raises RequestError for one that there is not.

    own: the knobs of one's own that there are.
    """
    applied = Applied(plan, dict(knobs), own=own or {})
    files: list[tuple[str, str]] = []
    for name, value in knobs.items():
        most = _LONG if name in _LONG_VALUES else _LONGEST
        if len(value) > most:
            raise RequestError(f"knob {_short(name)}: a value of more than {most} letters")
        if not value or not value.isprintable():
            raise RequestError(f"knob {_short(name)}: {_short(value)} is no value")
        before = len(applied.plan.settings)
        applied = _apply(applied, name, value)
        for one in applied.plan.settings[before:]:
            _check_once(files, name, one.path)
            files.append((name, one.path))
    return applied


def file_setting(name: str, value: str) -> Setting | None:
    """Return the file that a knob sets, {cpu} for each CPU in it; None for what is no file.

    Raises RequestError for a knob that there is not.
    """
    prefix = name.partition(":")[0]
    if not (name.startswith("/") or name in FILES or prefix in _OF_FILES):
        return None
    nothing = RunPlan(workload=Wakeup(duration_ns=0, interval_ns=0))
    return _apply(Applied(nothing), name, value).plan.settings[0]


def _check_once(files: Sequence[tuple[str, str]], name: str, path: str) -> None:
    """Raise RequestError for a second knob of one file: the last one alone would take effect."""
    for other, theirs in files:
        if same_file(theirs, path):
            raise RequestError(
                f"knobs {_short(other)} and {_short(name)} both set {_short(path)}: name one"
            )


def names() -> list[str]:
    """Return how knobs can be named, for messages."""
    return [
        *FILES,
        *_OF_THE_RUN,
        *_OF_WORKLOADS,
        "kernel",
        IMAGE,
        *(f"{prefix}:…" for prefix in _PREFIXED),
        "a path",
    ]


def _apply(applied: Applied, name: str, value: str) -> Applied:
    if name.startswith("/"):
        return _file(applied, name, value)
    if name in FILES:
        return _file(applied, FILES[name], value)
    if name == "kernel":
        return _kernel(applied, value)
    if name == IMAGE:
        return replace(applied, image=value)
    if name in _OF_THE_RUN:
        return replace(applied, plan=_OF_THE_RUN[name](applied.plan, value))
    if name in _OF_WORKLOADS:
        return replace(applied, plan=_of_workload(applied.plan, name, value))
    prefix, colon, rest = name.partition(":")
    if colon and prefix in _PREFIXED:
        return _PREFIXED[prefix](applied, rest, value)
    raise RequestError(f"there is no knob {_short(name)}: there are {', '.join(names())}")


def _file(applied: Applied, path: str, value: str) -> Applied:
    if not path.startswith(_ROOTS) or "/../" in path or not path.isprintable() or len(path) > 200:
        raise RequestError(f"knob {_short(path)}: a path must be under {', '.join(_ROOTS)}")
    settings = [*applied.plan.settings, Setting(path, value)]
    return replace(applied, plan=msgspec.structs.replace(applied.plan, settings=settings))


def _sysctl(applied: Applied, rest: str, value: str) -> Applied:
    if not _SYSCTL.fullmatch(rest):
        raise RequestError(f"knob sysctl:{_short(rest)}: write it like sysctl:vm.swappiness")
    return _file(applied, f"/proc/sys/{rest.replace('.', '/')}", value)


def _module(applied: Applied, rest: str, value: str) -> Applied:
    match = _MODULE.fullmatch(rest)
    if match is None:
        raise RequestError(f"knob module:{_short(rest)}: write it like module:kvm.halt_poll_ns")
    return _file(applied, f"/sys/module/{match[1]}/parameters/{match[2]}", value)


def _interrupt(applied: Applied, rest: str, value: str) -> Applied:
    if not rest.isdecimal() or len(rest) > 5:
        raise RequestError(f"knob irq:{_short(rest)}: write the number of an interrupt")
    return _file(applied, f"/proc/irq/{rest}/smp_affinity_list", value)


def _idle_state(applied: Applied, rest: str, value: str) -> Applied:
    if not rest.isdecimal() or len(rest) > 2 or value not in ("on", "off"):
        raise RequestError(f"knob idle-state:{_short(rest)}: write idle-state:2 = on or off")
    path = f"{_CPU}/cpu{EACH_CPU}/cpuidle/state{rest}/disable"
    return _file(applied, path, "1" if value == "off" else "0")


def _kernel_argument(applied: Applied, rest: str, value: str) -> Applied:
    """Add a word to the kernel's command line: cmdline:nohz_full = 1, cmdline:nosmt = yes.

    With "no" it is left out: the kernel takes nosmt=no for nosmt.
    """
    word = rest if value == "yes" else f"{rest}={value}"
    if not _WORD.fullmatch(rest) or not _ARGUMENT.fullmatch(word):
        raise RequestError(f"knob cmdline:{_short(rest)}: {_short(word)} is no word for a kernel")
    if value == "no":
        return replace(applied, left_out=(*applied.left_out, rest))
    return replace(applied, kernel_args=(*applied.kernel_args, word))


def _kernel(applied: Applied, value: str) -> Applied:
    if value not in ("rt", "ordinary"):
        raise RequestError("knob kernel: rt or ordinary")
    return replace(applied, kernel="rt" if value == "rt" else "ordinary")


def _variable(applied: Applied, rest: str, value: str) -> Applied:
    """Set an environment variable of the run's commands."""
    check_variable(rest)
    return replace(applied, variables=(*applied.variables, (rest, value)))


def _command(applied: Applied, rest: str, value: str) -> Applied:
    """Set a knob of one's own."""
    knob = applied.own.get(rest)
    if knob is None:
        raise RequestError(
            f"there is no knob command:{_short(rest)}: write [knobs.NAME] with read and write "
            f"(there are {', '.join(applied.own) or 'none'})"
        )
    setting = CommandSetting(rest, knob, value)
    return replace(applied, commands=(*applied.commands, setting))


def _cpus(plan: RunPlan, value: str) -> RunPlan:
    parts = value.split(",")
    if not all(part.isdecimal() and len(part) <= 5 for part in parts):
        raise RequestError("knob cpus: write them like 0,1")
    return msgspec.structs.replace(plan, cpus=[int(part) for part in parts])


def _load(plan: RunPlan, value: str) -> RunPlan:
    """Add a load, as memory:2 or cmd:COMMAND, beside those of the run."""
    return msgspec.structs.replace(plan, loads=[*plan.loads, parse_load(value)])


def _fault(plan: RunPlan, value: str) -> RunPlan:
    """Inject faults on a virtual board: bulk-lock size_us=400 chunk_us=50."""
    try:
        return msgspec.structs.replace(plan, faults=[*plan.faults, *parse_faults(value)])
    except LabError as error:
        raise RequestError(f"knob fault: {error}") from None


_OF_THE_RUN: dict[str, Callable[[RunPlan, str], RunPlan]] = {
    "cpus": _cpus,
    "load": _load,
    "fault": _fault,
}
#: Knobs that some workloads have.
_OF_WORKLOADS = ("priority", "idle-states", "recorder")


def _of_workload(plan: RunPlan, name: str, value: str) -> RunPlan:
    knob = rules(plan.workload).knobs.get(name)
    if knob is None:
        raise RequestError(
            f"knob {name}: the workload {plan.workload.kind} has nothing that it sets"
        )
    return msgspec.structs.replace(plan, workload=knob(plan.workload, value))


def _parameter(applied: Applied, rest: str, value: str) -> Applied:
    """Change a parameter of the workload: workload:pages = thp."""
    workload = applied.plan.workload
    try:
        changed = rules(workload).with_parameter(workload, rest, value)
    except RequestError as error:
        raise RequestError(f"knob workload:{_short(rest)}: {error}") from None
    return replace(applied, plan=msgspec.structs.replace(applied.plan, workload=changed))


#: Of these, what is one file, or one for each CPU.
_OF_FILES = ("sysctl", "module", "irq", "idle-state")
_PREFIXED: dict[str, Callable[[Applied, str, str], Applied]] = {
    "sysctl": _sysctl,
    "module": _module,
    "irq": _interrupt,
    "idle-state": _idle_state,
    "cmdline": _kernel_argument,
    "env": _variable,
    "command": _command,
    "workload": _parameter,
}


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
