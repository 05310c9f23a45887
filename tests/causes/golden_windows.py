"""Golden windows: recorded on boards, cut into pieces, read through, and kept.

`python golden_windows.py RECORDING NAME` makes golden/NAME from a recording. Of one that is no
virtual board's (a NAME with "guest") only windows are taken in which no thread ran but whylate's
own, the kernel's and Python's: what else runs on that machine is nobody's business.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Window
from whylate.recording.recorder.windows import read_windows, windows_writer

FOLDER = Path(__file__).parent / "golden"
#: Names of threads that may be shown; empty in events that have none.
OURS = re.compile(
    r"(|\?|swapper.*|whylate.*|wl-.*|kworker.*|ksoftirqd.*|ktimers.*|migration.*|rcu.*|khugepaged"
    r"|kcompactd.*|kswapd.*|python3?|rt_task|irqs_off|preempt_off|slow_irq|init|sh)"
)
SWITCH = "switch"
MOST = 24


def told(windows: Iterable[Window]) -> str:
    """Return a line for each window: its pieces, and what they sum to."""
    lines = []
    for window in windows:
        pieces = [
            f"{piece.cause.value} [{piece.detail}] {piece.length_ns}"
            for piece in cut_window(window)
        ]
        where = f"cpu {window.cpu} activation {window.activation} {window.reason}"
        lines.append(f"{where} {window.latency_ns} = {' + '.join(pieces)}\n")
    return "".join(lines)


def main() -> None:
    """Make a golden recording."""
    source, target = Path(sys.argv[1]), FOLDER / sys.argv[2]
    target.mkdir(parents=True)
    with windows_writer(target) as writer:
        for window in read_windows(source):
            names = {event.name for event in window.events if event.kind.value == SWITCH}
            shown = "guest" not in target.name or all(OURS.fullmatch(name) for name in names)
            if writer.count < MOST and shown:
                writer.add(window, ())
    (target / "pieces.txt").write_text(told(read_windows(target)))


if __name__ == "__main__":
    main()
