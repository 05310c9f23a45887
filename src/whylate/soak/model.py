"""What a soak is asked for, and what is kept of each of its cycles."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.plan import LoadPlan

SCHEMA_VERSION = 1

#: What a cycle may fail with, in the order in which a cycle comes to them.
#: no-power: the supply does not do what it is told, or nothing shows that it did.
#: no-boot: it got power and did not come up in its time.
#: no-probe: it was up, and the probe could not be started.
#: run-failed: the workload did not come to a good end, or its recording cannot be trusted; and
#: the board still answered.
#: hung: it had come up, and answered no more. crashed: its console shows a crash.
#: console-cut: all went well, but the console's log is not whole.
FailureKind = Literal[
    "no-power", "no-boot", "no-probe", "run-failed", "hung", "crashed", "console-cut"
]
FAILURE_KINDS: tuple[FailureKind, ...] = (
    "no-power",
    "no-boot",
    "no-probe",
    "run-failed",
    "hung",
    "crashed",
    "console-cut",
)
#: interrupted: ended by us (Ctrl-C, a killed host), no crash shown; says nothing about the board.
Outcome = Literal[FailureKind, "ok", "interrupted"]

#: all: every recording. failures: those of failed cycles; console logs are kept in any case.
Keep = Literal["all", "failures"]


class SoakPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """soak.json: what every cycle of a soak is. How many there are to be may change later."""

    format: Literal["whylate-soak"] = "whylate-soak"
    schema_version: int = SCHEMA_VERSION
    board: str
    #: The wakeup workload of a cycle.
    run_for_ns: int
    interval_ns: int
    loads: list[LoadPlan]
    #: Of a virtual board.
    smp: int | None = None
    kernel_args: list[str] = []
    keep: Keep = "all"
    #: From the order to switch on until it takes commands.
    boot_timeout_s: float = 180.0
    #: Between off and on.
    off_s: float = 0.0


class Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """begun.json: how the board was found when the soak began, for whoever ends it."""

    created: str
    whylate: str
    found_on: bool | None


class ConsoleCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was seen of a console's log; None: could not be checked on this board."""

    bytes: int
    #: Whether it begins where the boot does.
    begins: bool | None
    #: Whether the mark that was printed after the run is in it.
    ends: bool | None
    #: Whether more was printed than is kept.
    cut: bool = False

    @property
    def whole(self) -> bool | None:
        """Whether it goes from the boot's first line to the end of the run."""
        if self.cut or self.begins is False or self.ends is False:
            return False
        return True if self.begins and self.ends else None


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The account of a cycle's run: expected = seen + overrun + dropped; max_ns of what was seen.

    An overrun counts in max_ns with its lower bound.
    """

    expected: int
    seen: int
    overrun: int
    dropped: int
    max_ns: int | None


class Cycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of cycles.jsonl; times in seconds of the host's clock."""

    cycle: int
    #: Counts the times that the soak was started anew: memory is compared within one of them.
    session: int
    started: str
    outcome: Outcome
    #: How far it came: power, boot, probe, run, off.
    stage: str
    #: One line; empty where all went well.
    why: str = ""
    #: From the order to switch on until it took commands, and until measuring began.
    boot_s: float | None = None
    measuring_s: float | None = None
    total_s: float = 0.0
    console: ConsoleCheck | None = None
    latency: Latency | None = None
    #: Memory of this process after the cycle.
    host_rss_bytes: int = 0
