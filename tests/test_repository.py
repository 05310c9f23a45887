"""The repository: what must agree between files that no import connects."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from whylate import __version__

ROOT = Path(__file__).resolve().parents[1]
MAX_FILE_BYTES = 1 << 20


def constraints() -> dict[str, str]:
    """Return the pinned version of each package, by its canonical name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, _equal, version in pinned}


def test_both_ends_of_the_wire_are_what_the_schema_says() -> None:
    done = subprocess.run(
        [sys.executable, "tools/wiregen.py", "--check"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_and_probe_have_one_version() -> None:
    found = re.search(r"version: '([^']+)'", (ROOT / "probe" / "meson.build").read_text())
    assert found is not None
    assert found[1] == __version__


def test_the_changelog_knows_this_version() -> None:
    headings = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == __version__


def test_constraints_are_names_and_exact_versions_alone() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    for line in pins:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line


def test_constraints_lie_within_the_ranges_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = [Requirement(text) for group in (project["dependencies"], *extras) for text in group]
    pinned = constraints()
    for requirement in asked:
        if requirement.name != "whylate":
            version = pinned[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), f"{requirement} is pinned to {version}"


def test_no_file_in_git_is_larger_than_one_mebibyte() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    paths = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    assert len(paths) > 50
    large = [str(path) for path in paths if path.is_file() and path.stat().st_size > MAX_FILE_BYTES]
    assert large == []
