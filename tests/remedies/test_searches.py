"""What `make verify` makes of the search of a model."""

from __future__ import annotations

import pytest

import verify
from clients import Outcome
from models import Model, Search


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
    monkeypatch.setattr(verify, "search_model", lambda *_: Search(holds, states=7, text=""))
    assert verify.main() == status
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith(f"| {model.name}.pml | {result} |")
