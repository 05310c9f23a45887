"""Makes the two roots of a pair from its recipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from whylate.lab.cache import building, cache_directory, disk_errors
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.packages import Packages
from whylate.lab.pairs.recipe import SIDES, Recipe, overlay_directories, read_recipe
from whylate.lab.pairs.tree import RootTree


def make_pair(
    name: str, directory: Path, notify: Callable[[str], None], *, update: bool = False
) -> dict[str, Path]:
    """Write the roots of a pair into a directory, and return their paths by side.

    Fetches missing packages. update: look for newer packages first. Raises LabError.
    """
    recipe = read_recipe(name)
    cache = cache_directory()
    written = {}
    with building(cache, notify):
        for side in SIDES:
            tree = _compose(recipe, side, cache / "packages", notify, update=update)
            written[side] = directory / f"{side}.tar"
            with disk_errors(directory):
                directory.mkdir(parents=True, exist_ok=True)
                tree.write(written[side])
    return written


def _compose(
    recipe: Recipe, side: str, packages: Path, notify: Callable[[str], None], *, update: bool
) -> RootTree:
    """Return the files of a root; raises LabError."""
    wanted = recipe.sides[side]
    arch = virtual_board(recipe.board).description.debian_arch
    shared = Packages(packages, arch, recipe.shared_release)
    own = Packages(packages, arch, wanted.release)
    tree = RootTree()
    for source, names in ((shared, recipe.shared), (own, recipe.packages)):
        for name, package in zip(
            names, source.fetch_all(names, notify, update=update), strict=True
        ):
            tree.install(package, recipe.leave_out, recipe.only.get(name, ["*"]))
    kernels = Packages(packages, arch, wanted.kernel_release or wanted.release)
    kernel = kernels.dependency(wanted.kernel, "linux-image-", notify, update=update)
    tree.install_kernel(kernels.fetch(kernel, notify, update=update), recipe.modules)
    for applet in recipe.applets:
        if f"usr/bin/{applet}" not in tree.files:
            tree.link(f"usr/bin/{applet}", "busybox")
    for path, target in {**recipe.links, **wanted.links}.items():
        tree.link(path, target)
    for directory in overlay_directories(recipe, side):
        tree.overlay(directory)
    tree.file("boot/cmdline.txt", f"{wanted.command_line}\n".encode())
    if not any(path.startswith("boot/vmlinuz-") for path in tree.files):
        raise LabError(f"{kernel} has no kernel: the recipe does not fit this version")
    return tree
