"""The three messages of a block of a program's wakeups, put together again.

`samples`, `sample_stages` and `sample_threads` of the same activations follow each other. A block
tells nothing without its threads: only they say when its activations were due. One whose threads
were lost on the way is left out, and is missing in the account.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.wire.app_samples import Threads, decode_app_samples, decode_threads
from whylate.wire.blocks import INT64_MAX
from whylate.wire.codec import WireError
from whylate.wire.events import decode_stages
from whylate.wire.messages import Samples, SampleStages, SampleThreads
from whylate.wire.samples import Rows


@dataclass(frozen=True)
class Block:
    """Activations of one CPU. stages: None where they were lost on the way."""

    rows: Rows
    stages: NDArray[np.int64] | None
    threads: Threads


@dataclass
class _Waiting:
    samples: Samples
    rows: Rows
    stages: NDArray[np.int64] | None = None


class AppBlocks:
    """Takes the messages in order; keeps one block of each CPU that is known to be watched."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}

    def samples(self, message: Samples) -> None:
        """Take the first of the three; raises WireError."""
        self._waiting.pop(message.cpu, None)
        self._waiting[message.cpu] = _Waiting(message, decode_app_samples(message))

    def stages(self, message: SampleStages) -> None:
        """Take the second; raises WireError where it belongs to no block."""
        self._of(message, "stages").stages = decode_stages(message)

    def threads(self, message: SampleThreads, start_ns: int) -> Block:
        """Take the last and return the block; raises WireError. start_ns: of the CPU."""
        waiting = self._of(message, "threads")
        threads = decode_threads(message, start_ns)
        if (waiting.rows.latency_ns > INT64_MAX - threads.due_ns).any():
            raise WireError("an activation that ran at no possible time")
        del self._waiting[message.cpu]
        return Block(waiting.rows, waiting.stages, threads)

    def _of(self, message: SampleStages | SampleThreads, what: str) -> _Waiting:
        waiting = self._waiting.get(message.cpu)
        samples = waiting.samples if waiting is not None else None
        if (
            waiting is None
            or samples is None
            or (samples.first, samples.count) != (message.first, message.count)
        ):
            raise WireError(f"{what} of no block of samples")
        return waiting
