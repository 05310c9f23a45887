"""The tuner's choice beside the best of a sweep: what counts as kept."""

from __future__ import annotations

from bulk_tuner import Chunk, outcome

SWEPT = [Chunk(8, 3000, 0.4), Chunk(32, 4000, 0.14), Chunk(128, 9000, 0.03), Chunk(512, 2e4, 0)]


def test_the_best_is_the_quickest_chunk_that_keeps_the_cost() -> None:
    made = outcome("m", SWEPT, [Chunk(30, 4300, 0.149)])
    assert made.best == SWEPT[1]
    assert made.holds
    assert "× 1.07" in made.row()


def test_a_slow_choice_and_a_dear_choice_are_not_kept() -> None:
    assert not outcome("m", SWEPT, [Chunk(64, 4500, 0.05)]).holds
    assert not outcome("m", SWEPT, [Chunk(24, 3500, 0.2)]).holds


def test_the_worst_of_several_choices_is_shown_and_all_are_counted() -> None:
    tuned = [Chunk(32, 4000, 0.14), Chunk(16, 3200, 0.25), Chunk(30, 3900, 0.15)]
    made = outcome("m", SWEPT, tuned)
    assert made.tuned == tuned[1]
    assert (made.kept, made.tunings) == (2, 3)
