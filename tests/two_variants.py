"""Two variants whose values are variables of a program's environment: nothing here is set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from whylate.bisect.sets.carry_out import Result, bisect_sets
from whylate.bisect.sets.journal import SetsJournal
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.settings.journal import LAYOUT
from whylate.bisect.settings.model import BisectPlan
from whylate.bisect.settings.plan import bisect_plan
from whylate.bisect.settings.provision import KnobProvisioner
from whylate.run.progress import Observer, Quiet
from whylate.stats.search.model import Hybrid
from whylate.stats.search.standing import Standing
from whylate.study.attempt import Open
from whylate.study.plan_file import read_plan_file, resolve_plan

VALUES = 12


class Silent:
    """Shows nothing."""

    def observer(self, board: str) -> Observer:
        del board
        return Quiet()

    def run_begins(self, number: int, board: str, hybrid: Hybrid) -> None:
        del number, board, hybrid

    def show_standing(self, standing: Standing) -> None:
        del standing

    def run_ends(self, made: MadeRun) -> None:
        del made

    def log(self, text: str) -> None:
        del text


def write_plan(directory: Path, boards: Sequence[str], needed: Sequence[int]) -> Path:
    """Write a plan whose program takes ten times as long unless all of these values are "b"."""
    program = directory / "program"
    fast = " && ".join(f'[ "$V{number}" = b ]' for number in needed)
    program.write_text(
        f"count=20000\nif {fast}; then count=2000; fi\n"
        "while [ $count -gt 0 ]; do count=$((count - 1)); done\n"
    )
    lines = [f"boards = {list(boards)}", "warm_up = 'none'"]
    for variant in "ab":
        lines.append(f"[variants.{variant}]")
        lines += [f"'env:V{number}' = '{variant}'" for number in range(VALUES)]
    lines += ["[cmd]", f"command = ['sh', '{program}']", "rounds = 1"]
    path = directory / "plan.toml"
    path.write_text("\n".join(lines))
    return path


def plan_of(directory: Path, boards: Sequence[str], needed: Sequence[int]) -> BisectPlan:
    """Return the plan of a bisection of these variants."""
    path = write_plan(directory, boards, needed)
    return bisect_plan(resolve_plan(read_plan_file(path)), "CPU time", 200, 0.3)


def bisect(
    directory: Path, plan: BisectPlan, open_for: Open, stopped: Callable[[], bool] = lambda: False
) -> tuple[Result, list[MadeRun]]:
    """Bisect into a directory; return the result and the runs."""
    with SetsJournal(directory, LAYOUT, plan) as journal:
        result = bisect_sets(journal, KnobProvisioner(plan), open_for, Silent(), stopped)
        return result, journal.lines
