"""The floors of the probe: an include points down, and no files include each other in a circle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "probe" / "src"
#: From the top: a file may include what is in its own room and in rooms below it.
FLOORS = (
    ("main",),
    ("session",),
    ("workloads", "facts"),
    ("workloads/activations",),
    ("workloads/benchmark",),
    ("section/listing", "sampled", "traced"),
    ("recorder", "section"),
    ("recorder/tracefs", "section/tracefs"),
    ("recorder/bpf", "section/bpf", "sampled/bpf", "traced/bpf"),
    ("guardian",),
    ("handover", "loads", "tracefs", "bpf"),
    ("wire",),
    ("code_area", "failure", "small_file", "thread"),
    ("cache_line", "clock", "numbers"),
)
#: The parts of a room that its sub-rooms share with it.
SHARED = {"workloads/workload.h", "recorder/engine.h", "recorder/event.h", "recorder/origin.h"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
FILES = sorted(
    path.relative_to(SOURCES).as_posix()
    for path in SOURCES.rglob("*")
    if path.suffix in (".c", ".h")
)


def floor_of(file: str) -> int:
    """Return the number of a file's floor: that of its room, or of itself where it has none."""
    room = room_of(file) or file.partition(".")[0]
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def room_of(file: str) -> str:
    return file.rpartition("/")[0]


def included(file: str) -> list[str]:
    beside = SOURCES / room_of(file)
    names = INCLUDE.findall((SOURCES / file).read_text())
    places = [(beside / n).resolve() if (beside / n).exists() else SOURCES / n for n in names]
    return [place.relative_to(SOURCES.resolve()).as_posix() for place in places]


@pytest.mark.parametrize("file", FILES)
def test_an_include_points_down(file: str) -> None:
    upward = [
        other
        for other in included(file)
        if other not in SHARED
        and room_of(other) != room_of(file)
        and floor_of(other) <= floor_of(file)
    ]
    assert upward == []


def test_no_headers_include_each_other_in_a_circle() -> None:
    done: set[str] = set()

    def walk(file: str, path: tuple[str, ...]) -> None:
        assert file not in path, f"a circle: {' -> '.join([*path, file])}"
        if file not in done:
            for other in included(file):
                walk(other, (*path, file))
            done.add(file)

    for file in FILES:
        walk(file, ())


def test_only_the_workloads_name_a_workload() -> None:
    """The session knows a workload by its operations alone."""
    names = re.compile(
        r"\bworkload_(wakeup|app|section|switch|memory|clock|command|off)\b|WIRE_BENCH_|WIRE_WAKEUP"
    )
    rooms = ("workloads", "wire")
    naming = [
        file
        for file in FILES
        if not file.startswith(rooms) and names.search((SOURCES / file).read_text())
    ]
    assert naming == []
