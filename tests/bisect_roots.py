"""Root file systems for tests: of real Debian packages, and of a few lines."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from whylate.lab.cache import cache_directory
from whylate.lab.errors import LabError
from whylate.lab.packages import Packages

STATUS = "var/lib/dpkg/status"


def fetch(architecture: str, names: Sequence[str]) -> list[Path]:
    """Return packages of the lab's cache, fetched where they are missing; skips without them."""
    packages = Packages(cache_directory() / "packages", architecture)
    try:
        return [packages.fetch(name, lambda _: None) for name in names]
    except LabError as error:
        pytest.skip(str(error))


def install(root: Path, package: Path) -> None:
    """Unpack a package, and enter it into dpkg's database as dpkg does."""
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    control = subprocess.run(
        ["dpkg-deb", "-f", package], check=True, capture_output=True, text=True
    ).stdout
    name = next(line[9:] for line in control.split("\n") if line.startswith("Package: "))
    with (
        subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE
        ) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        paths = [member.name.lstrip(".").rstrip("/") or "/." for member in archive]
    enter(root, name, paths, control.partition("\n")[2])


def enter(root: Path, name: str, paths: Sequence[str], control: str) -> None:
    """Enter a package with these files into dpkg's database."""
    info = root / "var/lib/dpkg/info"
    info.mkdir(parents=True, exist_ok=True)
    (info / f"{name}.list").write_text("".join(f"{path}\n" for path in paths))
    with (root / STATUS).open("a") as status:
        text = f"Package: {name}\nStatus: install ok installed\n{control.strip()}\n\n"
        status.write(text)


def write_root(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a directory, and return it."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o644)
    return root


def make_image(root: Path, image: Path, megabytes: int = 32) -> Path:
    """Make an ext4 image of a directory."""
    subprocess.run(
        ["/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", root, image, f"{megabytes}M"], check=True,
        capture_output=True,
    )  # fmt: skip
    return image
