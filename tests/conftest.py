"""What all tests share."""

from __future__ import annotations

import platform
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from browsers import browser
from whylate.probe.binaries import NoProbeError, probe_binary

# One for all folders: a second of this scope cannot start beside the first.
__all__ = ["browser"]

#: A shared machine may be slow at any moment.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

# `nohup make test &` ignores these from birth; programs that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(_number, signal.SIG_DFL)

CAP_SYS_NICE = 1 << 23


def may_be_realtime() -> bool:
    """Whether this process may run at SCHED_FIFO 99: by capability, or by its limit."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:") and int(line.split()[1], 16) & CAP_SYS_NICE:
            return True
    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    return soft >= 99 or soft == resource.RLIM_INFINITY


TESTS = Path(__file__).parent
#: Folders whose tests use nothing of this machine but its CPU and temporary files.
COMPUTING = frozenset(
    {"causes", "compare", "house", "recording", "report", "stats", "summary", "wire"}
)


# Before xdist reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {}
    for item in items:
        # Beside each other run those that boot boards of their own, and those that compute; the
        # others share this machine's settings, ports and processes.
        computes = item.path.relative_to(TESTS).parts[0] in COMPUTING
        alone = item.get_closest_marker("qemu") is None and not computes
        rank[item] = (not alone, computes)
        group = "this machine" if alone else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
        if not computes:
            # Another program may have had the CPUs. What fails twice fails; each rerun is listed.
            item.add_marker(pytest.mark.flaky(reruns=1))
    # The longest group first, then those of minutes, and last many short ones: both workers end
    # together. xdist by itself would begin the groups of a single test, which are boots, last.
    items.sort(key=rank.__getitem__)
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
