"""The previous run of the same plan on the same board, for comparison with one in progress."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.manifest import Manifest
from whylate.recording.plan import RunPlan
from whylate.recording.reader import Recording, read_manifest
from whylate.recording.store.samples_reader import MEMORY_ROWS
from whylate.watch.distribution import Distribution

#: Runs that are looked at.
_MOST_RUNS = 20
#: A longer run is not read beside a measurement: it would take seconds, and a temporary file.
MOST_ROWS = MEMORY_ROWS
#: The parts of a run whose distributions are kept: it is compared up to the same time.
_SLICES = 120


@dataclass(frozen=True)
class Previous:
    """A run. slices: its parts in order, slice_s seconds each; one where they have no schedule."""

    created: str
    slices: Sequence[Distribution]
    slice_s: float | None

    def until(self, elapsed_s: float) -> tuple[Distribution, str]:
        """Return the latencies of the run up to a time, and of what part of it they are."""
        total = Distribution()
        if self.slice_s is None:
            total.merge(self.slices[0])
            return total, f"the whole run of {self.created}"
        count = min(len(self.slices), int(elapsed_s / self.slice_s))
        for part in self.slices[:count]:
            total.merge(part)
        part_s = count * self.slice_s
        which = "all" if count == len(self.slices) else "the first"
        return total, f"{which} {part_s:.1f} s of the run of {self.created}"


def find_previous(plan: RunPlan, recordings: Sequence[str], present: str) -> Previous | str:
    """Return the latest run of the same plan, or why there is none.

    recordings: of the board, the latest last. Durations, seeds and phases may differ.
    """
    key = _key(plan)
    for name in reversed(recordings[-_MOST_RUNS:]):
        directory = Path(name)
        if name == present:
            continue
        try:
            manifest = read_manifest(directory)
        except RecordingError:
            continue
        if _key(manifest.plan) == key:
            return _read(directory, manifest)
    return "no former run of this plan on this board"


def _key(plan: RunPlan) -> bytes:
    """Return what two runs must share to be compared."""
    workload = msgspec.to_builtins(plan.workload)
    for field in ("duration_ns", "phase_ns"):
        workload.pop(field, None)
    # Of the recorder, what is chosen by the duration and by chance.
    for field in ("detach", "control_every", "tail_ppm"):
        (workload.get("recorder") or {}).pop(field, None)
    rest = msgspec.to_builtins(msgspec.structs.replace(plan, seed=0, host_cpus=None))
    return msgspec.json.encode({**rest, "workload": workload}, order="sorted")


def _read(directory: Path, manifest: Manifest) -> Previous | str:
    created = re.sub(r"\.\d+", "", manifest.created)
    if manifest.plan.activations is None:
        return "benchmarks are compared once they are complete"
    rows = sum(cpu.seen + cpu.overrun for cpu in manifest.cpus)
    if not 0 < rows <= MOST_ROWS:
        why = "is too long to be read beside another" if rows else "has no activations"
        return f"the run of {created} {why}"
    try:
        series = Recording(directory, manifest).series
        if not manifest.plan.is_scheduled:
            whole = Distribution()
            for cpu in series:
                for latency_ns, overrun in cpu.chunks():
                    whole.add(latency_ns, overrun)
            return Previous(created, [whole], None)
        interval_ns = manifest.plan.activations.interval_ns
        most = max(cpu.size for cpu in series)
        step = max(1, -(-most // _SLICES))
        slices = [Distribution() for _ in range(-(-most // step))]
        for cpu in series:
            for number, part in enumerate(slices):
                end = min((number + 1) * step, cpu.size)
                for latency_ns, overrun in cpu.chunks(min(number * step, end), end):
                    part.add(latency_ns, overrun)
    except (RecordingError, LackingError, OSError, ValueError):
        return f"the run of {created} cannot be read"
    return Previous(created, slices, step * interval_ns / 1e9)
