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
#: Folders whose tests compute.
COMPUTING = frozenset(
    {"causes", "compare", "house", "recording", "report", "stats", "summary", "wire"}
)
#: Of a failure that a rerun has mended.
SHOWN_CHARACTERS = 3000
THIS_MACHINE, BENCH = "this machine", "the bench"


def computes(item: pytest.Item) -> bool:
    """Whether a test uses nothing of this machine but its CPU and temporary files."""
    return item.path.relative_to(TESTS).parts[0] in COMPUTING


def group_of(item: pytest.Item) -> str:
    """Return the group whose tests never run beside each other.

    Beside each other run those that boot boards of their own, and those that compute. The others
    share this machine: its settings and processes, or the cards and ports of the bench, whose tests
    change none of its settings and wait most of their time.
    """
    if item.get_closest_marker("qemu") is not None or computes(item):
        return item.nodeid.partition("::")[0]
    if TESTS / "bench" in item.path.parents or item.get_closest_marker("bench") is not None:
        return BENCH
    return THIS_MACHINE


# Before xdist reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {}
    for item in items:
        group = group_of(item)
        rank[item] = (group != THIS_MACHINE, group != BENCH, computes(item))
        item.add_marker(pytest.mark.xdist_group(group))
        if not computes(item):
            # Another program may have had the CPUs. What fails twice fails; each rerun is listed.
            item.add_marker(pytest.mark.flaky(reruns=1))
    # The longest groups first, then those of minutes, and last many short ones: all workers end
    # together. xdist by itself would begin the groups of a single test, which are boots, last.
    items.sort(key=rank.__getitem__)
    if may_be_realtime():
        return
    skip = pytest.mark.skip(reason="needs SCHED_FIFO: run as root or with CAP_SYS_NICE")
    for item in items:
        if item.get_closest_marker("realtime"):
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show why each test that ran again had failed."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"failed at first: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext[-SHOWN_CHARACTERS:])


@pytest.fixture
def probe() -> list[str]:
    """Return the command that starts the probe of this machine."""
    try:
        return [str(probe_binary(platform.machine()).path)]
    except NoProbeError as error:
        pytest.skip(str(error))
