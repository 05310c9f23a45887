"""Which tests run one after the other in one worker, and which begin first.

A file is a group: its tests share fixtures. Tests with the marker `machine` are one group, because
they share this machine (see machine_lock.py). It begins first, and then the longest groups, by the
seconds in durations.json: all workers end together.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Seconds by group, of a whole run: suite_times.py writes them.
DURATIONS = TESTS / "durations.json"
MACHINE = "this machine"
#: Groups that take less are not in the file.
SHORT_S = 1.0


def group_of(item: pytest.Item) -> str:
    """Return the group whose tests never run beside each other."""
    if item.get_closest_marker("machine") is not None:
        return MACHINE
    return item.nodeid.partition("::")[0]


def read_durations() -> dict[str, float]:
    """Return the seconds of each group; none where no run has been timed."""
    if not DURATIONS.exists():
        return {}
    durations: dict[str, float] = json.loads(DURATIONS.read_text())
    return durations


def put_in_order(items: list[pytest.Item]) -> None:
    """Mark each test with its group, for pytest-xdist, and sort the groups."""
    durations = read_durations()
    groups = {item: group_of(item) for item in items}

    def rank(item: pytest.Item) -> tuple[bool, float, str]:
        group = groups[item]
        return (group != MACHINE, -durations.get(group, 0.0), group)

    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups[item]))
    items.sort(key=rank)
