"""Making the runs of the plan, one after the other, and keeping their recordings.

A recording is kept under what it was made with: the probe, the lab, and what writes recordings.
Explaining it is not part of that, so that another accounting is tried without another run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
from truth_case import Case, Rig, disguise_of, request_of

from whylate import recording
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.lab.description import FILES, virtual_board
from whylate.lab.faults.catalogue import REMEDIES, SHARED, fault
from whylate.probe.binaries import probe_binary
from whylate.recording.errors import RecordingError
from whylate.recording.reader import Recording, open_recording
from whylate.run.progress import Quiet
from whylate.run.several import Job, carry_out

#: What turns the probe's words into a recording.
_WRITERS = (
    "events.py",
    "recorder/raw_events.py",
    "recorder/windows.py",
    "recorder/assembler.py",
)
_INCLUDE = re.compile(r'^#include "([a-z_]+\.h)"', re.MULTILINE)
LATE_QUANTILE = 0.999


class RunFailedError(Exception):
    """A run of the plan that could not be made, and why."""


def store() -> Path:
    """Return where recordings are kept."""
    named = os.environ.get("WHYLATE_TRUTH")
    base = os.environ.get("XDG_CACHE_HOME")
    cached = Path(base) if base else Path.home() / ".cache"
    return Path(named) if named else cached / "whylate" / "truth"


@cache
def made_with(board: str, causes: tuple[str, ...]) -> str:
    """Return a short hash of all that a recording depends on, but for its own parameters.

    What a cause is told, the request has; what the right answer is, the marking asks.
    """
    machine = virtual_board(board)
    inputs = hashlib.sha256(probe_binary(machine.description.arch).sha256.encode())
    places = [FILES / "boards" / f"{machine.machine}.toml", *sorted((FILES / "image").iterdir())]
    places += sorted({path for name in causes for path in _sources(fault(name).source_file)})
    places += [Path(recording.__file__).parent / name for name in _WRITERS]
    for path in places:
        inputs.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return inputs.hexdigest()[:12]


def _sources(path: Path) -> set[Path]:
    """Return a source of a cause and all that it includes, of the lab and of the remedies."""
    found = {path}
    for name in _INCLUDE.findall(path.read_text()):
        shared = SHARED / name
        found |= _sources(shared if shared.exists() else REMEDIES / name)
    return found


def recording_path(case: Case) -> Path:
    """Return the directory of a case's recording."""
    asked = repr(request_of(case, clean_ns(case.rig) if case.causes else 0))
    key = hashlib.sha256(asked.encode()).hexdigest()[:8]
    return store() / f"{case.name}-{made_with(case.rig.board, case.causes)}-{key}"


def is_made(case: Case) -> bool:
    """Whether a case has its recording."""
    if case.causes and not is_made(reference(case.rig)):
        return False
    return (recording_path(case) / "manifest.json").exists()


def reference(rig: Rig) -> Case:
    """Return the clean run that the sizes and the threshold of a rig's cases come from."""
    return Case(rig, (), 0, seed=1, reference=True)


def clean_ns(rig: Rig) -> int:
    """Return p99.9 of a rig without a cause; its reference must be made."""
    return _clean_ns(recording_path(reference(rig)))


@cache
def _clean_ns(place: Path) -> int:
    (samples,) = open_recording(place).samples
    return int(np.quantile(samples.latency_ns, LATE_QUANTILE, method="higher"))


def make(case: Case) -> Recording:
    """Make a case's run, or open what was kept of it; raises RunFailedError."""
    if case.causes:
        make(reference(case.rig))
    place = recording_path(case)
    if not (place / "manifest.json").exists():
        _run(case, place)
    return open_made(case)


def open_made(case: Case) -> Recording:
    """Open the recording of a case that was made; raises RunFailedError."""
    try:
        return open_recording(recording_path(case))
    except RecordingError as error:
        raise RunFailedError(str(error)) from None


def _run(case: Case, place: Path) -> None:
    fresh = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.parent.mkdir(parents=True, exist_ok=True)
    request = request_of(case, clean_ns(case.rig) if case.causes else 0)
    options = BoardOptions(cpus=case.rig.cpus)
    outcome = carry_out(
        Job(
            case.name,
            lambda: open_board(case.rig.board, options),
            request,
            fresh,
            Quiet(),
            disguise=disguise_of(case),
        ),
        lambda: False,
    )
    if outcome.error is not None or not outcome.recorded:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RunFailedError(f"{case.name}: {outcome.error}")
    manifest = open_recording(fresh).manifest
    if manifest.state != "complete" or (manifest.recorder and manifest.recorder.engine is None):
        reasons = [problem.text for problem in manifest.problems]
        shutil.rmtree(fresh, ignore_errors=True)
        raise RunFailedError(
            f"{case.name}: {manifest.state}: {'; '.join(reasons) or 'no recorder'}"
        )
    try:
        fresh.rename(place)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        # Else it was made by another process meanwhile, and is the same to the nanosecond.
        if not (place / "manifest.json").exists():
            raise
