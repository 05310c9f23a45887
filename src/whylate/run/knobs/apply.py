"""Apply knobs to the plan of a run.

A knob is a file of the kernel, a word on its command line, what is booted, an image, a property of
the run, or a pair of commands that the user defines. The probe writes the files: it reads each
first, fails the run if the value does not read back, and restores it however the run ends. The host
runs the commands by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from whylate.lab.errors import LabError
from whylate.recording.plan import THREADS, RunPlan, Setting
from whylate.run.errors import RequestError
from whylate.run.knobs.commands import CommandKnob, CommandSetting
from whylate.run.knobs.files import (
    FILE_PREFIXES,
    FILES,
    check_one_file,
    file_setting,
    shorten,
)
from whylate.run.knobs.host_files import DTB, IMAGE, INITRD, KERNEL, ON_BOARD, is_path
from whylate.run.knobs.variables import Variables, check_variable
from whylate.run.loads import parse_faults, parse_load
from whylate.run.workloads import KNOBS, rules

#: The longest value of a knob in characters, and of the knobs that hold a command or a path.
_LONGEST, _LONG, _LONG_VALUES = 200, 4000, ("load", "fault", IMAGE, KERNEL, INITRD, DTB)
_PARAMETER = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_ARGUMENT = re.compile(r"[!-~]{1,200}")

Kernel = Literal["rt", "standard"]
#: Value of the knob -> the kernel. "ordinary" is the former name, which plans may still have.
_KERNELS: dict[str, Kernel] = {"rt": "rt", "standard": "standard", "ordinary": "standard"}


@dataclass(frozen=True)
class Applied:
    """A run with its knobs.

    knobs: names and values as given. kernel_args: words on the kernel's command line, for which
    the board boots. left_out: parameters that must not be on it. kernel: which of a virtual board's
    two kernels boots; None: the one of the board's name. boot_files: the kernel, initrd and dtb
    that another board boots, as given. image: the file on its card; "": any.
    variables: environment of the run's commands. commands: command knobs that are set for the run,
    of those that the user defined (defined).
    """

    plan: RunPlan
    knobs: Mapping[str, str] = field(default_factory=dict)
    kernel_args: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    kernel: Kernel | None = None
    boot_files: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    variables: Variables = ()
    commands: tuple[CommandSetting, ...] = ()
    defined: Mapping[str, CommandKnob] = field(default_factory=dict)

    def with_plan(self, **changes: object) -> Applied:
        """Return a copy with fields of its plan changed."""
        return replace(self, plan=msgspec.structs.replace(self.plan, **changes))


def apply_knobs(
    plan: RunPlan, knobs: Mapping[str, str], defined: Mapping[str, CommandKnob] | None = None
) -> Applied:
    """Return the run with these knobs; raises RequestError for an unknown knob or a wrong value.

    defined: the command knobs of the user, by name.
    """
    applied = Applied(plan, dict(knobs), defined=defined or {})
    files: list[tuple[str, str]] = []
    for name, value in knobs.items():
        check_value(name, value)
        setting = file_setting(name, value) or setting_of_workload(applied.plan, name, value)
        if setting is None:
            applied = _apply(applied, name, value)
        else:
            check_one_file(files, name, setting.path)
            files.append((name, setting.path))
            applied = applied.with_plan(settings=[*applied.plan.settings, setting])
    return applied


def check_value(name: str, value: str) -> None:
    """Raise RequestError for a value that no knob of this name can have."""
    limit = _LONG if name in _LONG_VALUES else _LONGEST
    if len(value) > limit:
        raise RequestError(f"knob {shorten(name)}: a value of more than {limit} characters")
    if not value or not value.isprintable():
        raise RequestError(f"knob {shorten(name)}: invalid value {shorten(value)}")


def kernel_word(parameter: str, value: str) -> str:
    """Return the word that a value of cmdline:PARAMETER is; raises RequestError for none.

    "yes" is the parameter alone.
    """
    word = parameter if value == "yes" else f"{parameter}={value}"
    if not _PARAMETER.fullmatch(parameter) or not _ARGUMENT.fullmatch(word):
        raise RequestError(
            f"knob cmdline:{shorten(parameter)}: {shorten(word)} is no kernel argument"
        )
    return word


def _apply(applied: Applied, name: str, value: str) -> Applied:
    """Apply a knob that is no file."""
    if name in _NAMED:
        return _NAMED[name](applied, value)
    if name in KNOBS:
        return _workload_knob(applied, name, value)
    prefix, colon, rest = name.partition(":")
    if colon and prefix in _PREFIXED:
        return _PREFIXED[prefix](applied, rest, value)
    prefixes = (f"{prefix}:…" for prefix in (*FILE_PREFIXES, THREADS[:-1], *_PREFIXED))
    names = ", ".join([*FILES, *_NAMED, *KNOBS, *prefixes, "a path"])
    raise RequestError(f"unknown knob {shorten(name)}, expected one of {names}")


def _cpus(applied: Applied, value: str) -> Applied:
    parts = value.split(",")
    if not all(part.isdecimal() and len(part) <= 5 for part in parts):
        raise RequestError("knob cpus: write them like 0,1")
    return applied.with_plan(cpus=[int(part) for part in parts])


def _load(applied: Applied, value: str) -> Applied:
    """Add a load, as memory:2 or cmd:COMMAND, to those of the run."""
    return applied.with_plan(loads=[*applied.plan.loads, parse_load(value)])


def _fault(applied: Applied, value: str) -> Applied:
    """Inject faults into a virtual board: bulk-lock size_us=400 chunk_us=50."""
    try:
        return applied.with_plan(faults=[*applied.plan.faults, *parse_faults(value)])
    except LabError as error:
        raise RequestError(f"knob fault: {error}") from None


def _kernel(applied: Applied, value: str) -> Applied:
    if is_path(value):
        return _boot_file(applied, KERNEL, value)
    if value not in _KERNELS:
        raise RequestError(
            "knob kernel: expected one of rt, standard, or the path of a file, as ./Image"
        )
    return replace(applied, kernel=_KERNELS[value])


def _boot_file(applied: Applied, name: str, value: str) -> Applied:
    """Boot with a file of this machine, or with a file that is on the board (board:/boot/Image)."""
    if value.startswith(ON_BOARD) and not value.startswith(f"{ON_BOARD}/"):
        raise RequestError(f"knob {name}: write an absolute path behind {ON_BOARD}")
    return replace(applied, boot_files={**applied.boot_files, name: value})


def _image(applied: Applied, value: str) -> Applied:
    return replace(applied, image=value)


def setting_of_workload(plan: RunPlan, name: str, value: str) -> Setting | None:
    """Return the setting of the board that a knob of the run's workload is; None: it is none."""
    return rules(plan.workload).setting(plan.workload, name, value)


