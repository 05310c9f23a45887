"""Run the long form of all checks of the remedies, and print what each took.

`make verify` does, with the mutants after it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from clients import (
    CLIENTS,
    LONG_BOUND_ITEMS,
    LONG_SEQUENCE_RUNS,
    LONG_TURNS_RUNS,
    Client,
    check_bounds,
    check_relacy,
    check_sequences,
    check_threads,
    check_turns,
)
from models import LONG_MIB, LONG_MODELS, MODELS, Model, Search, judge_search, search_model
from rumur import LONG_RUMUR_MODELS, RUMUR_MODELS, search_by_rumur

ROUNDS = 100_000
#: None is no failure, and no proof.
Row = tuple[bool | None, str]
RESULTS = {True: "passed", False: "FAILED", None: "not searched to its end"}


def _relacy(client: Client) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as folder:
        passed = check_relacy(client, Path(folder), client.long_executions).passed
    return passed, f"{client.long_executions:,} random executions, and all with two preemptions"


def _threads(client: Client) -> tuple[bool, str]:
    return check_threads(client, ROUNDS).passed, f"{ROUNDS:,} rounds"


def _sequences() -> tuple[bool, str]:
    outcome = check_sequences(LONG_SEQUENCE_RUNS)
    return outcome.passed, outcome.text.replace("\n", "; ")


def _turns() -> tuple[bool, str]:
    outcome = check_turns(LONG_TURNS_RUNS)
    return outcome.passed, outcome.text.replace("\n", "; ")


def _bounds() -> tuple[bool, str]:
    outcome = check_bounds(LONG_BOUND_ITEMS)
    return outcome.passed, outcome.text.strip()


def _model(model: Model, search_states: Callable[[Model, int], Search]) -> Row:
    search = search_states(model, LONG_MIB)
    wanted = "holds" if model.holds else "fails, as it must"
    return judge_search(model, search), f"{search.states:,} states; wanted: {wanted}"


def _name(model: Model) -> str:
    return " ".join((model.name, *model.defines, *(["cycles"] if model.ends else [])))


def main() -> int:
    """Print a row a check; 1 where a check failed."""
    checks: list[tuple[str, Callable[[], Row]]] = []
    for client in CLIENTS:
        checks.append((f"{client.name}, Relacy", partial(_relacy, client)))
        checks.append((f"{client.name}, ThreadSanitizer", partial(_threads, client)))
    checks.append(("asid_sequences", _sequences))
    checks.append(("turns_sequences", _turns))
    checks.append(("bulk_bounds", _bounds))
    checks += [
        (f"{_name(model)}, spin", partial(_model, model, search_model))
        for model in (*MODELS, *LONG_MODELS)
    ]
    checks += [
        (f"{_name(model)}, rumur", partial(_model, model, search_by_rumur))
        for model in (*RUMUR_MODELS, *LONG_RUMUR_MODELS)
    ]
    failed = 0
    print("| check | result | s | |\n|---|---|---|---|")
    for name, check in checks:
        start = time.monotonic()
        passed, text = check()
        failed += passed is False
        print(
            f"| {name} | {RESULTS[passed]} | {time.monotonic() - start:.0f} | {text} |", flush=True
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
