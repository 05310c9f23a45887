"""The injected faults that there are: one folder each in lab/faults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from whylate.lab.description import FILES
from whylate.lab.errors import LabError

DIRECTORY = FILES / "faults"
#: What all faults share: headers, and the parameters that most of them take.
SHARED = DIRECTORY / "shared"

#: module: a kernel module, for boards whose kernel headers Debian has for this machine.
#: program: a static program. outside: something that is done to the emulator.
Kind = Literal["module", "program", "outside"]
#: What an account of a late activation may say of it.
Class = Literal[
    "interrupts disabled", "non-preemptible section", "softirq", "interrupt", "lock wait",
    "another thread", "RT throttling", "printk", "page fault", "hypervisor steal", "idle exit",
    "none",
]  # fmt: skip
Value = int | str
#: What its log tells. acts: from when to when whoever is due waits for it. begins: when it began
#: alone. bursts: from when to when it did many things that are shorter.
Log = Literal["acts", "begins", "bursts"]
_FILE = re.compile(r"/[A-Za-z0-9/_.+-]{1,200}")


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """The right answer to why an activation was late; "none": it is not made late at all."""

    kind: Class
    detail: str
    #: Its name in a breakdown (whylate.causes.window.pieces): a cause, followed by what its detail
    #: contains; {alias} is the fault's other name. One of them; none where nothing is late.
    pieces: list[str]


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
    #: The C file beside the fault.toml; none for what is done from outside.
    source: str = ""
    #: The right answer where the kernel has PREEMPT_RT, if it is another one there.
    answer_rt: Answer | None = None
    log: Log = "acts"
    #: As few CPUs as it needs.
    cpus: int = 1
    #: What uname calls the machines on which it does something; none: all.
    machines: list[str] = []
    #: Which of the shared parameters it takes, and its own defaults for them.
    takes: list[str] = []
    defaults: dict[str, int] = {}
    parameters: dict[str, Parameter] = {}
    name: str = ""

    def right_answer(self, *, rt: bool) -> Answer:
        """Return what a board's run must be explained by."""
        return self.answer_rt if rt and self.answer_rt is not None else self.answer

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return DIRECTORY / self.name

    @property
    def source_file(self) -> Path:
        """Its C file."""
        return self.folder / self.source


class FaultUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault with all its parameters: what a run was disturbed by."""

    name: str
    parameters: dict[str, Value]

    def number(self, name: str) -> int:
        """Return a parameter that is a number."""
        value = self.parameters[name]
        assert isinstance(value, int)  # noqa: S101 - use() has seen to it
        return value


def names() -> list[str]:
    """Return the names of all faults."""
    return sorted(path.parent.name for path in DIRECTORY.glob("*/fault.toml"))


@cache
def fault(name: str) -> Fault:
    """Return the fault of that name; raises LabError."""
    if name not in names():
        raise LabError(f"there is no fault {name[:80]!r}: there are {', '.join(names())}")
    path = DIRECTORY / name / "fault.toml"
    try:
        shared = msgspec.convert(
            tomllib.loads((SHARED / "parameters.toml").read_text()), dict[str, Parameter]
        )
        found = msgspec.convert(tomllib.loads(path.read_text()), Fault)
        taken = {
            key: msgspec.structs.replace(
                shared[key], default=found.defaults.get(key, shared[key].default)
            )
            for key in found.takes
        }
    except (OSError, KeyError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LabError(f"{path} does not describe a fault: {error}") from None
    return msgspec.structs.replace(found, name=name, parameters=taken | found.parameters)


def use(name: str, values: Mapping[str, str | int] | None = None) -> FaultUse:
    """Return a fault with these values of its parameters and defaults for the rest.

    Raises LabError for a fault or parameter that is not there, and for a value out of range.
    """
    entry = fault(name)
    parameters: dict[str, Value] = {key: one.default for key, one in entry.parameters.items()}
    for key, value in (values or {}).items():
        one = entry.parameters.get(key)
        if one is None:
            raise LabError(
                f"{name} has no parameter {key[:40]!r}: it has {', '.join(entry.parameters)}"
            )
        parameters[key] = _value(name, key, one, value)
    period, size = parameters.get("period_us"), parameters.get("size_us")
    jitter = parameters.get("jitter_us", 0)
    if isinstance(period, int) and isinstance(jitter, int) and jitter > period // 2:
        raise LabError(f"{name}: jitter_us={jitter} is more than half of period_us={period}")
    if isinstance(period, int) and isinstance(size, int) and size > period // 2:
        raise LabError(f"{name}: size_us={size} is more than half of period_us={period}")
    return FaultUse(name, parameters)


def uses(words: Sequence[str]) -> tuple[FaultUse, ...]:
    """Return the faults that words name, each with the parameters behind it; raises LabError."""
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


def _value(name: str, key: str, parameter: Parameter, value: str | int) -> Value:
    if isinstance(parameter.default, str):
        if not isinstance(value, str) or not _FILE.fullmatch(value):
            raise LabError(f"{name}: {key} must be a file's absolute path without odd characters")
        return value
    if isinstance(value, str) and not (value.isascii() and value.isdigit() and len(value) < 12):
        raise LabError(f"{name}: {key} must be a number, not {value[:40]!r}")
    number = int(value)
    if not parameter.least <= number <= parameter.most:
        raise LabError(
            f"{name}: {key} must lie between {parameter.least} and {parameter.most}, not {number}"
        )
    return number
