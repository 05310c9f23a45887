"""The workload `app`: the wakeups of a program's threads."""

from __future__ import annotations

import shlex

import msgspec

from whylate.recording.bounds import Small
from whylate.recording.workloads.activations import ActivationWorkload
from whylate.text import plain


class _Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="by"):
    """Which threads are watched: a target overrides what it has by a field of that name."""

    @property
    def comm(self) -> str | None:
        """The name of the threads."""
        return None

    @property
    def pid(self) -> int | None:
        """The process."""
        return None

    @property
    def argv(self) -> list[str] | None:
        """The command."""
        return None

    @property
    def description(self) -> str:
        """Which program it is: "threads named jackd", "process 312", "./control --fast"."""
        if self.comm is not None:
            return f"threads named {plain(self.comm, 40)}"
        if self.pid is not None:
            return f"process {self.pid}"
        return plain(shlex.join(self.argv or ["?"]), 80)


class CommTarget(_Target, frozen=True, tag="comm"):
    """All threads of this name."""

    comm: str


class PidTarget(_Target, frozen=True, tag="pid"):
    """The threads of this process."""

    pid: Small


class CommandTarget(_Target, frozen=True, tag="command"):
    """The threads of a program that is started for the run."""

    argv: list[str]


Target = CommTarget | PidTarget | CommandTarget


class App(ActivationWorkload, frozen=True, kw_only=True, tag="app"):
    """The wakeups of a program's threads; its own code decides when they are."""

    target: Target
