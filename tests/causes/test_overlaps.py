"""A stall that several threads of a CPU wait for is counted once."""

from __future__ import annotations

from app_runs import MS, app_manifest, woken_cpu_series
from whylate.causes.answer import explain
from whylate.causes.episodes import merge_episodes
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece
from whylate.recording.events import Event, Kind, Window


def waited(due_ns: int, run_ns: int, *causes: tuple[Cause, int], cpu: int = 0) -> Breakdown:
    """Return an activation whose pieces end at these times."""
    pieces, at = [], due_ns
    for cause, until in causes:
        pieces.append(Piece(at, until, cause))
        at = until
    return Breakdown(cpu, due_ns, due_ns, run_ns - due_ns, tuple(pieces) or None)


def told(breakdown: Breakdown) -> list[tuple[int, int, Cause]]:
    return [(piece.start_ns, piece.end_ns, piece.cause) for piece in breakdown.pieces or ()]


def test_what_overlaps_is_told_by_the_one_that_was_due_first() -> None:
    first = waited(100, 400, (Cause.INTERRUPT, 300), (Cause.SCHEDULING, 400))
    second = waited(200, 600, (Cause.UNEXPLAINED, 350), (Cause.THREAD, 600))
    (found,) = merge_episodes([second, first])
    assert told(found) == [(100, 300, Cause.INTERRUPT), (300, 400, Cause.SCHEDULING),
                           (400, 600, Cause.THREAD)]  # fmt: skip
    assert (found.due_ns, found.latency_ns, found.activation) == (100, 500, 200)
    assert sum(piece.length_ns for piece in found.pieces or ()) == found.latency_ns


def test_what_lies_within_another_adds_nothing() -> None:
    long = waited(100, 900, (Cause.INTERRUPT, 900))
    inside = waited(200, 300, (Cause.THREAD, 300))
    later = waited(800, 950, (Cause.LOCK, 950))
    (found,) = merge_episodes([long, inside, later])
    assert told(found) == [(100, 900, Cause.INTERRUPT), (900, 950, Cause.LOCK)]


def test_those_that_do_not_overlap_and_those_of_other_cpus_are_apart() -> None:
    late = [waited(100, 200), waited(200, 300), waited(150, 250, cpu=1)]
    merged = {(episode.cpu, episode.due_ns, episode.latency_ns) for episode in merge_episodes(late)}
    assert merged == {(0, 100, 100), (0, 200, 100), (1, 150, 100)}


def test_the_part_of_which_nothing_was_recorded_is_not_observed() -> None:
    (found,) = merge_episodes([waited(100, 400), waited(200, 600, (Cause.THREAD, 600))])
    assert told(found) == [(100, 400, Cause.NOT_OBSERVED), (400, 600, Cause.THREAD)]
    (nothing,) = merge_episodes([waited(100, 400), waited(200, 600)])
    assert nothing.pieces is None
    assert nothing.latency_ns == 500


def stalled(activation: int, pid: int, due_ns: int, run_ns: int) -> Window:
    """A window in which a thread of equal priority ran until the measured thread did."""
    events = (
        Event(due_ns - 500, 0, Kind.SWITCH, id=9, name="make", prio=100, prev_id=pid),
        Event(run_ns, 0, Kind.SWITCH, id=pid, name="pacer", prio=100, prev_id=9, prev_state="R"),
    )
    return Window(0, activation, pid, 100, due_ns, run_ns, "tail", due_ns, due_ns, run_ns, 0,
                  due_ns - 500, events)  # fmt: skip


def test_a_stall_of_three_threads_is_one_late_episode_of_the_run() -> None:
    # 1000 control wakeups; at 500 ms three threads wait for the same stall, until 510 ms.
    due_ns = [*range(0, 1000 * MS, MS), 501 * MS + 7, 502 * MS + 7, 503 * MS + 7]
    latency_ns = [5_000] * 1000 + [9 * MS, 8 * MS, 7 * MS]
    pid = [301] * 1000 + [302, 303, 304]
    cpu_series = woken_cpu_series(due_ns, latency_ns, pid)
    windows = [stalled(1000 + k, 302 + k, (501 + k) * MS + 7, 510 * MS + 7) for k in range(3)]
    manifest = app_manifest([cpu_series], names={302: "pacer"})
    found = explain(manifest, [cpu_series], windows, threshold_ns=MS)
    assert found.population is not None
    assert (found.population.episodes, found.population.recorded) == (1, 1)
    assert found.population.excess_ns == 9 * MS
    assert found.population.causes[0].cause is Cause.THREAD
    assert found.population.causes[0].share == 1
    # One stall is one story: that of the thread which waited longest.
    assert [story.thread for story in found.worst] == ["pacer/302"]


def test_the_story_of_an_episode_is_of_what_was_recorded_of_it() -> None:
    due_ns = [*range(0, 1000 * MS, MS), 501 * MS + 7, 502 * MS + 7, 700 * MS + 7]
    latency_ns = [5_000] * 1000 + [9 * MS, 8 * MS, 4 * MS]
    cpu_series = woken_cpu_series(due_ns, latency_ns, [301] * 1000 + [302, 303, 302])
    windows = [stalled(1001, 303, 502 * MS + 7, 510 * MS + 7),
               stalled(1002, 302, 700 * MS + 7, 704 * MS + 7)]  # fmt: skip
    found = explain(
        app_manifest([cpu_series], names={}), [cpu_series], windows, threshold_ns=MS, worst=1
    )
    assert [example.breakdown.activation for example in found.worst] == [1001]
