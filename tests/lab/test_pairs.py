"""Pairs of roots: their recipes, and what is made of them."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from whylate.bisect.differences.find import find_differences
from whylate.bisect.sides.read import read_side
from whylate.lab.cache import cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.pairs.make import make_pair
from whylate.lab.pairs.recipe import SIDES, overlay_directories, pair_names, read_recipe
from whylate.lab.pairs.tree import RootTree, merged

THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def text_of(name: str, side: str, path: str) -> str:
    """Return a file of a recipe as the last of its overlays has it."""
    files = [d / path for d in overlay_directories(read_recipe(name), side) if (d / path).exists()]
    return files[-1].read_text()


def test_every_recipe_is_complete() -> None:
    assert pair_names() == ["nothing", "one-line", "two-settings"]
    for name in pair_names():
        recipe = read_recipe(name)
        virtual_board(recipe.board)
        for side in SIDES:
            assert recipe.sides[side].kernel.startswith("linux-image-")
            assert overlay_directories(recipe, side)
    with pytest.raises(LabError, match="expected one of nothing, one-line, two-settings"):
        read_recipe("../one-line")


def test_only_the_vendors_rc_local_switches_huge_pages() -> None:
    sides = {name: [THP in text_of(name, side, "etc/rc.local") for side in SIDES]
             for name in pair_names()}  # fmt: skip
    assert sides == {
        "nothing": [False, False], "one-line": [True, False], "two-settings": [True, False],
    }  # fmt: skip
    ours, vendors = (text_of("two-settings", side, "etc/default/copy") for side in reversed(SIDES))
    assert set(vendors.splitlines()) - set(ours.splitlines()) == {
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"
    }


def test_paths_of_packages_are_merged_into_usr() -> None:
    names = ["./lib/x", "./bin", "usr/bin/a", "./lib64/ld.so", "/sbin/../etc/y", "."]
    assert [merged(name) for name in names] == [
        "usr/lib/x", "", "usr/bin/a", "usr/lib64/ld.so", "usr/sbin/etc/y", "",
    ]  # fmt: skip


def test_a_tree_is_written_to_the_same_bytes_with_parents_before_files(tmp_path: Path) -> None:
    for name, order in (("a", ("x/y/z", "b")), ("b", ("b", "x/y/z"))):
        tree = RootTree()
        for path in order:
            tree.file(path, path.encode())
        tree.write(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with tarfile.open(tmp_path / "a") as tar:
        listed = tar.getnames()
        assert listed.index("x") < listed.index("x/y") < listed.index("x/y/z")
        assert tar.getmember("lib").linkname == "usr/lib"
        assert {member.uid for member in tar} == {0}


def install_small_kernel(tree: RootTree, package: Path, modules: Sequence[str]) -> None:
    """Add a kernel of a few bytes, which takes no time to unpack."""
    release = package.name.split("_")[1]
    tree.file(f"boot/vmlinuz-{release}", release.encode())
    tree.file(f"boot/config-{release}", f'CONFIG_LOCALVERSION="{release}"\n'.encode())
    for module in modules:
        path = f"usr/lib/modules/{release}/kernel/{module.replace('*', 'all')}.ko"
        tree.file(path, release.encode())


def test_a_pair_differs_in_hundreds_of_things_of_six_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RootTree, "install_kernel", install_small_kernel)
    recipe = read_recipe("one-line")
    packages = cache_directory() / "packages"
    for suite in ("arm64", f"arm64-{recipe.sides['vendor'].release}"):
        if not (packages / suite / "debs" / recipe.packages[-1]).exists():
            pytest.skip("the packages of the pair are not here: make lab")
    paths = make_pair("one-line", tmp_path, lambda _: None)
    assert all(path.stat().st_size < 60 << 20 for path in paths.values())
    vendor, ours = (read_side(str(paths[side]), lambda _: None) for side in SIDES)
    differences = find_differences(vendor, ours).listed
    tops = [difference for difference in differences if difference.parent is None]
    counts = Counter(difference.kind.value for difference in differences)
    assert len(differences) >= 200
    assert len([kind for kind, count in counts.items() if count]) >= 6
    assert {"kernel image", "package", "command line", "module"} <= counts.keys()
    assert any(difference.name == "libc6" for difference in tops)
    assert [d.name for d in differences if d.kind.value == "line" and THP in f"{d.first}"]
