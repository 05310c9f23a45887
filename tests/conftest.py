"""What all tests share."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import signal
import tempfile
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from browsers import browser
from left_behind import LeftBehind
from machine_lock import this_machine
from suite_groups import put_in_order
from suite_times import SuiteTimes
from whylate.cli import start_no_threads_for_arrays
from whylate.probe.binaries import NoProbeError, probe_binary

# Also in the processes of pytest-xdist, and before anything imports numpy.
start_no_threads_for_arrays()
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-durations",
        action="store_true",
        help="keep the seconds of this run in tests/durations.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SuiteTimes())
    # A worker ends before the process that looks.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftBehind())
    # Notes on the boards that this process uses: another one's are none of its tests' business.
    directory = tempfile.mkdtemp(prefix="wl")
    os.environ["WHYLATE_RUN"] = directory
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)  # Before pytest-xdist reads the groups.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_in_order(items)
    if may_be_realtime():
        return
    skip = pytest.mark.skip(reason="needs SCHED_FIFO: run as root or with CAP_SYS_NICE")
    for item in items:
        if item.get_closest_marker("realtime"):
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hold this machine for the tests that ask for it, from set-up to tear-down."""
    with this_machine() if item.get_closest_marker("machine") else nullcontext():
        return (yield)


@pytest.fixture
def probe() -> list[str]:
    """Return the command that starts the probe of this machine."""
    try:
        return [str(probe_binary(platform.machine()).path)]
    except NoProbeError as error:
        pytest.skip(str(error))