def _workload_knob(applied: Applied, name: str, value: str) -> Applied:
    """Apply a knob that only some workloads have."""
    workload = applied.plan.workload
    knob = rules(workload).knobs.get(name)
    if knob is None:
        raise RequestError(f"knob {name}: the workload {workload.kind} has no such setting")
    return applied.with_plan(workload=knob(workload, value))


def _kernel_argument(applied: Applied, rest: str, value: str) -> Applied:
    """Add a word to the kernel's command line: cmdline:nohz_full = 1, cmdline:nosmt = yes.

    "no" leaves the parameter out, since the kernel reads nosmt=no as nosmt.
    """
    word = kernel_word(rest, value)
    if value == "no":
        return replace(applied, left_out=(*applied.left_out, rest))
    return replace(applied, kernel_args=(*applied.kernel_args, word))


def _variable(applied: Applied, rest: str, value: str) -> Applied:
    """Set an environment variable of the run's commands."""
    check_variable(rest)
    return replace(applied, variables=(*applied.variables, (rest, value)))


def _command(applied: Applied, rest: str, value: str) -> Applied:
    """Set a command knob of the user."""
    knob = applied.defined.get(rest)
    if knob is None:
        raise RequestError(
            f"unknown knob command:{shorten(rest)}: write [knobs.NAME] with read and write "
            f"(there are {', '.join(applied.defined) or 'none'})"
        )
    setting = CommandSetting(rest, knob, value)
    return replace(applied, commands=(*applied.commands, setting))


def _parameter(applied: Applied, rest: str, value: str) -> Applied:
    """Change a parameter of the workload: workload:pages = thp."""
    workload = applied.plan.workload
    try:
        changed = rules(workload).with_parameter(workload, rest, value)
    except RequestError as error:
        raise RequestError(f"knob workload:{shorten(rest)}: {error}") from None
    return applied.with_plan(workload=changed)


_NAMED: dict[str, Callable[[Applied, str], Applied]] = {
    "cpus": _cpus,
    "load": _load,
    "fault": _fault,
    KERNEL: _kernel,
    INITRD: lambda applied, value: _boot_file(applied, INITRD, value),
    DTB: lambda applied, value: _boot_file(applied, DTB, value),
    IMAGE: _image,
}
_PREFIXED: dict[str, Callable[[Applied, str, str], Applied]] = {
    "cmdline": _kernel_argument,
    "env": _variable,
    "command": _command,
    "workload": _parameter,
}
