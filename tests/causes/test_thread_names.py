"""Threads of one name are distinguished, and a thread that renames itself is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from windows import DUE, PID, event, switch, window

from whylate.causes.population import Breakdown
from whylate.causes.thread_names import ThreadNames
from whylate.causes.window.piece import Cause
from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Kind, Window
from whylate.recording.manifest import TaskName


def _ran(pid: int, name: str, length: int, at: int = 0) -> Window:
    """A window in which that thread, of a higher priority, had the CPU for so long."""
    made = window(
        switch(-400, pid, name, 1),
        event(0, Kind.WAKING, id=PID, prio=4, target_cpu=0),
        switch(length, PID, "whylate", 4, prev=pid),
        run=length,
        timer=0,
        waking=0,
        switched=length,
    )
    later = [replace(each, time_ns=each.time_ns + at) for each in made.events]
    times = ("due_ns", "run_ns", "timer_ns", "waking_ns", "switched_ns", "observed_ns")
    return replace(made, events=tuple(later), **{name: getattr(made, name) + at for name in times})


def _names(windows: Iterable[Window], *tasks: TaskName) -> list[str]:
    """The names of threads in the pieces of those windows, in order."""
    threads = ThreadNames(tasks)
    cut = []
    for each in windows:
        pieces = tuple(cut_window(threads.marked(each)))
        cut.append(Breakdown(0, 0, each.due_ns, each.latency_ns, pieces))
        threads.add(cut[-1])
    return [
        piece.detail
        for breakdown in cut
        for piece in threads.named(breakdown).pieces or ()
        if piece.cause is Cause.THREAD
    ]


def test_a_name_that_one_thread_has_needs_no_pid() -> None:
    assert _names([_ran(20, "worker", 5000), _ran(21, "other", 5000)]) == ["worker", "other"]


def test_two_threads_of_one_name_have_their_pids() -> None:
    names = _names([_ran(20, "worker", 9000), _ran(21, "worker", 800), _ran(20, "worker", 9000)])
    assert names == ["worker (pid 20)", "worker (pid 21)", "worker (pid 20)"]


def test_many_of_one_name_are_one_cause() -> None:
    names = _names([_ran(20 + i, "sh", 1000) for i in range(30)])
    assert set(names) == {"sh (30 threads)"}


def test_one_that_stands_out_of_many_is_told_apart() -> None:
    names = _names([_ran(99, "sh", 90_000), *(_ran(20 + i, "sh", 1000) for i in range(30))])
    assert names[0] == "sh (pid 99)"
    assert set(names[1:]) == {"sh (30 others)"}


def test_a_thread_that_renames_itself_is_one() -> None:
    began = [TaskName(20, "late", 19, 371), TaskName(20, "early", 19, 371)]
    names = _names([_ran(20, "early", 5000), _ran(20, "late", 5000, at=DUE)], *began)
    assert names == ["late (was early)"] * 2


def test_a_renamed_thread_and_another_of_its_name_are_told_apart() -> None:
    began = [TaskName(20, "late", 19, 371), TaskName(20, "early", 19, 371)]
    windows = [_ran(20, "early", 5000), _ran(20, "late", 5000, at=DUE), _ran(21, "late", 900)]
    assert _names(windows, *began) == [
        "late (pid 20, was early)", "late (pid 20, was early)", "late (pid 21)",
    ]  # fmt: skip


def test_a_pid_that_was_used_again_is_another_thread() -> None:
    began = [TaskName(20, "first", 20, 371), TaskName(20, "second", 20, 900)]
    windows = [_ran(20, "first", 5000), _ran(20, "second", 5000, at=DUE)]
    assert _names(windows, *began) == ["first", "second"]


def test_without_its_beginning_nobody_knows_whether_a_pid_was_used_again() -> None:
    windows = [_ran(20, "first", 5000), _ran(20, "second", 5000, at=DUE)]
    assert _names(windows, TaskName(20, "first", 20, 371)) == ["first", "second"]


def test_a_name_with_the_marks_in_it_changes_nothing() -> None:
    assert _names([_ran(20, "\x01a\x02\x03", 5000)]) == ["?a??"]
