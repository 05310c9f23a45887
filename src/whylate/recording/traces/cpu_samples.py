"""Samples of what CPUs run, with call paths, from the text of perf script.

`perf record -e cpu-clock -F 997 -a -g` takes a sample of each CPU at equal times, whatever it runs
then: the part of the samples within a function is the part of CPU time. Those of the idle thread
count as time of the CPU, too. Without -e perf samples cycles where the CPU can count them: an idle
CPU has none, and a fast one more. Samples of programs or of the kernel alone (cpu-clock:u) leave
out the rest of the time.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.traces.lines import Lines
from whylate.text import shown

#: More samples, and more threads or paths, than anybody looks at.
MOST_SAMPLES = 20_000_000
_MOST_NAMES = 10_000
_MOST_CALLERS = 6
_LONGEST_NAME = 120
_SAMPLE = re.compile(
    rb"^ *([^ \t].{0,63}?) +(?:\d{1,10}/)?(-?\d{1,10}) +\[(\d{1,5})\] +(\d{1,9})\.(\d{6}|\d{9}): "
)
_EVENT = re.compile(rb" *(?:\d{1,20} +)?(\S{0,64})")
#: Its modifiers: how precise, and of a guest or the host; perf adds some by itself.
_AT_EQUAL_TIMES = re.compile(rb"cpu-clock(?::[pPGH]{0,8})?:?$")
_RECORD = "perf record -e cpu-clock -F 997 -a -g"
_FRAME = re.compile(rb"^\s+[0-9a-f]{1,16} (.{1,400}?)(?:\+0x[0-9a-f]+)? \(")

Path = tuple[str, ...]


@dataclass(frozen=True)
class CpuSamples:
    """Samples of all CPUs, and which of them are within a function.

    time_ns, cpu: int64, inside: bool, shape (samples,). by_thread, by_path: of those inside, how
    many of each thread's name, and of each call path, the caller first. without_path: samples
    that have no frame. unread: lines that were not understood.
    """

    time_ns: NDArray[np.int64]
    cpu: NDArray[np.int64]
    inside: NDArray[np.bool_]
    by_thread: dict[str, int]
    by_path: dict[Path, int]
    without_path: int
    unread: int

    @property
    def cpus(self) -> int:
        """How many CPUs have samples."""
        return len(np.unique(self.cpu))


@dataclass
class _Reader:
    source: str
    function: str
    comm: str | None
    time_ns: array[int] = field(default_factory=lambda: array("q"))
    cpu: array[int] = field(default_factory=lambda: array("q"))
    inside: array[int] = field(default_factory=lambda: array("b"))
    by_thread: Counter[str] = field(default_factory=Counter)
    by_path: Counter[Path] = field(default_factory=Counter)
    without_path: int = 0
    unread: int = 0
    _thread: str = ""
    _frames: list[str] = field(default_factory=list)
    _open: bool = False

    def feed(self, line: bytes) -> None:
        """Read a line: the head of a sample, a frame of it, or its end."""
        if not line.strip():
            self.end()
        elif (head := _SAMPLE.match(line)) is not None:
            self.end()
            name, _, cpu, seconds, fraction = head.groups()
            self._thread = shown(name.decode("utf-8", "replace"), 16)
            if self.comm is not None and self._thread != self.comm:
                return
            self._check_event(line[head.end() :])
            if len(self.cpu) >= MOST_SAMPLES:
                raise RecordingError(f"more than {MOST_SAMPLES:,} samples: give a shorter part")
            self._open = True
            self.time_ns.append(int(seconds) * 10**9 + int(fraction.ljust(9, b"0")))
            self.cpu.append(int(cpu))
        elif (frame := _FRAME.match(line)) is not None:
            self._frames.append(shown(frame[1].decode("utf-8", "replace"), _LONGEST_NAME))
        elif not line.startswith(b"#"):
            self.unread += 1

    def _check_event(self, rest: bytes) -> None:
        """Raise RecordingError for a sample of an event that does not come at equal times."""
        event = _EVENT.match(rest)
        name = event[1] if event is not None else b""
        if not _AT_EQUAL_TIMES.match(name):
            what = shown(name.decode("utf-8", "replace").rstrip(":"), 40) or "an unnamed event"
            raise RecordingError(
                f"{self.source} has samples of {what}, which do not show shares of time: record "
                f"them with `{_RECORD}`"
            )

    def end(self) -> None:
        """Count the sample that was read."""
        if self._open:
            inside = self.function in self._frames
            self.inside.append(inside)
            self.without_path += not self._frames
            if inside:
                _count(self.by_thread, self._thread)
                # The outermost: what is above it is its own callers.
                last = len(self._frames) - 1 - self._frames[::-1].index(self.function)
                _count(self.by_path, tuple(self._frames[last + 1 : last + 1 + _MOST_CALLERS]))
        self._open = False
        self._frames = []


def _count(counts: Counter[str] | Counter[Path], name: object) -> None:
    if name in counts or len(counts) < _MOST_NAMES:
        counts[name] += 1  # type: ignore[index]


def read_cpu_samples(
    stream: BinaryIO, name: str, function: str, comm: str | None = None
) -> CpuSamples:
    """Read samples to their end; function: as perf shows it. comm: of threads of that name alone.

    Raises RecordingError for what has no samples, or has those of another event than cpu-clock.
    """
    reader = _Reader(name, function, comm)
    for line in Lines(stream, name):
        reader.feed(line)
    reader.end()
    if not reader.cpu:
        of = "" if comm is None else f" of a thread {comm[:16]!r}"
        raise RecordingError(
            f"{name} has no samples{of}: give the text of `perf script --ns` after `{_RECORD}`"
        )
    return CpuSamples(
        np.array(reader.time_ns, np.int64),
        np.array(reader.cpu, np.int64),
        np.array(reader.inside, bool),
        dict(reader.by_thread),
        dict(reader.by_path),
        reader.without_path,
        reader.unread,
    )
