"""A run in progress, read from the journal that its process appends to."""

from __future__ import annotations

import contextlib
import os
import time
from fractions import Fraction
from pathlib import Path

import msgspec

from whylate.recording.device_loads import written_kind
from whylate.recording.manifest import Fact
from whylate.recording.store.journal import MAX_RECORD, NAME, OPENING, Opening
from whylate.recording.workloads.benchmarks.registry import ROWS
from whylate.run.tally import Tally
from whylate.text import plain
from whylate.watch.distribution import Distribution
from whylate.watch.followed import opened_regular
from whylate.watch.model import Quantile, RunView
from whylate.watch.previous import Previous, find_previous
from whylate.wire.codec import WireError
from whylate.wire.frame_batches import FrameBatchDecoder
from whylate.wire.messages import (
    MESSAGES,
    CpuStarted,
    Executions,
    LoadStarted,
    LoadWork,
    Progress,
    Samples,
)

#: A refresh must not take longer, however large the journal is.
MOST_S = 0.5
_PIECE = 256 << 10
_WANTED_MESSAGES = (CpuStarted, Samples, Executions, LoadStarted, LoadWork, Progress, *ROWS)
_WANTED = frozenset(
    {OPENING, *(kind for kind, message in MESSAGES.items() if message in _WANTED_MESSAGES)}
)
_PERCENTILES = {
    "p50": Fraction(1, 2),
    "p99": Fraction(99, 100),
    "p99.9": Fraction(999, 1000),
}


class RunSoFar:
    """Follows the journal of one run. It takes no lock, and never recovers or changes anything."""

    def __init__(self, recording: Path) -> None:
        self.recording = recording
        self._decoder = FrameBatchDecoder(MAX_RECORD, _WANTED)
        self._read = 0
        self._opening: Opening | None = None
        self._tally: Tally | None = None
        self._latencies = Distribution()
        self._previous: Previous | str | None = None

    @property
    def facts(self) -> list[Fact]:
        """What the board's facts were when the run began."""
        return self._opening.facts if self._opening is not None else []

    def poll(self, recordings: list[str]) -> RunView | None:
        """Read what was measured since the last call; None before the run has a journal.

        recordings: former ones of the board, the latest last.
        """
        unread = 0.0
        # A journal that was removed must not keep its place on the disk: it is not kept open.
        with contextlib.suppress(OSError), opened_regular(self.recording / NAME) as fd:
            unread = self._follow(fd)
        if self._opening is None or self._tally is None:
            return None
        if self._previous is None:
            self._previous = find_previous(self._opening.plan, recordings, str(self.recording))
        return self._view(self._opening, self._tally, unread)

    def _follow(self, fd: int) -> float:
        """Read for MOST_S at most; return the part of the journal that is left, 0 to 1."""
        deadline = time.monotonic() + MOST_S
        while data := os.pread(fd, _PIECE, self._read):
            self._read += len(data)
            batch = self._decoder.feed(data)
            for index in range(len(batch)):
                frame = batch.frame(index)
                self._add(frame.kind, frame.payload)
            if time.monotonic() > deadline:
                break
        size = os.fstat(fd).st_size
        return max(0.0, 1 - self._read / size) if size else 0.0

    def _add(self, kind: int, payload: bytes) -> None:
        try:
            if kind == OPENING:
                if self._opening is None:
                    self._opening = msgspec.json.decode(payload, type=Opening)
                    self._tally = Tally(self._opening.plan, on_latencies=self._latencies.add)
            elif self._tally is not None and kind in MESSAGES:
                self._tally.add(MESSAGES[kind].unpack(payload))
        except (WireError, msgspec.ValidationError, msgspec.DecodeError):
            # The recording counts it when it is complete.
            return

    def _view(self, opening: Opening, tally: Tally, unread: float) -> RunView:
        plan = opening.plan
        elapsed_s = tally.board_elapsed_s
        figures, before = self._figures(elapsed_s) if plan.activations is not None else ([], "")
        return RunView(
            recording=plain(str(self.recording), 400),
            workload=plain(plan.workload.kind, 40),
            loads=[plain(f"{written_kind(load.kind)}:{load.count}", 80) for load in plan.loads],
            elapsed_s=elapsed_s,
            planned_s=plan.activations.duration_ns / 1e9 if plan.activations is not None else None,
            seen=tally.seen,
            overruns=tally.overruns,
            repetitions=tally.repetitions,
            unread=unread,
            figures=figures,
            before=before,
        )

    def _figures(self, elapsed_s: float) -> tuple[list[Quantile], str]:
        """Return the figures so far beside those of the previous run, and what those are of."""
        former = Distribution()
        before = "the previous run has not been looked for"
        if isinstance(self._previous, Previous):
            former, before = self._previous.until(elapsed_s)
        elif self._previous is not None:
            before = self._previous
        now = self._latencies
        pairs = {
            name: (now.percentile(share), former.percentile(share))
            for name, share in _PERCENTILES.items()
        }
        pairs["max"] = (now.max_ns, former.max_ns)
        figures = [
            Quantile(
                name, now_ns, before_ns, now.is_at_least(now_ns), former.is_at_least(before_ns)
            )
            for name, (now_ns, before_ns) in pairs.items()
        ]
        return figures, plain(before, 200)
