"""Running the workload `app`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads.app import App, CommandTarget, CommTarget, PidTarget
from whylate.run.errors import RequestError
from whylate.run.workloads.rules import ActivationRules, check_words
from whylate.wire import messages
from whylate.wire.constants import HIGHEST_PID, LONGEST_COMM

#: A command travels in one message.
MAX_COMMAND_BYTES = 3000


class AppRules(ActivationRules):
    """The wakeups of a program's threads."""

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for a program that no board can watch."""
        workload: Any = plan.workload
        target = workload.target
        if workload.recorder is None:
            raise RequestError("a program is measured by the recorder: not with --no-recorder")
        if plan.virtual_time and isinstance(target, PidTarget):
            raise RequestError(
                "--pid names a running program, and in virtual time the board boots first: use "
                "--comm NAME or -- COMMAND"
            )
        if isinstance(target, CommTarget):
            check_comm(target.comm)
        elif isinstance(target, PidTarget):
            check_pid(target.pid)
        else:
            if not target.argv or not target.argv[0]:
                raise RequestError("write the command to watch behind --")
            check_words(target.argv, MAX_COMMAND_BYTES)
        super().check(plan)

    def start(self, workload: App, cpus: Sequence[int]) -> messages.App:
        """Return the command that starts it."""
        del cpus
        return messages.App(
            duration_ns=workload.duration_ns,
            spool=int(workload.spool),
            pid=workload.target.pid or 0,
            comm=workload.target.comm or "",
            argv=tuple(workload.target.argv or ()),
        )

    def with_variables(self, workload: App, variables: Sequence[str]) -> App | None:
        """Give NAME=VALUE to the program if it is started for the run."""
        if not isinstance(workload.target, CommandTarget):
            return None
        argv = ["env", *variables, *workload.target.argv]
        return msgspec.structs.replace(workload, target=CommandTarget(argv))


def check_pid(pid: int) -> None:
    """Raise RequestError for what is no process's number."""
    if not 1 <= pid <= HIGHEST_PID:
        raise RequestError(f"--pid must lie between 1 and {HIGHEST_PID}")


def check_comm(comm: str) -> None:
    """Raise RequestError for what is no thread's name."""
    name = comm.encode(errors="surrogateescape")
    if not comm or not comm.isprintable():
        raise RequestError("--comm is the name of a thread, as ps -L -o comm shows it")
    if len(name) > LONGEST_COMM:
        raise RequestError(
            f"--comm {comm}: the kernel keeps {LONGEST_COMM} bytes of a thread's name, use "
            f"--comm '{name[:LONGEST_COMM].decode(errors='ignore')}'"
        )
