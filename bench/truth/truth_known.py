"""What is true of a run, from the log of its causes and from its samples alone.

Nothing here looks at what was recorded round an activation, or at what `explain` makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.lab.faults.log import Event, FaultLog
from whylate.recording.samples import CpuSamples

#: What lies between the acts of one burst is the burst's as well.
TOGETHER_NS = 2_000

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Acts:
    """When a cause acted on a CPU: stretches [start, end) in order that do not overlap."""

    start_ns: Int64s
    end_ns: Int64s

    @classmethod
    def of(cls, events: Sequence[Event], cpu: int, together_ns: int = 0) -> Acts:
        """Return those of a log; what overlaps, or is no further apart, is one stretch."""
        own = [event for event in events if event.cpu == cpu]
        start_ns = [event.start_ns for event in own]
        end_ns = [event.start_ns + event.length_ns for event in own]
        return cls._joined(start_ns, end_ns, together_ns)

    @classmethod
    def _joined(cls, start_ns: Sequence[int], end_ns: Sequence[int], together_ns: int) -> Acts:
        found: list[list[int]] = []
        for start, end in sorted(zip(start_ns, end_ns, strict=True)):
            if found and start <= found[-1][1] + together_ns:
                found[-1][1] = max(found[-1][1], end)
            else:
                found.append([start, end])
        both = np.array(found, np.int64).reshape(-1, 2)
        return cls(both[:, 0], both[:, 1])

    def either(self, other: Acts) -> Acts:
        """Return when one of both acted."""
        start_ns = [*self.start_ns.tolist(), *other.start_ns.tolist()]
        return self._joined(start_ns, [*self.end_ns.tolist(), *other.end_ns.tolist()], 0)

    def within(self, start_ns: Int64s, end_ns: Int64s) -> Int64s:
        """Return for how long it acted in each of [start, end); int64 ns, shape (n,)."""
        return self._until(np.maximum(end_ns, start_ns)) - self._until(start_ns)

    def _until(self, time_ns: Int64s) -> Int64s:
        """Return for how long it had acted up to a time."""
        length = self.end_ns - self.start_ns
        before = np.concatenate([[0], np.cumsum(length)])
        index = np.searchsorted(self.start_ns, time_ns, side="right")
        open_ns = np.zeros_like(time_ns)
        begun = index > 0
        last = index[begun] - 1
        open_ns[begun] = np.minimum(time_ns[begun] - self.start_ns[last], length[last])
        return np.where(begun, before[np.maximum(index - 1, 0)], 0) + open_ns


@dataclass(frozen=True)
class Known:
    """The truth of one cause in one run.

    share: Σ_late (acted − control acted) / Σ_late (latency − control latency), the control
    ones being the means over all activations that were seen and were not late. mean_ns: the
    numerator for each late one. acted_ns: in the window of each late activation.
    """

    share: float
    mean_ns: float
    acted_ns: dict[int, int]


def late_rows(samples: CpuSamples, threshold_ns: int) -> NDArray[np.bool_]:
    """Return which activations were late; as whylate.causes.answer has it."""
    return (samples.latency_ns > threshold_ns) & ~samples.overrun


def acted_in(log: FaultLog, samples: CpuSamples, threshold_ns: int) -> int:
    """Return in how many late activations a cause acted: without any there is nothing to find."""
    acts = Acts.of(log.events, samples.cpu)
    due = samples.due_ns
    acted = acts.within(due, due + np.maximum(samples.latency_ns, 0))
    return int((late_rows(samples, threshold_ns) & (acted > 0)).sum())


def known(log: FaultLog, samples: CpuSamples, threshold_ns: int) -> Known:
    """Return what a cause really had of the tail of a CPU; raises ValueError without a tail.

    Once a log is full it tells nothing more: what ran after that is left out.
    """
    acts = Acts.of(log.events, samples.cpu, TOGETHER_NS)
    taken = Acts.of(log.taken, samples.cpu)
    told = np.ones(len(samples.due_ns), np.bool_)
    if log.dropped and log.events:
        told = samples.due_ns + samples.latency_ns < log.events[-1].start_ns
    late = late_rows(samples, threshold_ns) & told
    control = ~late & ~samples.overrun & told
    if not late.any():
        raise ValueError("no activation was late")
    due = samples.due_ns
    run = due + np.maximum(samples.latency_ns, 0)
    # What others took beyond the acts, as while they had the CPU, is no part of them.
    acted = acts.either(taken).within(due, run) - taken.within(due, run)
    usual = acted[control].mean() if control.any() else 0.0
    usual_latency = samples.latency_ns[control].mean() if control.any() else 0.0
    excess = float((samples.latency_ns[late] - usual_latency).sum())
    its = float((acted[late] - usual).sum())
    return Known(
        share=its / excess,
        mean_ns=its / int(late.sum()),
        acted_ns=dict(zip(samples.activation[late].tolist(), acted[late].tolist(), strict=True)),
    )
