"""switches.txt: the traces of switches of a benchmark's turns, as the text of ftrace.

Each turn begins with a line `# turn N`. The other lines are events of sched:sched_switch and
tlb:tlb_flush, as the board's kernel wrote them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from whylate.files import read_bounded, write_whole
from whylate.recording.errors import LackingError, RecordingError
from whylate.wire.constants import MOST_TRACE_BYTES

NAME = "switches.txt"
_TURN = re.compile(rb"# turn (\d{1,9})")


def write_switch_traces(directory: Path, traces: Mapping[int, bytes]) -> None:
    """Write switches.txt whole or not at all; raises OSError. traces: of each turn its lines."""
    text = b"".join(b"# turn %d\n%s" % (turn, lines) for turn, lines in sorted(traces.items()))
    write_whole(directory / NAME, text)


def read_switch_traces(directory: Path, turns: int) -> dict[int, bytes]:
    """Return the lines of each turn of a run of so many turns.

    Raises RecordingError where the file is damaged, LackingError where there is none.
    """
    path = directory / NAME
    try:
        text = read_bounded(path, turns * (MOST_TRACE_BYTES + 64))
    except FileNotFoundError:
        raise LackingError(
            f"{directory} has no trace of switches: whylate bench switch --record keeps it"
        ) from None
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be read: {error.strerror or os.strerror(error.errno or 0)}"
        ) from None
    traces: dict[int, list[bytes]] = {}
    lines: list[bytes] | None = None
    for line in text.split(b"\n")[:-1]:
        heading = _TURN.fullmatch(line)
        if heading is not None:
            turn = int(heading[1])
            if turn >= turns or turn in traces:
                raise RecordingError(f"{path} has a turn that was not planned, or comes twice")
            lines = traces[turn] = []
        elif lines is None:
            raise RecordingError(f"{path} does not begin with a turn")
        else:
            lines.append(line + b"\n")
    return {turn: b"".join(part) for turn, part in traces.items()}
