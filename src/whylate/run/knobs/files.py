"""Which of a run's settings are of one file: a file has one value at a time."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from whylate.recording.plan import Setting
from whylate.run.resolve import EACH_CPU

_IDLE_STATE = re.compile(r"/sys/devices/system/cpu/cpu[^/]+/cpuidle/state\d+/disable")


def plain_path(path: str) -> str:
    """Return a path as it is written without // and /./ in it."""
    return posixpath.normpath(path)


def same_file(one: str, other: str) -> bool:
    """Whether two paths mean one file, on some CPU at least."""
    return _covers(one, other) or _covers(other, one)


def idle_states(settings: Sequence[Setting]) -> list[str]:
    """Return the paths of settings that switch an idle state on or off."""
    paths = [plain_path(one.path) for one in settings]
    return [path for path in paths if _IDLE_STATE.fullmatch(path)]


def _covers(one: str, other: str) -> bool:
    """Whether a path, with any CPU for {cpu}, is the other, with CPU 0 for it."""
    pattern = r"\d+".join(re.escape(part) for part in plain_path(one).split(EACH_CPU))
    return re.fullmatch(pattern, plain_path(other).replace(EACH_CPU, "0")) is not None
