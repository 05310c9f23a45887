"""Real traces (data/; record.sh and record-board.sh made them), followed to their activations."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from whylate.causes.traces.trace_pieces import cut_activation
from whylate.causes.window.piece import Piece
from whylate.recording.activation import Activation
from whylate.recording.events import Reason
from whylate.recording.traces.cutout import CutOut
from whylate.recording.traces.read import TraceRead, read_trace
from whylate.recording.traces.watch import Watch

DATA = Path(__file__).parent / "data"
CYCLICTEST = Watch(names=frozenset({b"cyclictest"}))
EVERYBODY = Watch(all_threads=True, tracers=True)
#: Traces of events; the others are those of latency tracers.
OF_EVENTS = sorted(path.name for path in DATA.glob("*.txt")
                   if "wakeup_rt" not in path.name and path.name != "hog.txt")  # fmt: skip


@dataclass(frozen=True)
class AddActivation:
    """An activation with its pieces, and what was cut out."""

    activation: Activation
    pieces: tuple[Piece, ...]
    cut: CutOut

    def spent(self, cause: str, detail: str = "") -> int:
        """Return ns in a cause."""
        return sum(piece.length_ns for piece in self.pieces
                   if piece.cause.value == cause and detail in piece.detail)  # fmt: skip


def lines_of(name: str) -> list[bytes]:
    return (DATA / name).read_bytes().splitlines()


def follow(
    trace: str | Iterable[bytes], watch: Watch | None = EVERYBODY
) -> tuple[TraceRead, list[AddActivation]]:
    """Read a trace of data/, or lines, and account for every activation of it."""
    raw = (DATA / trace).read_bytes() if isinstance(trace, str) else b"\n".join(trace) + b"\n"
    found: list[AddActivation] = []

    def take(activation: Activation, cut: Callable[[Reason, int], CutOut]) -> None:
        out = cut("tail", len(found))
        found.append(AddActivation(activation, cut_activation(activation, out), out))

    return read_trace(io.BytesIO(raw), "trace.txt", watch, take), found
