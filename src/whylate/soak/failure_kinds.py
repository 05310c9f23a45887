"""The kinds of failure of a soak's cycle."""

from __future__ import annotations

from typing import Literal, get_args

#: Kinds of failure, in the order of the stages of a cycle.
#: no-power: the supply does not switch, or nothing shows that it did.
#: flash-failed: the image could not be written to the card, or is read back otherwise.
#: no-boot: the board got power and did not boot in time.
#: reboot-failed: it did not reboot by the means of the soak in time; its power was cut.
#: no-probe: it booted, and the probe did not start.
#: run-failed: the workload failed, or its recording cannot be trusted; the board still answered.
#: job-failed: the command that was run ended with a status other than 0, or by a signal.
#: timed-out: the run exceeded its time limit; the board still answered.
#: program-crashed: a program crashed; the board still answered.
#: hung: it booted, and stopped answering. crashed: its kernel crashed.
#: console-cut: all went well, but the console's log is incomplete.
FailureKind = Literal[
    "no-power",
    "flash-failed",
    "no-boot",
    "reboot-failed",
    "no-probe",
    "run-failed",
    "job-failed",
    "timed-out",
    "program-crashed",
    "hung",
    "crashed",
    "console-cut",
]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
#: The board came up and then died, or a program on it did.
CRASHES: tuple[FailureKind, ...] = ("program-crashed", "hung", "crashed")
