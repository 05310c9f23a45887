"""Simulations in several processes end in turns, are kept, and are not repeated."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from in_turns import Job, run_in_turns
from result_book import ResultBook, Row


def simulate(number: int) -> Row:
    return {"square": number**2}


def jobs(repetitions: int) -> list[Job]:
    return [
        Job(part, number, partial(simulate, number))
        for number in range(repetitions)
        for part in ("a", "b")
    ]


def test_what_is_there_is_not_simulated_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    run_in_turns(ResultBook(path, {"model": 1}), jobs(2), 2, 60)
    lines = path.read_text().splitlines()
    run_in_turns(ResultBook(path, {"model": 1}), jobs(3), 2, 60)
    book = ResultBook(path, {"model": 1})
    assert path.read_text().splitlines()[: len(lines)] == lines
    for part in ("a", "b"):
        assert book.numbers(part) == {0, 1, 2}
        assert sorted(row["square"] for row in book.rows(part)) == [0, 1, 4]


def test_after_its_time_no_simulation_starts(tmp_path: Path) -> None:
    book = ResultBook(tmp_path / "journal.jsonl", {"model": 1})
    run_in_turns(book, jobs(50), 1, -1)
    assert not book.rows("a")
