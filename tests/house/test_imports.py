"""Imports go down the floors, stay in their wing, and have no circle."""

from __future__ import annotations

from pathlib import Path

import pytest
from imports import check_imports

PACKAGE = Path(__file__).parents[2] / "src" / "whylate"


def test_no_import_breaks_the_floors() -> None:
    assert check_imports(PACKAGE) == []


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"stats/a.py": "from whylate.report.b import c\n", "report/b.py": "c = 1\n"},
            "up: whylate.stats.a -> whylate.report.b",
        ),
        (
            {"run/a.py": "def f():\n    import whylate.summary.b\n", "summary/b.py": ""},
            "across: whylate.run.a -> whylate.summary.b",
        ),
        (
            {
                "boards/a.py": "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from whylate.cli import b\n",
                "cli/b.py": "",
            },
            "up: whylate.boards.a -> whylate.cli.b",
        ),
        (
            {"text.py": "import whylate.wire.b\n", "wire/b.py": ""},
            "up: whylate.text -> whylate.wire.b",
        ),
        (
            {"run/a.py": "from whylate.run import b\n", "run/b.py": "import whylate.run.a\n"},
            "circle: whylate.run.a whylate.run.b",
        ),
    ],
)  # fmt: skip
def test_a_bad_import_is_found(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    assert check_imports(tree(tmp_path, files)) == [problem]


def test_imports_down_and_circles_of_types_alone_are_right(tmp_path: Path) -> None:
    files = {
        "study/a.py": "import whylate.run.b\nimport whylate.report.c\n",
        "run/b.py": "from whylate.recording import d\n",
        "report/c.py": "import whylate.stats.e\n",
        "recording/d.py": "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import whylate.recording.f\n",
        "recording/f.py": "import whylate.recording.d\nimport whylate.text\n",
        "stats/e.py": "",
        "text.py": "",
    }
    assert check_imports(tree(tmp_path, files)) == []


def tree(directory: Path, files: dict[str, str]) -> Path:
    """Write the files of a package whylate."""
    package = directory / "whylate"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
        (package / "__init__.py").touch()
    return package
