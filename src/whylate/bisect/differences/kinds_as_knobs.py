"""The knobs of one difference, by its kind. Each raises RequestError with why it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whylate.bisect.differences.model import Difference
from whylate.bisect.differences.values import ORDER
from whylate.boards.boot.entry import without_loaders
from whylate.boards.facts.cmdline import REDACTED
from whylate.boards.facts.reading import cpu_list
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import kernel_word
from whylate.run.knobs.files import EACH_CPU

#: Stands in facts for each CPU, if all have the same value.
_ALL_CPUS = "cpu*"
#: One CPU of several values, and what is between two of them.
_OF_CPUS, _BETWEEN = re.compile(r"cpu ([0-9,-]{1,200}): (.+)", re.DOTALL), "; "
#: Of several values the file shows the chosen one like this.
_CHOSEN = re.compile(r"(?:\S+ )*\[(\S+)\](?: \S+)*")
_INTERRUPT = re.compile(r"/proc/irq/([0-9]{1,5})/smp_affinity_list")
_FIFO = re.compile(r"fifo ([0-9]{1,2})")
_PRIORITY = re.compile(r"(?:fifo|rr) ([0-9]{1,2})")
#: What a board boots from and talks through: with those of another one it may not come up.
_OF_THE_BOARD = frozenset(
    {
        "root", "rootfstype", "rootflags", "nfsroot", "nfsaddrs", "ip", "init", "rdinit", "resume",
        "resume_offset", "console", "earlycon", "earlyprintk", "mtdparts", "cryptdevice", "ostree",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Knob:
    """A knob with its value on each side; None: the board is left as it is found."""

    name: str
    first: str | None
    second: str | None


def file_knobs(path: str, first: str, second: str) -> Iterator[Knob]:
    """Yield the knobs of a file of the kernel: one, or one for each CPU whose values differ."""
    if path.endswith("/cpuidle/state*"):
        raise RequestError(
            "it is a table of idle states: write idle-state:N = on or off for those that differ"
        )
    if _ALL_CPUS not in path or not any(map(_OF_CPUS.match, (first, second))):
        if _BETWEEN in first or _BETWEEN in second:
            raise RequestError("it has several values")
        yield Knob(path.replace(_ALL_CPUS, f"cpu{EACH_CPU}"), _chosen(first), _chosen(second))
        return
    both = [_by_cpu(value) for value in (first, second)]
    cpus = next(values.keys() for values in both if None not in values)
    if any(None not in values and values.keys() != cpus for values in both):
        raise RequestError("the sides have it for different CPUs")
    for cpu in sorted(cpu for cpu in cpus if cpu is not None):
        ours, theirs = (values.get(cpu, values.get(None, "")) for values in both)
        if ours != theirs:
            yield Knob(path.replace(_ALL_CPUS, f"cpu{cpu}"), _chosen(ours), _chosen(theirs))


def affinity_knob(difference: Difference) -> Knob:
    """Return the knob of the CPUs that serve an interrupt."""
    match = _INTERRUPT.fullmatch(difference.means.target)
    if match is None:
        raise RequestError("its number is not that of both sides: write irq:N for the board")
    return Knob(f"irq:{match[1]}", difference.first, difference.second)


def priority_knob(difference: Difference, board: str) -> Knob:
    """Return the knob of a priority that is higher on the first side than on the second one.

    The probe lowers no priority, so that the second side's is the one that the board has.
    """
    ours = {_FIFO.fullmatch(policy) for policy in (difference.first or "").split(", ")}
    priorities = {match[1] if match else None for match in ours}
    theirs = [_PRIORITY.fullmatch(policy) for policy in (difference.second or "rr 0").split(", ")]
    highest = max(int(match[1]) if match else 100 for match in theirs)
    (wanted, *others) = sorted(priorities, key=str)
    if difference.first is not None and (others or wanted is None):
        raise RequestError("a knob sets SCHED_FIFO, of one priority for all threads of a name")
    if wanted is None or int(wanted) <= highest:
        raise RequestError(f"a knob raises priorities alone, and {board} has the higher one")
    return Knob(f"priority:{difference.means.target}", wanted, None)


def word_knob(difference: Difference, board: str) -> Knob:
    """Return the knob of a word of the command line."""
    parameter = difference.means.target
    if parameter == ORDER:
        raise RequestError("a knob sets a word, and not its place")
    if " " in parameter:
        raise RequestError("there are several words of this name, and a knob sets one")
    of_loader = not without_loaders([parameter])
    if parameter in _OF_THE_BOARD or of_loader or not parameter.strip("_"):
        raise RequestError("it belongs to the board, which may not come up with another")
    if board == "local":
        raise RequestError("local would have to boot")
    both = difference.first, difference.second
    spelled = {word.partition("=")[0] for word in both if word is not None}
    name = spelled.pop() if len(spelled) == 1 else parameter
    return Knob(f"cmdline:{name}", *(_word_value(name, word) for word in both))


def _word_value(name: str, word: str | None) -> str:
    """Return the value of the knob that makes a word, or that leaves it out."""
    if word is None:
        return "no"
    if REDACTED in word:
        raise RequestError("its value may be a secret, and is not shown")
    _, equals, text = word.partition("=")
    value = text if equals else "yes"
    if equals and text in ("", "yes", "no"):
        raise RequestError(f"no value of a knob makes the word {word}")
    kernel_word(name, value)
    return value


def _by_cpu(value: str) -> dict[int | None, str]:
    """Return the value of each CPU; None stands for all of them."""
    parts = [_OF_CPUS.fullmatch(part) for part in value.split(_BETWEEN)]
    if not any(parts):
        return {None: value}
    values: dict[int | None, str] = {}
    for part in parts:
        cpus = None if part is None else cpu_list(part[1])
        if part is None or cpus is None:
            raise RequestError("its values by CPU are not understood")
        values |= dict.fromkeys(cpus, part[2])
    return values


def _chosen(value: str) -> str:
    match = _CHOSEN.fullmatch(value)
    return value if match is None else match[1]
