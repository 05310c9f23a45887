"""Files with several names: one item, and one file in each hybrid, whatever a root is."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hybrid_roots import hybrid_of, item_named, members_of, roots_of

from bisect_roots import make_image, write_root
from whylate.bisect.sides.read import read_side


def write_linked(directory: Path, files: Mapping[str, str], links: Mapping[str, str]) -> Path:
    """Write a root; links: names, and of which name each is a hard link."""
    root = write_root(directory, files)
    for name, first in links.items():
        os.link(root / first, root / name)
    return root


def tarball_of(root: Path) -> Path:
    path = root.with_suffix(".tar")
    with tarfile.open(path, "w") as archive:
        archive.add(root, arcname=".")
    return path


def image_of(root: Path) -> Path:
    return make_image(root, root.with_suffix(".ext4"))


@pytest.mark.parametrize("kind", [lambda root: root, tarball_of, image_of],
                         ids=["directory", "tarball", "ext4"])  # fmt: skip
def test_names_of_one_file_follow_together(tmp_path: Path, kind: Callable[[Path], Path]) -> None:
    sides = [
        kind(
            write_linked(
                tmp_path / side,
                {"bin/tool": f"tool\nof {side}\n", "etc/a": f"{side}\n", "bin/same": "same"},
                {"bin/also": "bin/tool", "bin/like": "bin/same"},
            )
        )
        for side in ("first", "second")
    ]
    side = read_side(str(sides[0]), lambda _: None)
    assert side.tree is not None
    assert side.tree.links == {
        "bin/also": "bin/also", "bin/tool": "bin/also", "bin/like": "bin/like",
        "bin/same": "bin/like",
    }  # fmt: skip
    with roots_of(sides[0], sides[1], tmp_path) as roots:
        names = [sorted(member.name for member in item.members) for item in roots.items]
        assert sorted(names) == [["bin/also:2", "bin/tool:2"], ["etc/a:1"]]
        for chosen, of in (("etc/a:1", b"first"), ("bin/tool:2", b"second")):
            mask = np.zeros(2, bool)
            mask[item_named(roots, chosen)] = True
            path = tmp_path / "hybrid.tar"
            hybrid_of(roots, mask, path, base=False)
            held = members_of(path)
            assert held["bin/also"][5] == b"tool\nof " + of + b"\n"
            assert held["bin/tool"][0] == held["bin/same"][0] == tarfile.LNKTYPE
            assert held["bin/tool"][4] == "bin/also"
            assert held["bin/same"][4] == "bin/like"
            again = read_side(str(path), lambda _: None)
            assert again.tree is not None
            assert again.tree.links == side.tree.links


def test_names_that_are_one_file_in_one_root_alone_are_so_in_what_is_of_it(tmp_path: Path) -> None:
    first = write_linked(tmp_path / "first", {"a": "1"}, {"b": "a"})
    second = write_root(tmp_path / "second", {"a": "2", "b": "1"})
    with roots_of(first, second, tmp_path) as roots:
        assert [item.name for item in roots.items] == ["a:1"]
        for chosen, links in (([False], {"b": "a"}), ([True], {})):
            assert roots.hybrid(np.array(chosen), second_base=False).links == links


def test_equal_files_that_are_one_in_one_root_alone_stay_apart(tmp_path: Path) -> None:
    first = write_linked(tmp_path / "first", {"a": "1", "c": "1"}, {"b": "a"})
    second = write_root(tmp_path / "second", {"a": "1", "b": "1", "c": "2"})
    with roots_of(first, second, tmp_path) as roots:
        assert roots.hybrid(np.array([False]), second_base=False).links == {}
