"""The page of limits gives the numbers of the schema and of the code."""

from __future__ import annotations

import re
from pathlib import Path

from whylate.probe.budget import CPUS, FACTS, FINISH, HELLO, JUNK_BYTES, LEAVE, MIB, PREPARE, Budget
from whylate.recording.workloads.activations.wakeup import MOST_OVERRUNS
from whylate.wire import constants

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "limits.md").read_text()


def rows(first: str) -> list[list[str]]:
    """The cells of the rows of the table whose heading begins with that word."""
    table = PAGE[PAGE.index(f"| {first} |") :].split("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def test_each_limit_has_the_value_of_the_schema() -> None:
    named = 0
    for names, text in rows("limit"):
        values = {int(value.replace(",", "")) for value in re.findall(r"[0-9][0-9,]*[0-9]", text)}
        for name in re.findall("`([a-z_]+)`", names):
            named += 1
            assert getattr(constants, name.upper()) in values, name
    assert named >= 10
    assert f"{MOST_OVERRUNS:,} overruns" in PAGE


def test_each_budget_has_the_figures_of_the_code() -> None:
    budgets = {"hello": HELLO, "timing the CPUs": CPUS, "reading files and facts": FACTS,
               "settings, loads, warming up": PREPARE, "reading files again": LEAVE,
               "ending loads, restoring settings": FINISH}  # fmt: skip
    printed = {row[0]: row[1:] for row in rows("phase")}
    for phase, budget in budgets.items():
        assert printed[phase][:2] == figures(budget), phase
        if budget is not HELLO:  # whose patience is shorter than its seconds
            assert printed[phase][2].startswith(f"{budget.seconds:,.0f}"), phase
    assert f"up to {JUNK_BYTES // MIB} MiB" in PAGE


def figures(budget: Budget) -> list[str]:
    return [f"{budget.bytes // MIB} MiB", f"{budget.frames:,}"]
