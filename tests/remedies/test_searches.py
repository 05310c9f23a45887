"""What `make verify` makes of the search of a model."""

from __future__ import annotations

import pytest

import verify
from clients import Outcome
from models import Model, Search
from rumur import read_search, set_constants


@pytest.mark.parametrize(
    ("model", "holds", "status", "result"),
    [
        (Model("large", may_not_end=True), None, 0, "not searched to its end"),
        (Model("large", may_not_end=True), True, 0, "passed"),
        (Model("large", may_not_end=True), False, 1, "FAILED"),
        (Model("small"), None, 1, "FAILED"),
        (Model("weaker", holds=False), None, 1, "FAILED"),
        (Model("weaker", holds=False), False, 0, "passed"),
    ],
)
def test_a_search_that_ends_early_is_no_failure_where_that_is_known_of_the_model(
    model: Model,
    holds: bool | None,
    status: int,
    result: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(verify, "CLIENTS", ())
    monkeypatch.setattr(verify, "MODELS", (model,))
    monkeypatch.setattr(verify, "LONG_MODELS", ())
    monkeypatch.setattr(
        verify, "check_sequences", lambda runs: Outcome(passed=True, text=str(runs))
    )
    monkeypatch.setattr(verify, "check_turns", lambda runs: Outcome(passed=True, text=str(runs)))
    for name in ("RUMUR_MODELS", "LONG_RUMUR_MODELS"):
        monkeypatch.setattr(verify, name, ())
    monkeypatch.setattr(verify, "check_bounds", lambda items: Outcome(passed=True, text=str(items)))
    monkeypatch.setattr(verify, "search_model", lambda *_: Search(holds, states=7, text=""))
    assert verify.main() == status
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith(f"| {model.name}, spin | {result} |")


@pytest.mark.parametrize(
    ("text", "holds", "states"),
    [
        ("\tNo error found.\n\n\t55786 states, 237818 rules fired in 4s.\n", True, 55786),
        ("\t1 error(s) found.\n\n\t14593 states, 48042 rules fired in 8s.\n", False, 14593),
        ("\t 10000 states explored in 6s, with 32010 rules fired\nmemory exhausted\n", None, 0),
        ("it did not end", None, 0),
    ],
)
def test_what_rumur_prints_is_read(text: str, holds: bool | None, states: int) -> None:
    search = read_search(text)
    assert (search.holds, search.states) == (holds, states)


def test_a_constant_of_the_model_is_set_or_refused() -> None:
    assert set_constants("\tIDS: 3; -- of\n", ("IDS=2",)) == "\tIDS: 2; -- of\n"
    with pytest.raises(ValueError, match="0 constants TLBS"):
        set_constants("\tIDS: 3;\n", ("TLBS=2",))
