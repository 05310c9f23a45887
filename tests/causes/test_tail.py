"""The tail of any number of activations read once: late activations and a control sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.causes.answer import Answer
from whylate.causes.traces import tail as tail_module
from whylate.causes.traces.tail import FIRST_LATE, MOST_LATE, Tail
from whylate.causes.window.piece import Cause, Piece
from whylate.recording.activation import Activation, Leg, Waker, Woken
from whylate.recording.events import Reason, Window
from whylate.recording.traces.cutout import CutOut

APART_NS = 1_000_000_000


def _activation(due_ns: int, latency_ns: int, cpu: int = 0) -> Activation:
    run = due_ns + latency_ns
    woken = Woken(Waker.THREAD, due_ns)
    return Activation(7, "a", 9, woken, due_ns, run, run, (Leg(cpu, due_ns, run),))


def _cutter(activation: Activation) -> Callable[[Reason, int], CutOut]:
    def cut(reason: Reason, number: int) -> CutOut:
        window = Window(
            activation.cpu, number, 7, 9, activation.due_ns, activation.run_ns, reason, None,
            activation.waking_ns, activation.switched_ns, None, activation.due_ns, (),
        )  # fmt: skip
        return CutOut(window, (window,))

    return cut


def _account(activation: Activation, found: CutOut) -> tuple[Piece, ...]:
    """1000 ns of scheduling; the rest is another thread's."""
    window = found.window
    own = min(activation.latency_ns, 1000)
    pieces = [Piece(window.due_ns, window.due_ns + own, Cause.SCHEDULING)]
    if activation.latency_ns > own:
        pieces.append(Piece(window.due_ns + own, window.run_ns, Cause.THREAD, "make"))
    return tuple(pieces)


def _fed(latencies: Sequence[int], threshold_ns: int | None = None) -> Tail:
    tail = Tail(_account, threshold_ns)
    for index, latency in enumerate(latencies):
        one = _activation(index * APART_NS, latency)
        tail.add(one, _cutter(one))
    return tail


def _answer(tail: Tail, worst: int = 5) -> Answer:
    return tail.answer(worst, why_not="nothing was late", rename=lambda piece: piece)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 10_000_000), min_size=2, max_size=4000))
def test_the_slowest_thousandth_is_what_sorting_all_of_them_gives(latencies: list[int]) -> None:
    found = _answer(_fed(latencies))
    limit = sorted(latencies, reverse=True)[max(1, len(latencies) // 1000)]
    assert found.threshold_ns == limit
    late = sum(latency > limit for latency in latencies)
    assert (found.population.episodes if found.population else 0) == late


def test_shares_are_those_of_all_late_ones_and_the_worst_are_told() -> None:
    random = np.random.default_rng(1)
    latencies = [int(x) for x in 1000 + random.exponential(500, 50_000)]
    for index in range(0, 50_000, 1000):
        latencies[index] = 90_000 + index
    found = _answer(_fed(latencies), worst=3)
    assert found.population is not None
    assert found.population.episodes == 50
    assert 1900 < found.population.control <= 2000
    significant = found.population.significant
    assert [(share.cause, share.detail) for share in significant] == [(Cause.THREAD, "make")]
    assert [example.breakdown.latency_ns for example in found.worst] == [139_000, 138_000, 137_000]
    assert all(example.window.run_ns - example.window.due_ns == example.breakdown.latency_ns
               for example in found.worst)  # fmt: skip


def test_more_late_ones_than_can_be_kept_raise_the_threshold_and_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail_module, "MOST_LATE", 100)
    found = _answer(_fed([5000 + index % 1000 for index in range(3000)], threshold_ns=1))
    assert found.population is not None
    assert found.population.episodes <= 100
    assert found.threshold_ns > 5900
    assert "more are above" in found.threshold_name


def test_what_stays_in_memory_is_bounded_however_many_are_late() -> None:
    tail = _fed([5000 + index for index in range(30_000)], threshold_ns=1)
    assert len(tail._late) == tail_module.MOST_LATE
    assert len(tail._worst) == tail_module.MOST_WORST
    assert len(tail._body) == tail_module.CONTROLS


def test_the_body_is_drawn_evenly_from_all_of_the_trace() -> None:
    tail = _fed(range(20_000))
    numbers = [breakdown.activation for _, breakdown in tail._body]
    assert 9500 < np.mean(numbers) < 10_500
    assert len(set(numbers)) == tail_module.CONTROLS


def test_late_ones_that_overlap_on_a_cpu_are_one_episode_and_on_two_cpus_two() -> None:
    tail = Tail(_account, 10_000)
    for one in (_activation(0, 90_000), _activation(20_000, 50_000), _activation(0, 60_000, cpu=1),
                _activation(200_000, 40_000)):  # fmt: skip
        tail.add(one, _cutter(one))
    found = _answer(tail)
    assert found.population is not None
    assert found.population.episodes == 3
    assert [example.breakdown.latency_ns for example in found.worst] == [90_000, 60_000, 40_000]


def test_very_many_pieces_are_summed_up_by_cause() -> None:
    def many(activation: Activation, _: CutOut) -> tuple[Piece, ...]:
        return tuple(
            Piece(at, at + 10, Cause.SOFTIRQ if at % 20 else Cause.THREAD, "x")
            for at in range(activation.due_ns, activation.run_ns, 10)
        )

    tail = Tail(many, 100)
    one = _activation(0, 10_000)
    tail.add(one, _cutter(one))
    kept = tail._late[0][2]
    assert kept.pieces is not None
    assert [(piece.cause, piece.length_ns) for piece in kept.pieces] == [
        (Cause.THREAD, 5000), (Cause.SOFTIRQ, 5000),
    ]  # fmt: skip


def test_nothing_late_has_no_population() -> None:
    found = _answer(_fed([5000] * 20, threshold_ns=10_000))
    assert found.population is None
    assert found.why_not == "nothing was late"


def test_late_ones_of_equal_latency_are_no_reason_to_say_that_none_was() -> None:
    found = _answer(_fed([5_000] * (MOST_LATE + 10), 1))
    assert found.population is not None
    assert found.threshold_ns == 1
    assert found.threshold_name == f"{MOST_LATE:,} of those above what was asked"
    some = _answer(_fed([5_000] * (MOST_LATE - 10) + [7_000] * 20, 1))
    assert some.population is not None
    assert (some.threshold_ns, some.population.episodes) == (5_000, 20)
    assert some.threshold_name == "the slowest 20: more are above what was asked"


def test_what_was_turned_away_early_is_not_made_up_for_by_what_is_less_late() -> None:
    thrown = [200_000] * FIRST_LATE + [100_000] * 50_000 + [50_000] * 1_500_000
    found = _answer(_fed(thrown))
    assert found.threshold_ns == 100_000
    assert found.population is not None
    assert found.population.episodes == FIRST_LATE


def test_what_took_no_time_at_all_is_nothing_to_explain() -> None:
    found = _answer(_fed([0]))
    assert (found.population, found.threshold_ns) == (None, 0)
    same = _answer(_fed([500] * 40, 100))
    assert same.population is not None
