"""Hits of a run: the commands that have functions and tracepoints counted."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence

from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.hits import counted, parse_fact_line
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.wire.constants import LONGEST_HIT, MOST_HITS
from whylate.wire.messages import Hits, HitsEnd, HitSource, Message

#: A kprobe is made on each CPU of a board that may be slow, and its symbols are searched.
START_S = 60.0
_COUNTED = re.compile(r"[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?", re.ASCII)


def check_hits(names: Sequence[str]) -> None:
    """Raise RequestError for a hit that no board has, for too many, or one that is named twice."""
    for name in names:
        if parse_fact_line(name) is None and (
            _COUNTED.fullmatch(name) is None or len(name) > LONGEST_HIT or name.startswith("facts:")
        ):
            raise RequestError(
                f"--hits {name[:60]!r}: write a function (do_nanosleep), a tracepoint "
                "(sched:sched_switch) or a line of the facts ('facts:NAME contains TEXT')"
            )
    if len(set(names)) < len(names):
        raise RequestError("--hits names something twice")
    if len(counted(names)) > MOST_HITS:
        raise RequestError(f"--hits counts up to {MOST_HITS} functions and tracepoints")


def hits_command(plan: RunPlan) -> Hits | None:
    """Return the command that has the hits of a resolved plan counted; None where none are."""
    names = counted(plan.hits)
    return Hits(tuple(names), tuple(plan.measured_cpus)) if names else None


def start_hits(client: Client, plan: RunPlan) -> None:
    """Have hits counted; raises ProbeRefusedError where something cannot be counted."""
    command = hits_command(plan)
    if command is not None:
        refuse_uncounted(client.call(command, START_S))


def end_hits(client: Client, plan: RunPlan) -> None:
    """Have the probe send what it counted; raises ProbeError."""
    if counted(plan.hits):
        client.call(HitsEnd())


def refuse_uncounted(answers: Iterable[Message]) -> None:
    """Raise ProbeRefusedError where something cannot be counted.

    What the kernel does not have is counted as never hit: a kernel without the changed code is
    one side of many a comparison.
    """
    for answer in answers:
        if isinstance(answer, HitSource) and answer.error not in (0, errno.ENOENT):
            raise ProbeRefusedError(f"--hits: {answer.text}", answer.error)
