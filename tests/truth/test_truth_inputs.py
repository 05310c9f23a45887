"""What a recording of the truth test is kept under has all that it was made with."""

from __future__ import annotations

from truth_plan import causes_of
from truth_runs import made_with


def test_the_sources_of_each_cause_are_found_and_tell_causes_apart() -> None:
    """A module that includes a remedy has it among them."""
    causes = causes_of("pc")
    assert {"bulk-remedy", "clock-remedy"} <= set(causes)
    assert len({made_with("pc", (name,)) for name in causes}) == len(causes)
