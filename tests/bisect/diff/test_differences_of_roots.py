"""What differs between two roots, and what belongs together."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from bisect_roots import enter, write_root
from whylate.bisect.differences.choose import Choice
from whylate.bisect.differences.find import find_differences
from whylate.bisect.differences.model import Difference, Differences
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.read import read_side
from whylate.lab.device_tree import with_property

Files = Mapping[str, str | bytes]


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "fast", tmp_path / "slow"


def compare(roots: tuple[Path, Path], choice: Choice | None = None) -> Differences:
    sides = [read_side(str(root), lambda _: None) for root in roots]
    return find_differences(sides[0], sides[1], choice)


def listed(roots: tuple[Path, Path], first: Files, second: Files) -> dict[str, Difference]:
    for root, files in zip(roots, (first, second), strict=True):
        write_root(root, files)
    return {difference.name: difference for difference in compare(roots).listed}


def kernel(release: str, *, module: str = "module") -> dict[str, str | bytes]:
    """Return the files of a kernel."""
    return {
        f"boot/vmlinuz-{release}": f"kernel {release}",
        f"boot/config-{release}": f"CONFIG_HZ=250\nCONFIG_PREEMPT_RT={'y' * ('rt' in release)}\n"
        if "rt" in release
        else "CONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\n",
        f"lib/modules/{release}/kernel/fs/ext4/ext4.ko": f"{module} {release}",
        f"lib/modules/{release}/modules.dep": "kernel/fs/ext4/ext4.ko:\n",
    }


def test_kernels_of_two_releases_are_one_atom_with_their_modules_and_options(
    roots: tuple[Path, Path],
) -> None:
    by_name = listed(roots, kernel("6.1.0-1-amd64"), kernel("6.1.0-1-rt-amd64"))
    image = by_name["boot/vmlinuz"]
    assert image.kind is Kind.KERNEL
    assert (image.first or "").startswith("6.1.0-1-amd64, ")
    module, option = by_name["ext4"], by_name["PREEMPT_RT"]
    assert (module.kind, option.kind) == (Kind.MODULE, Kind.OPTION)
    assert (option.first, option.second, option.means.method) == (None, "y", "with parent")
    assert {module.parent, option.parent} == {image.id}
    assert {image.atom, module.atom, option.atom} == {image.id}
    # The same on both sides, by a name without the release.
    assert not [name for name in by_name if "modules.dep" in name or "config-" in name]


def test_modules_of_the_same_kernel_can_be_set_alone(roots: tuple[Path, Path]) -> None:
    by_name = listed(roots, kernel("6.1"), kernel("6.1", module="patched"))
    assert list(by_name) == ["ext4 of 6.1"]
    assert by_name["ext4 of 6.1"].atom is None


def test_of_two_kernels_only_the_one_that_differs_has_its_modules(
    roots: tuple[Path, Path],
) -> None:
    rebuilt = kernel("6.1-b", module="patched") | {"boot/vmlinuz-6.1-b": "rebuilt"}
    by_name = listed(
        roots,
        kernel("6.1-a") | kernel("6.1-b"),
        kernel("6.1-a", module="patched") | rebuilt,
    )
    image = by_name["boot/vmlinuz-6.1-b"]
    assert by_name["ext4 of 6.1-b"].parent == image.id
    assert by_name["ext4 of 6.1-a"].parent is None


def test_a_file_is_below_its_package_if_the_versions_differ(roots: tuple[Path, Path]) -> None:
    for root, version in zip(roots, ("1.0", "1.1"), strict=True):
        write_root(root, {"usr/bin/tool": version, "usr/bin/same": version})
        (root / "lib").symlink_to("usr/lib")
        write_root(root, {"usr/lib/libtool.so.1": version})
        enter(
            root,
            "tool",
            ["/.", "/usr", "/usr/bin", "/usr/bin/tool", "/lib/libtool.so.1"],
            f"Version: {version}\nArchitecture: amd64",
        )
        enter(root, "kept", ["/usr/bin/same"], "Version: 2\nArchitecture: amd64")
    by_name = {difference.name: difference for difference in compare(roots).listed}
    package = by_name["tool"]
    assert (package.first, package.second) == ("1.0 amd64", "1.1 amd64")
    assert by_name["usr/bin/tool"].parent == package.id
    # Through the link by which a root has one /lib.
    assert by_name["usr/lib/libtool.so.1"].parent == package.id
    # Somebody has changed a file of a package that is the same.
    assert by_name["usr/bin/same"].parent is None


def test_packages_that_need_the_same_version_are_one_atom(roots: tuple[Path, Path]) -> None:
    for root, version in zip(roots, ("1", "2"), strict=True):
        root.mkdir()
        enter(root, "libfoo", [], f"Version: {version}")
        enter(root, "foo-tools", [], f"Version: {version}\nDepends: libfoo (= {version}), libc6")
        enter(root, "bar", [], f"Version: {version}\nDepends: libfoo (>= 1)")
    by_name = {difference.name: difference for difference in compare(roots).listed}
    assert by_name["libfoo"].atom == by_name["foo-tools"].atom is not None
    assert by_name["bar"].atom is None


def test_a_link_to_a_library_goes_with_it(roots: tuple[Path, Path]) -> None:
    for root, version in zip(roots, ("1.2", "1.3"), strict=True):
        write_root(root, {f"usr/lib/libx.so.{version}": version})
        (root / "usr/lib/libx.so.1").symlink_to(f"libx.so.{version}")
    differences = compare(roots).listed
    assert len(differences) == 3
    assert len({difference.atom for difference in differences} - {None}) == 1


def test_settings_of_one_file_are_lines_of_their_own(roots: tuple[Path, Path]) -> None:
    by_name = listed(
        roots,
        {"etc/sysctl.conf": "a = 1\nb = 1\nc = 1\n", "etc/new": "one\n"},
        {"etc/sysctl.conf": "a = 2\nb = 2\nc = 1\nd = 4\n"},
    )
    assert by_name["etc/sysctl.conf:1"].second == "a = 2\n"
    assert by_name["etc/sysctl.conf:2"].second == "b = 2\n"
    assert (by_name["etc/sysctl.conf:4"].first, by_name["etc/sysctl.conf:4"].second) == (
        None,
        "d = 4\n",
    )
    assert by_name["etc/new"].second is None


def test_what_others_may_not_read_is_not_opened(roots: tuple[Path, Path]) -> None:
    for root, line in zip(roots, ("root:secret\n", "root:other\n"), strict=True):
        write_root(root, {"etc/shadow": line})
        (root / "etc/shadow").chmod(0o640)
    differences = compare(roots).listed
    assert [difference.name for difference in differences] == ["etc/shadow"]
    assert not any("secret" in str(difference) for difference in differences)


def test_binaries_and_long_texts_are_atoms(roots: tuple[Path, Path]) -> None:
    by_name = listed(
        roots,
        {"bin/tool": b"\x7fELF\0one", "latin": b"caf\xe9 1\n", "same-lines": "x\n" * 4000 + "y\n"},
        {"bin/tool": b"\x7fELF\0two", "latin": b"caf\xe9 2\n", "same-lines": "z\n" + "x\n" * 3999},
    )
    assert [name for name in by_name if by_name[name].kind is Kind.LINE] == []
    assert set(by_name) == {"bin/tool", "latin", "same-lines"}


def test_a_command_line_in_a_file_is_opened_to_words(roots: tuple[Path, Path]) -> None:
    by_name = listed(
        roots,
        {"boot/extlinux/extlinux.conf": "label a\n  append quiet isolcpus=1 console=tty0\n"},
        {"boot/extlinux/extlinux.conf": "label b\n  append isolcpus=2 console=tty0 nohlt\n"},
    )
    file = by_name.pop("boot/extlinux/extlinux.conf")
    kinds = {name: difference.kind for name, difference in by_name.items()}
    assert kinds == {
        "quiet": Kind.ARGUMENT,
        "isolcpus": Kind.ARGUMENT,
        "nohlt": Kind.ARGUMENT,
        "boot/extlinux/extlinux.conf:1": Kind.LINE,
    }
    assert {difference.parent for difference in by_name.values()} == {file.id}


def test_a_device_tree_is_opened_to_properties(roots: tuple[Path, Path]) -> None:
    tree = device_tree()
    changed = with_property(tree, "/soc", "clock-frequency", [0x10])
    by_name = listed(roots, {"boot/board.dtb": tree}, {"boot/board.dtb": changed})
    difference = by_name["boot/board.dtb:/soc/clock-frequency"]
    assert (difference.kind, difference.first, difference.second) == (
        Kind.DEVICE_TREE,
        "<0x20>",
        "<0x10>",
    )


def device_tree() -> bytes:
    """Return a tree with the node /soc, whose clock-frequency is 0x20."""
    strings = b"clock-frequency\0"
    body = struct.pack(">I4sI4s3I", 1, b"\0\0\0\0", 1, b"soc\0", 3, 4, 0)
    body += struct.pack(">4I", 0x20, 2, 2, 9)
    header = struct.pack(
        ">10I", 0xD00DFEED, 40 + len(body) + 16, 40, 40 + len(body), 40, 17, 16, 0, len(strings),
        len(body),
    )  # fmt: skip
    return header + body + strings


def test_what_is_in_a_folder_of_one_side_is_below_it(roots: tuple[Path, Path]) -> None:
    by_name = listed(roots, {"opt/vendor/bin/a": "a", "opt/vendor/b": "b"}, {"etc/x": ""})
    assert by_name["opt/vendor"].parent == by_name["opt"].id
    assert by_name["opt/vendor/bin/a"].parent == by_name["opt/vendor/bin"].id


def test_the_same_roots_give_the_same_ids_wherever_they_lie(
    roots: tuple[Path, Path], tmp_path: Path
) -> None:
    files: tuple[Files, Files] = ({"etc/a": "1\n", "b": "x"}, {"etc/a": "2\n", "c": "x"})
    first = listed(roots, *files)
    second = listed((tmp_path / "x", tmp_path / "y"), *files)
    assert list(first.values()) == list(second.values())
    swapped = {difference.id for difference in compare((roots[1], roots[0])).listed}
    assert swapped.isdisjoint(difference.id for difference in first.values())


def test_patterns_exclude_keep_and_pin(roots: tuple[Path, Path]) -> None:
    listed(
        roots,
        {"etc/a": "1\n", "etc/b": "1\n", "usr/share/doc/x": "1\n", "var/log/y": "1"},
        {"etc/a": "2\n", "etc/b": "2\n", "usr/share/doc/x": "2\n", "var/log/y": "2"},
    )
    choice = Choice(exclude=("usr/share/doc/*",), keep=("file:var/*",), pin=("file:etc/*",))
    differences = compare(roots, choice)
    by_name = {difference.name: difference for difference in differences.listed}
    assert set(by_name) == {"etc/a", "etc/a:1", "etc/b", "etc/b:1", "var/log/y", "var/log/y:1"}
    assert differences.excluded == 2
    assert {name for name in by_name if by_name[name].kept} == {"var/log/y", "var/log/y:1"}
    assert by_name["etc/a"].atom == by_name["etc/b"].atom == by_name["etc/a"].id
    assert by_name["etc/a:1"].atom is None


def test_what_could_not_be_read_is_said_and_not_equal(
    roots: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(roots, {"big": "12"}, {"big": "13"})
    monkeypatch.setattr("whylate.bisect.sides.directory.MAX_FILE", 1)
    differences = compare(roots)
    assert differences.listed == ()
    assert any("1 files of the same size are not known" in note for note in differences.notes)


def test_owner_and_device_numbers_differ(roots: tuple[Path, Path]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root changes owners and makes devices")
    for number, root in enumerate(roots):
        write_root(root, {"etc/a": "same"})
        os.chown(root / "etc/a", number, 7)
        os.mknod(root / "null", 0o20666, os.makedev(1, 3 + number))
    by_name = {difference.name: difference for difference in compare(roots).listed}
    assert (by_name["etc/a"].first, by_name["etc/a"].second) == ("owner 0:7", "owner 1:7")
    assert (by_name["null"].first, by_name["null"].second) == ("device 1:3", "device 1:4")


def test_managers_that_differ_are_not_compared(roots: tuple[Path, Path]) -> None:
    write_root(roots[0], {"var/lib/dpkg/status": "Package: a\nVersion: 1\n"})
    write_root(roots[1], {"usr/lib/opkg/status": "Package: a\nVersion: 2\n"})
    reasons = {missing.kind: missing.reason for missing in compare(roots).not_compared}
    assert reasons[Kind.PACKAGE] == f"{roots[0]} shows dpkg, {roots[1]} opkg"
    write_root(roots[1], {"var/lib/rpm/Packages": "db"})
    (roots[1] / "usr/lib/opkg/status").unlink()
    reasons = {missing.kind: missing.reason for missing in compare(roots).not_compared}
    assert "rpm's, whose database is not read" in reasons[Kind.PACKAGE]
