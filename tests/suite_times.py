"""A pytest plugin: what a run of the suite took, which tests are flaky, how idle the CPUs were.

It writes build/durations.json. `make test ARGS=--write-durations` keeps the seconds of a whole run
in tests/durations.json, by which suite_groups.py orders the next one.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from suite_groups import DURATIONS, MACHINE, SHORT_S, TESTS

SLOWEST = 10
#: Characters of the failure that are shown of a test that ran again.
_SHOWN_CHARACTERS = 3000
_LATEST = TESTS.parent / "build" / "durations.json"


def cpu_seconds() -> tuple[float, float]:
    """Return how long the CPUs of this machine have been idle, and all their time, since boot."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    # user, nice, system, idle, iowait, irq, softirq, steal
    hertz = os.sysconf("SC_CLK_TCK")
    return (fields[3] + fields[4]) / hertz, sum(fields) / hertz


def _name_and_group(nodeid: str) -> tuple[str, str]:
    """Return a test's name and its group, which pytest-xdist appends; a parameter may have an @."""
    name, _, group = nodeid.rpartition("@")
    if name and (group == MACHINE or group.endswith(".py")):
        return name, group
    return nodeid, nodeid.partition("::")[0]


class SuiteTimes:
    """Collects in the process that prints the summary; workers tell it their flaky tests."""

    def __init__(self) -> None:
        self._start, self._cpu = time.monotonic(), cpu_seconds()
        self._tests: dict[str, float] = defaultdict(float)
        self._groups: dict[str, float] = defaultdict(float)
        self._flaky: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name, group = _name_and_group(report.nodeid)
        self._tests[name] += report.duration
        self._groups[group] += report.duration

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            marker = item.get_closest_marker("flaky")
            if marker is not None:
                self._flaky[_name_and_group(item.nodeid)[0]] = marker.kwargs["reason"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._flaky |= getattr(node, "workeroutput", {}).get("flaky", {})

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # Of a worker: pytest-xdist sends it.
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["flaky"] = self._flaky
            return
        kept = {name: round(s, 1) for name, s in sorted(self._groups.items()) if s >= SHORT_S}
        text = json.dumps(kept, indent=0) + "\n"
        _LATEST.parent.mkdir(exist_ok=True)
        _LATEST.write_text(text)
        if session.config.getoption("--write-durations"):
            DURATIONS.write_text(text)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for report in terminalreporter.getreports("rerun"):
            terminalreporter.section(f"failed at first: {report.nodeid}")
            terminalreporter.write_line(report.longreprtext[-_SHOWN_CHARACTERS:])
        terminalreporter.section(f"times of {len(self._tests)} tests")
        slowest = sorted(self._tests.items(), key=lambda item: -item[1])
        for name, seconds in slowest[:SLOWEST]:
            terminalreporter.write_line(f"{seconds:6.1f} s  {name}")
        idle, total = (now - then for now, then in zip(cpu_seconds(), self._cpu, strict=True))
        tests_s, wall_s = sum(self._tests.values()), time.monotonic() - self._start
        terminalreporter.write_line(
            f"{tests_s:.0f} s of tests in {wall_s:.0f} s; "
            f"the CPUs were idle for {100 * idle / total if total else 0:.0f} % of that"
        )
        terminalreporter.write_line(f"{len(self._flaky)} tests have the marker flaky")
        for name, reason in sorted(self._flaky.items()):
            terminalreporter.write_line(f"  {name}: {reason}")
