"""What all tests share."""

from __future__ import annotations

import platform
import resource
from pathlib import Path

import pytest
from hypothesis import settings

from whylate.probe.binaries import NoProbeError, probe_binary

#: A shared machine may be slow at any moment.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

CAP_SYS_NICE = 1 << 23


def may_be_realtime() -> bool:
    """Whether this process may run at SCHED_FIFO 99: by capability, or by its limit."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:") and int(line.split()[1], 16) & CAP_SYS_NICE:
            return True
    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    return soft >= 99 or soft == resource.RLIM_INFINITY


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if may_be_realtime():
        return
    skip = pytest.mark.skip(reason="needs SCHED_FIFO: run as root or with CAP_SYS_NICE")
    for item in items:
        if item.get_closest_marker("realtime"):
            item.add_marker(skip)


@pytest.fixture
def probe() -> list[str]:
    """Return the command that starts the probe of this machine."""
    try:
        return [str(probe_binary(platform.machine()).path)]
    except NoProbeError as error:
        pytest.skip(str(error))
