"""One root gives the same list, however it is packed; other tools see the same differences.

The roots are of Debian's packages of two architectures.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bisect_roots import fetch, install, make_image
from whylate.bisect.differences.find import find_differences
from whylate.bisect.differences.model import Differences
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.read import read_side

PACKAGES = ("libc6", "zlib1g", "busybox-static")
RC_LOCAL = "#!/bin/sh\n{}exit 0\n"
HUGE = "echo always > /sys/kernel/mm/transparent_hugepage/enabled\n"


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("roots")
    roots = folder / "fast", folder / "slow"
    for root, architecture, line in zip(roots, ("amd64", "arm64"), (HUGE, ""), strict=True):
        for package in fetch(architecture, PACKAGES):
            install(root, package)
        (root / "etc/rc.local").write_text(RC_LOCAL.format(line))
        (root / "etc/rc.local").chmod(0o755)
    (roots[1] / "bin/busybox").chmod(0o4755)
    return roots


def compare(first: Path, second: Path) -> Differences:
    sides = [read_side(str(path), lambda _: None) for path in (first, second)]
    return find_differences(sides[0], sides[1])


def test_diff_names_the_same_files(roots: tuple[Path, Path]) -> None:
    done = subprocess.run(
        ["diff", "-r", "-q", "--no-dereference", *roots],
        check=False,
        capture_output=True,
        text=True,
    )
    expected = set()
    for line in done.stdout.splitlines():
        if line.startswith("Only in "):
            place, _, name = line.removeprefix("Only in ").partition(": ")
            expected.add(f"{place}/{name}")
        else:
            expected.add(line.split()[1])
    relative = {
        str(Path(path).relative_to(root))
        for path in expected
        for root in roots
        if Path(path).is_relative_to(root)
    }
    # What diff does not open is below a directory that only one side has.
    listed = compare(*roots).listed
    names = {difference.name for difference in listed if difference.kind is Kind.FILE}
    own = {name for name in relative if not name.startswith("var/lib/dpkg/")}
    above = {str(parent) for name in names for parent in Path(name).parents}
    assert own <= names
    assert all(
        name in own or any(str(parent) in own for parent in Path(name).parents) or ": " in name
        for name in names
    )
    assert {"bin/busybox", "etc/rc.local"} <= own
    assert "lib" in above


def test_dpkg_shows_the_same_versions(roots: tuple[Path, Path]) -> None:
    shown = []
    for root in roots:
        done = subprocess.run(
            ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W",
             "-f", "${Package} ${Version} ${Architecture}\n"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        shown.append(dict(line.split(" ", 1) for line in done.stdout.splitlines()))
    packages = {
        difference.name: (difference.first, difference.second)
        for difference in compare(*roots).listed
        if difference.kind is Kind.PACKAGE
    }
    assert packages == {name: (shown[0][name], shown[1][name]) for name in PACKAGES}


def test_directory_tarball_and_image_give_the_same_list(
    roots: tuple[Path, Path], tmp_path: Path
) -> None:
    expected = compare(*roots)
    for option, suffix in (("-z", "gz"), ("-J", "xz"), ("--zstd", "zst")):
        tar = tmp_path / f"slow.{suffix}"
        environment = {"XZ_OPT": "-0", "PATH": "/usr/bin:/bin"}
        subprocess.run(
            ["tar", option, "-C", roots[1], "-cf", tar, "."], check=True, env=environment
        )
        assert compare(roots[0], tar).listed == expected.listed
    image = make_image(roots[1], tmp_path / "slow.ext4", 48)
    assert compare(roots[0], image).listed == expected.listed
    assert compare(image, roots[1]).listed == ()


def test_the_list_leads_from_a_package_to_its_files_and_from_a_file_to_its_line(
    roots: tuple[Path, Path],
) -> None:
    listed = compare(*roots).listed
    by_name = {difference.name: difference for difference in listed}
    busybox = by_name["bin/busybox"]
    assert busybox.parent == by_name["busybox-static"].id
    mode = by_name["bin/busybox: mode"]
    assert (mode.first, mode.second) == ("mode 0755", "mode 4755")
    line = by_name["etc/rc.local:2"]
    assert (line.kind, line.first, line.second) == (Kind.LINE, HUGE, None)
    assert line.parent == by_name["etc/rc.local"].id
    assert by_name["etc/rc.local"].parent is None
    position = {difference.id: number for number, difference in enumerate(listed)}
    assert all(
        position[difference.parent] < position[difference.id]
        for difference in listed
        if difference.parent is not None
    )


def test_libc_and_its_loader_are_one_atom(roots: tuple[Path, Path]) -> None:
    by_name = {difference.name: difference for difference in compare(*roots).listed}
    together = {
        by_name[f"lib/{name}"].atom
        for name in (
            "x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "x86_64-linux-gnu/libc.so.6",
            "x86_64-linux-gnu/libpthread.so.0",
            "aarch64-linux-gnu/libm.so.6",
        )
    }
    assert len(together) == 1
    assert None not in together
    # libz is of another package, and bound to nothing but the link to it.
    assert by_name["lib/x86_64-linux-gnu/libz.so.1"].atom not in together


def test_the_books_of_dpkg_are_not_listed_beside_its_packages(roots: tuple[Path, Path]) -> None:
    differences = compare(*roots)
    assert not [
        difference for difference in differences.listed if "var/lib/dpkg" in difference.name
    ]
    assert any("package manager" in note for note in differences.notes)
