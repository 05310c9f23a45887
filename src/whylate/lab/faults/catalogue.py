"""The injected faults: one folder each in lab/faults."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from whylate.lab.description import FILES
from whylate.lab.errors import LabError
from whylate.text import is_number

DIRECTORY = FILES / "faults"
#: Faults whose authors have not read the rules: see its README.md.
UNSEEN = DIRECTORY / "unseen"
#: What all faults share: headers, and the parameters that most of them have.
SHARED = DIRECTORY / "shared"
#: Headers that modules of the lab include, beside the lab.
REMEDIES = DIRECTORY.parents[1] / "remedies"

#: module: a kernel module, for boards whose kernel headers Debian has for this machine.
#: program: a static program. outside: something that is done to the emulator.
Kind = Literal["module", "program", "outside"]
#: The cause classes of a late activation.
Class = Literal[
    "interrupts disabled", "non-preemptible section", "softirq", "interrupt", "lock wait",
    "another thread", "RT throttling", "printk", "page fault", "hypervisor steal", "idle exit",
    "priority changed", "stopped by a signal", "woken late by its waker", "CFS bandwidth",
    "deadline task", "migration", "exception handler", "outside the traced kernel", "unexplained",
    "none",
]  # fmt: skip
Value = int | str
#: The content of its log. acts: start and end of what delays a due task. begins: only the start.
#: bursts: start and end of a series of shorter actions. about: start and end of what delays a due
#: task by about as much: what comes before and behind it by the kernel's own work is in no log.
Log = Literal["acts", "begins", "bursts", "about"]
_FILE = re.compile(r"/[A-Za-z0-9/_.+-]{1,200}")


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """The right answer to why an activation was late; "none": the fault delays nothing."""

    kind: Class
    detail: str
    #: Its name in a breakdown (whylate.causes.window.pieces): a cause, followed by what its detail
    #: contains; {alias} is the fault's other name. One of them; none where nothing is late.
    pieces: list[str]
    #: In the same form: answers of the right class that do not name the culprit.
    class_only: list[str] = []


class Parameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number between `least` and `most`, or the path of a file."""

    text: str
    default: Value
    least: int = 0
    most: int = 0


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the catalogue: a fault.toml."""

    title: str
    text: str
    kind: Kind
    answer: Answer
    #: The C file beside the fault.toml; empty for what is done from outside.
    source: str = ""
    #: The right answer with PREEMPT_RT, if it differs.
    answer_rt: Answer | None = None
    log: Log = "acts"
    #: The number of CPUs that it needs.
    cpus: int = 1
    #: uname's names of the machines on which it has an effect; empty: all.
    machines: list[str] = []
    #: The shared parameters that it has, and its own defaults for them.
    takes: list[str] = []
    defaults: dict[str, int] = {}
    parameters: dict[str, Parameter] = {}
    #: What no answer may name as the cause ({alias} as in the pieces): it is active beside the
    #: fault and delays nothing.
    bystanders: list[str] = []
    #: It was one of the unseen, and has been used to mend a rule.
    once_unseen: bool = False
    name: str = ""

    def right_answer(self, *, rt: bool) -> Answer:
        """Return the answer that explains a run on such a board."""
        return self.answer_rt if rt and self.answer_rt is not None else self.answer

    @property
    def folder(self) -> Path:
        """The directory of its files."""
        return _folder(self.name)

    @property
    def unseen(self) -> bool:
        """Whether it is one of those whose authors have not read the rules."""
        return self.folder.parent == UNSEEN

    @property
    def source_file(self) -> Path:
        """Its C file."""
        return self.folder / self.source


class FaultUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault with all its parameters, as injected into a run."""

    name: str
    parameters: dict[str, Value]

    def number(self, name: str) -> int:
        """Return a parameter that is a number."""
        value = self.parameters[name]
        assert isinstance(value, int)  # noqa: S101 - use() has checked it
        return value


def _folder(name: str) -> Path:
    return UNSEEN / name if (UNSEEN / name / "fault.toml").is_file() else DIRECTORY / name


