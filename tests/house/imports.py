"""Find imports of a package that break the order of its floors.

By hand: python tests/house/imports.py [DIRECTORY of the package whylate].
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

#: Package -> (wing, floor). An import goes down, and never from one wing to the other.
#: A module or package that is not listed here is a shared one, on the lowest floor.
FLOORS = {
    "cli": ("both", 10),
    "__main__": ("both", 11),
    "study": ("both", 8),
    "soak": ("both", 8),
    "watch": ("both", 8),
    "bisect": ("both", 9),
    "run": ("measuring", 7),
    "boards": ("measuring", 6),
    "lab": ("measuring", 5),
    "probe": ("measuring", 4),
    "predict": ("judging", 7),
    "report": ("judging", 7),
    "compare": ("judging", 6),
    "causes": ("judging", 5),
    "summary": ("judging", 4),
    "stats": ("judging", 3),
    "recording": ("both", 2),
    "wire": ("both", 1),
}


def check_imports(package: Path) -> list[str]:
    """Return the imports up or between the wings, and the circles of modules, one a line."""
    modules = {_module(path, package): path for path in package.rglob("*.py")}
    problems: set[str] = set()
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        graph[name] = set()
        for target, typing_only in _imports(path, modules):
            problem = _arrow(name, target)
            if problem is not None:
                problems.add(f"{problem}: {name} -> {target}")
            if not typing_only and target != name:
                graph[name].add(target)
    problems |= {f"circle: {' '.join(circle)}" for circle in _circles(graph)}
    return sorted(problems)


def _module(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, modules: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """Yield each imported module of the package, and whether only type checkers import it."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [
                full if (full := f"{node.module}.{alias.name}") in modules else node.module
                for alias in node.names
            ]
        for name in names:
            if name in modules:
                yield name, id(node) in typing_only


def _arrow(source: str, target: str) -> str | None:
    """Return what is wrong with an import: "up", "across", or None."""
    if source.count(".") == 0 or target.count(".") == 0:
        return None
    from_package, to_package = source.split(".")[1], target.split(".")[1]
    if from_package == to_package:
        return None
    from_wing, from_floor = FLOORS.get(from_package, ("both", 0))
    to_wing, to_floor = FLOORS.get(to_package, ("both", 0))
    if {from_wing, to_wing} == {"measuring", "judging"}:
        return "across"
    return "up" if to_floor >= from_floor and to_floor > 0 else None


def _circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected components of more than one module."""
    reached = {name: _reach(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted(groups)


def _reach(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return seen


if __name__ == "__main__":
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("src/whylate")
    sys.stdout.write("".join(f"{line}\n" for line in check_imports(directory)))
