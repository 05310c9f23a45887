"""Pairing the trace events of a section: executions of a model, and what the kernel leaves out."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from c_programs import compile_c

pytestmark = pytest.mark.machine

DEEPEST, FRAMES, STACK = 8, 24, 1 << 20


class Account(NamedTuple):
    entries: int
    returned: int
    in_flight: int
    left: int
    too_deep: int
    no_room: int
    unmatched: int
    ambiguous: int

    @property
    def closes(self) -> bool:
        return self.entries == sum(self[1:6])


@dataclass(frozen=True)
class Event:
    """A line for the program. place, caller: 0 where the kernel does not tell."""

    what: str
    time_ns: int
    key: int = 1
    place: int = 0
    caller: int = 0
    cpu: int = 0

    def __str__(self) -> str:
        return f"{self.what} {self.time_ns} {self.key} {self.place} {self.caller} {self.cpu}"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    folder = tmp_path_factory.mktemp("pairs")
    return compile_c("cc", "pairs", ["section/tracefs/pairs.c"], folder, sanitizers)


def pair(
    program: Path, events: Sequence[Event], one_in: int = 1
) -> tuple[Account, list[tuple[int, ...]]]:
    """Return the account, and rows of (end CPU, begin, duration, begin CPU, flags)."""
    text = "".join(f"{event}\n" for event in events)
    command = [str(program), str(one_in)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    rows = [tuple(map(int, words[1:])) for words in lines if words[0] == "row"]
    return Account(*map(int, lines[-1][1:])), sorted(rows, key=lambda row: row[1])


def nested(depth: int, *, places: bool, start_ns: int = 100, caller: int = 7) -> list[Event]:
    """Return executions of one caller, each within the former."""
    begins = [Event("begin", start_ns + i, 1, STACK - 64 * i, caller) for i in range(depth)]
    ends = [
        Event("end", start_ns + 2 * depth - i, 1, STACK - 64 * i if places else 0, caller)
        for i in reversed(range(depth))
    ]
    return [*begins, *ends]


@pytest.mark.parametrize("places", [True, False], ids=["places", "callers"])
def test_executions_of_a_model_have_their_durations(program: Path, places: bool) -> None:
    """Threads nest, recurse and move; the returns have a place on the stack, or a caller."""
    draw = random.Random(3)
    open_calls: dict[int, list[Event]] = {key: [] for key in range(1, 60)}
    events: list[Event] = []
    made: list[tuple[int, ...]] = []
    for time_ns in range(1000, 9000, 2):
        key = draw.randrange(1, 60)
        calls, cpu = open_calls[key], draw.randrange(4)
        if calls and (len(calls) == DEEPEST or draw.random() < 0.5):
            begun = calls.pop()
            end = Event("end", time_ns, key, begun.place if places else 0, begun.caller, cpu)
            events.append(end)
            moved = 2 if begun.cpu != cpu else 0
            made.append((cpu, begun.time_ns, time_ns - begun.time_ns, begun.cpu, 1 + moved))
        else:
            place = key * STACK - 64 * len(calls)
            calls.append(Event("begin", time_ns, key, place, draw.randrange(3), cpu))
            events.append(calls[-1])
    account, rows = pair(program, events)
    assert rows == sorted(made, key=lambda row: row[1])
    assert account.closes
    assert account.entries == len(made) + account.in_flight
    assert account.in_flight == sum(map(len, open_calls.values()))
    assert account.left == account.too_deep == account.unmatched == 0
    assert (account.ambiguous == 0) == places


@pytest.mark.parametrize("places", [True, False], ids=["places", "callers"])
@pytest.mark.parametrize("depth", [DEEPEST, 12, FRAMES, 40])
def test_the_innermost_executions_are_too_deep(program: Path, depth: int, places: bool) -> None:
    account, rows = pair(program, nested(depth, places=places))
    assert account.closes
    assert (account.entries, account.returned) == (depth, DEEPEST)
    assert account.too_deep == account.unmatched == depth - DEEPEST
    assert [row[2] for row in rows] == [2 * depth - 2 * i for i in range(DEEPEST)]


def test_an_execution_that_was_left_is_found_by_the_stack(program: Path) -> None:
    events = [
        Event("begin", 10, 1, STACK, 7),
        Event("begin", 20, 1, STACK - 64, 8),  # left
        Event("end", 30, 1, STACK, 7),
        Event("begin", 40, 1, STACK, 7),  # left
        Event("begin", 50, 1, STACK + 64, 7),
        Event("end", 60, 1, STACK + 64, 7),
        Event("begin", 62, 1, STACK, 7),  # left
        Event("begin", 64, 1, STACK, 7),
        Event("begin", 70, 1, 9 * STACK, 7),  # on another stack: it says nothing
    ]
    account, rows = pair(program, events)
    assert account == Account(7, 2, 2, 3, 0, 0, 0, 0)
    assert [row[1:3] for row in rows] == [(10, 20), (50, 10)]


def test_a_return_without_a_place_is_that_of_its_caller(program: Path) -> None:
    """The kernel had no room to watch for the return of the inner one."""
    events = [
        Event("begin", 10, 1, STACK, 7),
        Event("begin", 20, 1, STACK - 64, 8),
        Event("end", 30, 1, 0, 7),
    ]
    account, rows = pair(program, events)
    assert account == Account(2, 1, 0, 1, 0, 0, 0, 0)
    assert [row[1:3] for row in rows] == [(10, 20)]


def test_a_pair_of_tracepoints_ends_once(program: Path) -> None:
    events = [Event("end", 5), Event("begin", 10), Event("begin", 20), Event("end", 25)]
    account, rows = pair(program, [*events, Event("end", 26)])
    assert account == Account(2, 1, 0, 1, 0, 0, 2, 0)
    assert [row[1:3] for row in rows] == [(20, 5)]


def test_executions_count_that_begin_within_the_time(program: Path) -> None:
    """One that begins after the closing, within another of its caller, keeps its own return."""
    events = [
        Event("open", 100),
        Event("begin", 50, 1, STACK, 7),
        Event("begin", 150, 1, STACK - 64, 7),
        Event("close", 200),
        Event("begin", 250, 1, STACK - 128, 7),
        Event("end", 260, 1, 0, 7),
        Event("end", 270, 1, 0, 7),
        Event("end", 280, 1, 0, 7),
    ]
    account, rows = pair(program, events)
    assert account[:6] == (1, 1, 0, 0, 0, 0)
    assert [row[1:3] for row in rows] == [(150, 120)]


def test_what_had_begun_when_events_were_lost_is_left(program: Path) -> None:
    events = [
        Event("begin", 10, 1),
        Event("begin", 11, 2),
        Event("lose", 3),
        Event("end", 20, 1),
        Event("begin", 30, 2),
        Event("end", 40, 2),
    ]
    account, rows = pair(program, events)
    assert account == Account(3, 1, 0, 2, 0, 0, 1, 0)
    assert [row[1:3] for row in rows] == [(30, 10)]


def test_more_threads_than_there_is_room_for_are_counted(program: Path) -> None:
    account, _ = pair(program, [Event("begin", key, key, STACK * key) for key in range(1, 6001)])
    assert account.closes
    assert account.entries == 6000
    assert 0 < account.no_room < 6000 - 3000
    assert account.in_flight + account.no_room == 6000


def test_threads_that_end_leave_their_places_and_what_they_have_begun(program: Path) -> None:
    """12,000 of them: three times as many as there are places. Some begin as they end."""
    events: list[Event] = []
    for key in range(1, 12_001):
        end = Event("leave" if key % 3 else "let-go", 0, key, cpu=key % 4)
        both = [Event("begin", key, key, STACK * key), end]
        events += reversed(both) if key % 6 == 0 else both
    account, _ = pair(program, [*events, Event("begin", 20_000, 12_001)])
    assert account == Account(12_001, 0, 1, 12_000, 0, 0, 0, 0)


def test_what_a_thread_does_until_its_last_switch_is_timed(program: Path) -> None:
    """Its end is an event in the code of that: a section may have it between its two places."""
    events = [
        Event("begin", 10),
        Event("let-go", 0),
        Event("end", 30),
        Event("begin", 40),
    ]
    account, rows = pair(program, events)
    assert account == Account(2, 1, 0, 1, 0, 0, 0, 0)
    assert [row[1:3] for row in rows] == [(10, 20)]


@pytest.mark.parametrize("what", ["leave", "let-go"])
def test_nothing_of_a_thread_reaches_the_next_with_its_pid(program: Path, what: str) -> None:
    events = [
        Event("begin", 10),
        Event(what, 0),
        Event("leave", 0),  # another begins
        Event("end", 30),
        Event("begin", 40),
    ]
    account, rows = pair(program, events)
    assert account == Account(2, 0, 1, 1, 0, 0, 1, 0)
    assert not rows


def test_what_a_thread_has_begun_follows_it_to_another_pid(program: Path) -> None:
    """That of the thread which had the pid is left."""
    events = [
        Event("begin", 5, 1),
        Event("begin", 10, 2),
        Event("follow", 2, 1),
        Event("end", 30, 1),
        Event("end", 40, 2),
        Event("follow", 1, 1),
        Event("begin", 50, 1),
        Event("follow", 1, 1),
        Event("end", 60, 1),
    ]
    account, rows = pair(program, events)
    assert account == Account(3, 2, 0, 1, 0, 0, 1, 0)
    assert [row[1:3] for row in rows] == [(10, 20), (50, 10)]


def test_one_of_so_many_is_drawn_and_all_are_counted(program: Path) -> None:
    times = range(10, 40010, 10)
    events = [Event(what, at + 5 * (what == "end")) for at in times for what in ("begin", "end")]
    account, rows = pair(program, events, 8)
    assert account.returned == 4000
    assert 400 < len(rows) < 600
