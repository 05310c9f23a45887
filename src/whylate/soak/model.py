"""The plan of a soak, and the record of each of its cycles."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.bounds import Count, Integer, Small
from whylate.recording.plan import RunPlan
from whylate.soak.failure_kinds import FailureKind

SCHEMA_VERSION = 2

#: interrupted: by Ctrl-C or a killed host, without a crash; no result about the board.
Outcome = Literal[FailureKind, "ok", "interrupted"]

#: all: every recording. failures: those of failed cycles; console logs are kept in any case.
Keep = Literal["all", "failures"]


class SoakPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """soak.json: what every cycle of a soak does. The number of cycles may change later."""

    format: Literal["whylate-soak"] = "whylate-soak"
    schema_version: Small = SCHEMA_VERSION
    board: str
    #: What each cycle measures: any workload, a request.
    run: RunPlan
    #: Of a virtual board.
    smp: Small | None = None
    kernel_args: list[str] = []
    #: The tarball of the root that a virtual board boots; None: its own.
    root: str | None = None
    keep: Keep = "all"
    #: The stages of a boot that are looked for on its console, and their patterns; None: those that
    #: are known (whylate.recording.console.boot_stages).
    boot_stages: dict[str, list[str]] | None = None
    #: From the order to switch on until it takes commands.
    boot_timeout_s: float = 180.0
    #: How long a run may take before the power is cut; None: whylate.soak.cycle.run_limit_s().
    run_timeout_s: float | None = None
    #: Between off and on.
    off_s: float = 0.0
    #: The image that each cycle writes to the card; None: the card is not touched.
    flash: str | None = None
    flash_sha256: str | None = None
    #: The image for a board that does not boot, and for the end; None: what the card had.
    recover: str | None = None
    recover_sha256: str | None = None
    #: By what each cycle after the first reboots the board: a command with its arguments, or
    #: ["watchdog"]; []: by its power.
    reboot: list[str] = []


class Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """begun.json: whether the board was on when the soak began, for its end."""

    created: str
    whylate: str
    found_on: bool | None


class ConsoleCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks of a console's log; None: not possible on this board."""

    bytes: Count
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
    """Sample accounting of a run: expected = seen + overrun + dropped.

    max_ns: the maximum, in which an overrun counts with its lower bound.
    """

    expected: Count
    seen: Count
    overrun: Count
    dropped: Count
    max_ns: Integer | None


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What made a cycle fail: "crashed", "soft lockup"; "job-failed", "status 2".

    why: the first line of the report. count: how often it was seen in the cycle; at_least: or
    more often, since more was logged than is kept.
    """

    kind: FailureKind
    what: str
    why: str
    count: Count = 1
    at_least: bool = False


class RunFigure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of one run, by which runs are compared: a percentile, a point of a benchmark."""

    name: str
    value: float
    unit: str


class BootStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A stage of a boot whose words came on the console.

    at_s: when, from the order to switch on, on the host's clock; at most within_s too late.
    kernel_s: the kernel's own time of the line, in s; None: the line has none. times: how often the
    words came before the board was up.
    """

    name: str
    at_s: float
    within_s: float
    kernel_s: float | None = None
    times: Count = 1


class CycleFlash(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The write of the image to the card in one cycle.

    sha256: of the image's file. flash_s: how long it took to write the card and to read it back.
    verified: whether all of it was read back from the card as it was written.
    """

    sha256: str
    flash_s: float
    verified: bool
    #: Whether the board booted with the last good image after it did not with this one; None: not
    #: tried.
    recovered: bool | None = None
    #: Why it did not.
    why_not: str = ""


class Cycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of cycles.jsonl; times in seconds of the host's clock."""

    cycle: Count
    #: Counts the starts of the soak: memory is compared within a session.
    session: Count
    started: str
    outcome: Outcome
    #: The last stage: flash, power, boot, reboot, probe, run, off.
    stage: str
    #: One line; empty for success.
    why: str = ""
    #: From the order to switch on until it took commands, and until measuring began.
    boot_s: float | None = None
    #: From the order to reboot until it took commands with another boot id; None: it was switched
    #: on.
    reboot_s: float | None = None
    measuring_s: float | None = None
    total_s: float = 0.0
    #: How long the run took, from where measuring began.
    run_s: float | None = None
    #: How often the run was made again, since its threads were let go too late.
    late_starts: Count = 0
    flash: CycleFlash | None = None
    console: ConsoleCheck | None = None
    #: In the order in which they came; None: there is no console, or the line is of a former
    #: version.
    boot_stages: list[BootStage] | None = None
    #: Why the kernel's log was not searched after the run, or not to its end; "": it was, or the
    #: cycle did not come so far.
    kernel_log_unread: str = ""
    latency: Latency | None = None
    #: Of a run that measured something.
    figures: list[RunFigure] = []
    #: All that was seen to go wrong, each once; the worst of it is the outcome.
    causes: list[Cause] = []
    #: Whether the board was left on, as it was after a crash.
    left_on: bool = False
    #: Memory of this process after the cycle.
    host_rss_bytes: Count = 0
