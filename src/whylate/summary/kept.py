"""The longest executions of a section, where all that took longer than a limit are kept.

The sample is drawn before an execution begins, so that percentiles, shares and classes are of it
alone: rows that are kept for their duration would make each of them longer. They are shown, and
counted, here.
"""

from __future__ import annotations

from collections.abc import Mapping

from whylate.recording.manifest import Manifest
from whylate.recording.store.executions import ExecutionFile
from whylate.summary.model import KeptFigures, LongExecution

MOST = 20


def kept_figures(
    manifest: Manifest,
    executions: ExecutionFile | None,
    limit_ns: int | None,
    parts: Mapping[str, str],
) -> KeptFigures | None:
    """Return the longest executions of those that are kept; None where no limit was given.

    parts: names of the columns of parts that were observed, and of their classes. Raises
    RecordingError.
    """
    if executions is None or limit_ns is None:
        return None
    longest, is_drawn, apart = executions.longest(MOST)
    rows = [
        LongExecution(
            duration_ns=int(longest.duration_ns[row]),
            began_ns=int(longest.began_ns[row]) - manifest.start_ns,
            cpu=int(longest.cpu[row]),
            number=int(longest.number[row]),
            pid=int(longest.pid[row]),
            parts={name: int(longest.part(column)[row]) for column, name in parts.items()},
            is_drawn=bool(is_drawn[row]),
        )
        for row in range(longest.duration_ns.size)
    ]
    return KeptFigures(limit_ns, apart, sum(account.dropped for account in manifest.cpus), rows)
