"""A single workload is known only in the rooms called workloads/ and in its own verbs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "whylate"
KINDS = {"wakeup", "app", "switch", "memory", "clock", "cmd"}
#: Classes of a workload, its targets and its points.
CLASSES = re.compile(r"(Wakeup|App|Switch|Memory|Clock|Command)(Point)?|(Pid|Comm|Command)Target")
#: Modules that define them, and the package that exports them.
MODULES = re.compile(r"whylate\.recording\.(workloads|plan)(\..+)?")
#: Files that may know one workload, beside those in a folder called workloads.
ALLOWED = re.compile(r"(.+/)?workloads/.+|cli/measure.*|cli/bench/.+|recording/former_schema\.py")


def find_workloads(package: Path) -> set[str]:
    """Return "FILE: NAME" for each workload that is named outside its rooms."""
    return {
        f"{file}: {name}"
        for path in package.rglob("*.py")
        if not ALLOWED.fullmatch(file := path.relative_to(package).as_posix())
        for name in _names(ast.parse(path.read_text()))
    }


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and MODULES.fullmatch(node.module or ""):
            yield from (alias.name for alias in node.names if CLASSES.fullmatch(alias.name))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Attribute) and side.attr == "kind" and
                   "workload" in ast.unparse(side.value) for side in sides):  # fmt: skip
                yield from (
                    str(item.value)
                    for side in sides
                    for item in ast.walk(side)
                    if isinstance(item, ast.Constant) and item.value in KINDS
                )


def test_no_workload_is_named_outside_its_rooms() -> None:
    assert find_workloads(PACKAGE) == set()


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("study/a.py", "from whylate.recording.workloads.wakeup import Wakeup", {"Wakeup"}),
        ("study/a.py", "from whylate.recording.workloads import Clock, Workload", {"Clock"}),
        ("soak/a.py", "def f():\n    from whylate.recording.workloads.app import PidTarget",
         {"PidTarget"}),
        ("run/a.py", "b = plan.workload.kind in ('app', 'cmd')", {"app", "cmd"}),
        ("report/a.py", "b = workload.kind == 'clock'", {"clock"}),
        ("run/workloads/a.py", "from whylate.recording.workloads.clock import Clock", set()),
        ("cli/bench/a.py", "from whylate.recording.workloads.clock import Clock", set()),
        ("run/a.py", "b = load.kind == 'memory'", set()),
        ("study/a.py", "from whylate.recording.workloads.activations import ActivationWorkload",
         set()),
    ],
)  # fmt: skip
def test_a_workload_outside_its_room_is_reported(
    tmp_path: Path, file: str, text: str, names: set[str]
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert find_workloads(tmp_path) == {f"{file}: {name}" for name in names}