def names(*, unseen: bool = False) -> list[str]:
    """Return the names of the faults that are listed, or of the unseen ones."""
    directory = UNSEEN if unseen else DIRECTORY
    return sorted(path.parent.name for path in directory.glob("*/fault.toml"))


@cache
def fault(name: str) -> Fault:
    """Return the fault of that name; raises LabError."""
    if name not in names() and name not in names(unseen=True):
        raise LabError(f"unknown fault {name[:80]!r}: expected one of {', '.join(names())}")
    path = _folder(name) / "fault.toml"
    try:
        shared = msgspec.convert(
            tomllib.loads((SHARED / "parameters.toml").read_text()), dict[str, Parameter]
        )
        entry = msgspec.convert(tomllib.loads(path.read_text()), Fault)
        parameters = {
            key: msgspec.structs.replace(
                shared[key], default=entry.defaults.get(key, shared[key].default)
            )
            for key in entry.takes
        }
    except (OSError, KeyError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LabError(f"{path} does not describe a fault: {error}") from None
    return msgspec.structs.replace(entry, name=name, parameters=parameters | entry.parameters)


def use(name: str, values: Mapping[str, str | int] | None = None) -> FaultUse:
    """Return a fault with these values of its parameters and defaults for the rest.

    Raises LabError for an unknown fault or parameter, and for a value out of range.
    """
    entry = fault(name)
    parameters: dict[str, Value] = {
        key: parameter.default for key, parameter in entry.parameters.items()
    }
    for key, value in (values or {}).items():
        parameter = entry.parameters.get(key)
        if parameter is None:
            raise LabError(
                f"{name} has no parameter {key[:40]!r}: expected one of "
                f"{', '.join(entry.parameters)}"
            )
        parameters[key] = _parse_value(name, key, parameter, value)
    period, size = parameters.get("period_us"), parameters.get("size_us")
    jitter = parameters.get("jitter_us", 0)
    if isinstance(period, int) and isinstance(jitter, int) and jitter > period // 2:
        raise LabError(f"{name}: jitter_us={jitter} is more than half of period_us={period}")
    if isinstance(period, int) and isinstance(size, int) and size > period // 2:
        raise LabError(f"{name}: size_us={size} is more than half of period_us={period}")
    return FaultUse(name, parameters)


def uses(words: Sequence[str]) -> tuple[FaultUse, ...]:
    """Return the faults in words, each with the parameters that follow it; raises LabError."""
    named: list[tuple[str, dict[str, str]]] = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            named.append((word, {}))
        elif not named:
            raise LabError(f"{word[:80]!r} belongs to no fault: name the fault first")
        else:
            named[-1][1][key] = value
    return tuple(use(name, values) for name, values in named)


def _parse_value(name: str, key: str, parameter: Parameter, value: str | int) -> Value:
    if isinstance(parameter.default, str):
        if not isinstance(value, str) or not _FILE.fullmatch(value):
            raise LabError(f"{name}: {key} must be a file's absolute path of A-Z a-z 0-9 / _ . + -")
        return value
    if isinstance(value, str) and not is_number(value, 11):
        raise LabError(f"{name}: {key} must be a number, not {value[:40]!r}")
    number = int(value)
    if not parameter.least <= number <= parameter.most:
        raise LabError(
            f"{name}: {key} must lie between {parameter.least} and {parameter.most}, not {number}"
        )
    return number


def alias(fault: Fault, disguise: str = "") -> str:
    """Return a name for files, modules, threads and interrupts, short enough to be a thread's.

    disguise: any text gives a name that does not reveal the fault, the same for the same text.
    """
    if not disguise:
        return fault.name.replace("-", "_")
    return "m" + hidden(disguise, fault.name)


def hidden(disguise: str, name: str) -> str:
    """Return eight hexadecimal digits in place of a name."""
    return hashlib.sha256(f"{disguise}\0{name}".encode()).hexdigest()[:8]
