"""The workload `section`: every execution of a piece of code."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from whylate.recording.bounds import Integer, Small
from whylate.recording.treatments import Treatment
from whylate.recording.workloads.activations import ActivationWorkload
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.text import plain
from whylate.wire.constants import (
    LONGEST_RUN_NS,
    MOST_CONDITIONS,
    MOST_EXECUTION_COUNTS,
    MOST_ONE_IN,
)

Hook = Literal["best", "fentry", "kprobe-session", "kprobe-multi", "kprobe", "tracefs"]
#: Of places that are not whole functions.
PlacesHook = Literal["best", "kprobe", "tracefs"]


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="by"):
    """Where a section begins and ends."""

    @property
    def description(self) -> str:
        """How a user writes it."""
        raise NotImplementedError


class KernelFunction(Place, frozen=True, tag="function"):
    """A function of the kernel, from its entry to its return."""

    function: str
    hook: Hook = "best"

    @property
    def description(self) -> str:
        """Its name."""
        return plain(self.function, 80)


class KernelPlaces(Place, frozen=True, tag="places", kw_only=True):
    """From one place in the kernel to another of the same thread, or to its next time.

    begin, end: FUNCTION, for its entry, FUNCTION+0xBYTES or 0xADDRESS. Where the kernel has
    tracepoints of both names, these are meant.
    """

    begin: str
    end: str
    hook: PlacesHook = "best"

    @property
    def description(self) -> str:
        """Its names, as a user writes them."""
        return plain(f"{self.begin}..{self.end}", 200)


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An argument of a tracepoint that has this value."""

    argument: str
    value: Integer


class TracepointPair(Place, frozen=True, tag="tracepoints", kw_only=True):
    """From one tracepoint to another, or to the same one.

    key: what pairs them: a beginning ends with the next end of the same thread, on the same CPU, or
    with the same argument, begin_argument of the one and end_argument of the other.
    """

    begin: str
    end: str
    key: Literal["thread", "cpu", "argument"] = "thread"
    begin_argument: str = ""
    end_argument: str = ""
    conditions: Annotated[list[Condition], Meta(max_length=MOST_CONDITIONS)] = []
    hook: Literal["best", "tracefs"] = "best"

    @property
    def description(self) -> str:
        """Its names, conditions and key, as a user writes them."""
        words = [f"{self.begin}..{self.end}"]
        for number, condition in enumerate(self.conditions):
            words += ["and" if number else "if", f"{condition.argument}=={condition.value}"]
        if self.key == "cpu":
            words.append("by cpu")
        elif self.key == "argument":
            same = self.begin_argument == self.end_argument
            both = self.begin_argument if same else f"{self.begin_argument},{self.end_argument}"
            words.append(f"by {both}")
        return plain(" ".join(words), 200)


class UserCode(Place, frozen=True, tag="user", kw_only=True):
    """Code of a program or library, as the board sees its file.

    begin: FUNCTION, FUNCTION+0xBYTES, 0xOFFSET in the file, or PROVIDER:NAME of a USDT probe. end:
    as this; empty: from the function's entry to its return, or from the probe to the next of the
    same thread. hook: "uprobe" times returns of functions that exceptions may leave, too.
    """

    file: str
    begin: str
    end: str = ""
    hook: Literal["best", "uprobe"] = "best"

    @property
    def description(self) -> str:
        """Its file and places, as a user writes them."""
        return plain(f"{self.file}:{self.begin}" + (f"..{self.end}" if self.end else ""), 200)


AnyPlace = KernelFunction | KernelPlaces | TracepointPair | UserCode


class Section(ActivationWorkload, frozen=True, kw_only=True, tag="section"):
    """The executions of a piece of code; the code's callers decide when they are.

    comm, pid: of threads of that name, or of that process, alone. one_in: of so many executions one
    is drawn and kept; None: as few are as can be kept. keep_above_ns: those that take longer are
    kept as well, apart from the sample; None: none is. counters: events that are counted between
    the marks of each execution. experiment: what is done before half of those that are drawn, by
    chance.
    """

    place: AnyPlace
    #: Waits for locks are told by lock and callers.
    locks: bool = False
    #: So are the call paths at the ends of longer executions, and of some others.
    paths: bool = False
    #: So is where executions are in their own code, by looking from time to time.
    samples: bool = False
    comm: str | None = None
    pid: Small | None = None
    one_in: Annotated[int, Meta(ge=1, le=MOST_ONE_IN)] | None = None
    keep_above_ns: Annotated[int, Meta(ge=1, le=LONGEST_RUN_NS)] | None = None
    counters: Annotated[list[CounterPlan], Meta(max_length=MOST_EXECUTION_COUNTS)] = msgspec.field(
        default_factory=list
    )
    experiment: Treatment | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for names of counters that make no columns."""
        names = self.row_counters
        if len(set(names)) < len(names) or any(not 0 < len(name) <= 80 for name in names):
            raise ValueError("counters of a section without names of their own")

    @property
    def is_scheduled(self) -> bool:
        """Nothing says when an execution is due."""
        return False

    @property
    def has_parts(self) -> bool:
        """What the thread did meanwhile is known."""
        return True

    @property
    def row_counters(self) -> list[str]:
        """They are of each execution."""
        return [counter.name for counter in self.counters]

    @property
    def counted(self) -> str:
        """A row is of an execution."""
        return "executions"

    @property
    def quantity(self) -> str:
        """An execution is not late."""
        return "duration"

    @property
    def for_fewer(self) -> str:
        """Of all executions fewer can be kept."""
        return "with --one-in or --spool"

    @property
    def longer_than_ns(self) -> int | None:
        """They have, where a limit is given."""
        return self.keep_above_ns

    @property
    def function(self) -> str:
        """It is timed as a whole."""
        return self.place.function if isinstance(self.place, KernelFunction) else ""

    @property
    def subject(self) -> str:
        """What is timed, and of which threads."""
        text = self.place.description
        if self.comm is not None:
            text += f" in threads named {plain(self.comm, 40)}"
        if self.pid is not None:
            text += f" in process {self.pid}"
        return text
