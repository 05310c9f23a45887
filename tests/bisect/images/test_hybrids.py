"""What a hybrid has of either root: lines, words, packages, kernels, modes."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hybrid_roots import hybrid_of, item_named, members_of, roots_of, write_members

from bisect_roots import enter, write_root
from whylate.bisect.differences.choose import Choice
from whylate.bisect.differences.kernels import Names
from whylate.bisect.images.books import Exchange, text_of_status
from whylate.bisect.images.errors import HybridError
from whylate.bisect.images.roots import Roots

Files = Mapping[str, str | bytes]


@contextmanager
def two(
    tmp_path: Path, first: Files, second: Files, choice: Choice | None = None
) -> Iterator[Roots]:
    for side, files in (("first", first), ("second", second)):
        write_root(tmp_path / side, files)
    with roots_of(tmp_path / "first", tmp_path / "second", tmp_path, choice) as roots:
        yield roots


def contents(roots: Roots, tmp_path: Path, *names: str, base: bool = False) -> dict[str, bytes]:
    """Return the files of a hybrid with the items of these names."""
    chosen = np.zeros(len(roots.items), bool)
    chosen[[item_named(roots, name) for name in names]] = True
    path = tmp_path / "hybrid.tar"
    hybrid_of(roots, chosen, path, base=base)
    held = members_of(path)
    return {name: row[5] for name, row in held.items() if isinstance(row[5], bytes)}


def test_one_line_of_a_file_is_exchanged(tmp_path: Path) -> None:
    first, second = "a\nb 1\nc\nd\n", "a\nb 2\nc\nd 2\nnew\n"
    with two(tmp_path, {"etc/rc.local": first}, {"etc/rc.local": second}) as roots:
        assert len(roots.items) == 2
        mixed = contents(roots, tmp_path, "etc/rc.local:2")
        assert mixed["etc/rc.local"] == b"a\nb 2\nc\nd\n"
        mixed = contents(roots, tmp_path, "etc/rc.local:4")
        assert mixed["etc/rc.local"] == b"a\nb 1\nc\nd 2\nnew\n"


def test_entries_of_packages_do_not_run_into_each_other() -> None:
    sides = b"Package: a\nVersion: 1", b"Package: a\nVersion: 2\n\nPackage: b\nVersion: 1\n\n"
    names = Names(None), Names(None)
    text = text_of_status(*sides, names, Exchange({"a": "a", "b": "b"}, "rest"))
    assert text.mixed(lambda identity: identity == "b") == (
        b"Package: a\nVersion: 1\n\nPackage: b\nVersion: 1\n\n"
    )
    assert text.mixed(lambda _: False) == sides[0]
    assert text.mixed(lambda _: True) == sides[1]


def test_words_of_a_command_line_are_exchanged_alone(tmp_path: Path) -> None:
    lines = "console=ttyS0 quiet nohz=on\n", 'console=ttyS0 nohz=off v="a b"\n'
    sides = [{"boot/cmdline.txt": line} for line in lines]
    with two(tmp_path, sides[0], sides[1]) as roots:
        assert [item.name for item in roots.items] == ["nohz", "quiet", "v"]
        mixed = contents(roots, tmp_path, "nohz")["boot/cmdline.txt"]
        assert sorted(mixed.split()) == [b"console=ttyS0", b"nohz=off", b"quiet"]
        mixed = contents(roots, tmp_path, "quiet")["boot/cmdline.txt"]
        assert mixed.split() == [b"console=ttyS0", b"nohz=on"]
        assert b'v="a b"' in contents(roots, tmp_path, "v")["boot/cmdline.txt"]


def test_a_kernel_is_exchanged_with_all_that_is_its(tmp_path: Path) -> None:
    def kernel(release: str) -> dict[str, str | bytes]:
        return {
            f"boot/vmlinuz-{release}": release,
            f"boot/config-{release}": f"CONFIG_HZ={release[-1]}\n",
            f"lib/modules/{release}/x.ko": f"x {release}",
            f"lib/modules/{release}/modules.order": "x.ko",
            "etc/other": release,
        }

    with two(tmp_path, kernel("6.1-1"), kernel("6.12-2")) as roots:
        assert len(roots.items) == 2
        files = contents(roots, tmp_path, "boot/vmlinuz")
        assert sorted(files) == sorted([*(name for name in kernel("6.12-2"))])
        assert files["etc/other"] == b"6.1-1"
        assert files["lib/modules/6.12-2/x.ko"] == b"x 6.12-2"


def packages(root: Path, version: str) -> None:
    write_root(root, {"usr/bin/tool": version, "usr/share/doc/tool": version, "etc/own": "same"})
    enter(root, "tool", ["/usr/bin/tool", "/usr/share/doc/tool"], f"Version: {version}")
    enter(root, "other", ["/etc/own"], "Version: 1")
    if version == "2":
        enter(root, "new", [], "Version: 1")


def test_a_package_has_its_entry_and_each_of_its_files(tmp_path: Path) -> None:
    for side, version in (("first", "1"), ("second", "2")):
        packages(tmp_path / side, version)
    with roots_of(tmp_path / "first", tmp_path / "second", tmp_path) as roots:
        assert not roots.has_rest
        files = contents(roots, tmp_path, "usr/bin/tool:1")
        assert (files["usr/bin/tool"], files["usr/share/doc/tool"]) == (b"2", b"1")
        assert (
            b"Package: tool\nStatus: install ok installed\nVersion: 1"
            in files["var/lib/dpkg/status"]
        )
        files = contents(roots, tmp_path, "tool")
        assert files["usr/bin/tool"] == b"1"
        status = files["var/lib/dpkg/status"]
        assert b"Package: tool\nStatus: install ok installed\nVersion: 2" in status
        assert b"Package: new" not in status
        assert b"Package: new" in contents(roots, tmp_path, "new")["var/lib/dpkg/status"]
        # All that is of the package is opened together.
        groups = {item.groups[0] for item in roots.items if "tool" in item.name}
        assert len(groups) == 1


def test_what_is_kept_or_excluded_stays_with_the_base(tmp_path: Path) -> None:
    sides = [{"a": f"{n}\n", "b": f"{n}\n", "c": f"{n}\n"} for n in (1, 2)]
    with two(tmp_path, sides[0], sides[1], Choice(exclude=("a",), keep=("b",))) as roots:
        assert roots.has_rest
        assert [item.name for item in roots.items] == ["c:1"]
        assert contents(roots, tmp_path, "c:1") == {"a": b"1\n", "b": b"1\n", "c": b"2\n"}
        files = contents(roots, tmp_path, base=True)
        assert files == {"a": b"2\n", "b": b"2\n", "c": b"1\n"}


def test_what_is_pinned_is_one_with_its_parts(tmp_path: Path) -> None:
    sides = [{"etc/a": f"{n}\nx\n{n}\n", "etc/b": f"{n}\n", "c": f"{n}\n"} for n in (1, 2)]
    with two(tmp_path, sides[0], sides[1], Choice(pin=("etc/*",))) as roots:
        assert sorted(len(item.members) for item in roots.items) == [1, 3]
    for side, version in (("one", "1"), ("two", "2")):
        packages(tmp_path / side, version)
    with roots_of(tmp_path / "one", tmp_path / "two", tmp_path, Choice(pin=("tool",))) as roots:
        # Its entry, and a line of each of its two files.
        assert len(roots.items[item_named(roots, "tool")].members) == 3


def test_a_directory_of_one_root_is_there_with_what_is_in_it(tmp_path: Path) -> None:
    with two(tmp_path, {"a": ""}, {"a": "", "d/e/f": "f", "d/g": "g"}) as roots:
        assert len(roots.items) == 2
        assert sorted(contents(roots, tmp_path, "d/g")) == ["a", "d/g"]
        assert sorted(contents(roots, tmp_path)) == ["a"]
        hybrid = roots.hybrid(np.zeros(2, bool), second_base=True)
        assert sorted(hybrid.entries) == ["a"]


def test_a_file_and_a_directory_of_its_name_are_exchanged_together(tmp_path: Path) -> None:
    with two(tmp_path, {"a": "file"}, {"a/b": "b", "a/c": "c"}) as roots:
        assert len(roots.items) == 1


def test_modes_and_devices_are_exchanged(tmp_path: Path) -> None:
    paths = []
    for side, mode, kind in (("first", 0o644, tarfile.CHRTYPE), ("second", 0o755, tarfile.BLKTYPE)):
        path = write_members(tmp_path / f"{side}.tar", {"x": ("file", mode, "x")})
        with tarfile.open(path, "a") as archive:
            node = tarfile.TarInfo("node")
            node.type, node.devmajor, node.devminor = kind, 8, 1
            archive.addfile(node)
        paths.append(path)
    with roots_of(paths[0], paths[1], tmp_path) as roots:
        assert [item.name for item in roots.items] == ["node", "x"]
        path = tmp_path / "hybrid.tar"
        hybrid_of(roots, [True, False], path, base=False)
        held = members_of(path)
        assert (held["node"][0], held["x"][1]) == (tarfile.BLKTYPE, 0o644)
        hybrid_of(roots, [False, True], path, base=False)
        held = members_of(path)
        assert (held["node"][0], held["x"][1]) == (tarfile.CHRTYPE, 0o755)


def test_a_root_that_has_changed_is_no_root_of_hybrids(tmp_path: Path) -> None:
    write_root(tmp_path / "first", {"a": b"\x00 1"})
    write_root(tmp_path / "second", {"a": b"\x00 2"})
    with roots_of(tmp_path / "first", tmp_path / "second", tmp_path) as roots:
        (tmp_path / "pool").write_bytes(b"something else")
        with pytest.raises(HybridError, match="was changed"):
            contents(roots, tmp_path)
