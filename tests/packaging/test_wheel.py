"""The wheel: what it holds, and that it measures where there is no compiler and no checkout."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from whylate import __version__
from whylate.probe.binaries import ARCHITECTURES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "whylate"
#: The virtual boards and injected faults, which lie beside the package in a checkout.
#: Folders of files that are no code.
ASSETS = (
    "whylate/report/page/assets/",
    "whylate/watch/web/assets/",
    "whylate/causes/catalogue/",
)
LAB = SOURCE.parents[1] / "lab"
#: The remedies that modules of the lab are built with.
IN_MODULES = ("bulk_work", "remedy_atomic", "remedy_lock", "shared_read")
BINARIES = SOURCE / "probe" / "binaries"
ARCHS = ("x86_64", "aarch64", "armv7", "riscv64")
ELF_MACHINE = {"x86_64": 62, "aarch64": 183, "armv7": 40, "riscv64": 243}

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="wheels are built from a checkout"
)


def build(directory: Path) -> Path:
    """Build a wheel as `make wheel` does and return it."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = directory.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    absent = [arch for arch in ARCHS if not (BINARIES / arch / "whylate-probe").exists()]
    assert not absent, f"no probe for {', '.join(absent)}: run make probes"
    return build(tmp_path_factory.mktemp("dist"))


@dataclass(frozen=True)
class Installed:
    """whylate as its user has it: in an environment of its own, far from any checkout."""

    prefix: Path
    package: Path
    empty: Path

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run its `whylate` with nothing else on PATH."""
        return subprocess.run(
            [str(self.prefix / "bin" / "whylate"), *arguments],
            cwd=cwd,
            env={"PATH": str(self.empty), "HOME": str(self.empty), "LANG": "C.UTF-8"},
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    prefix = tmp_path_factory.mktemp("installed")
    venv.create(prefix, with_pip=False, symlinks=True)
    python = str(prefix / "bin" / "python")
    # fmt: off
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index",
         "--no-deps", "--disable-pip-version-check", str(wheel)],
        check=True,
        capture_output=True,
    )
    # fmt: on
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = prefix / "lib" / version / "site-packages"
    # The dependencies are those of the tests' environment: a .pth line gives them without its
    # own .pth files, and so without the editable whylate.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(prefix, site / "whylate", tmp_path_factory.mktemp("empty"))


def test_the_wheel_installs_on_every_architecture(wheel: Path) -> None:
    assert wheel.name == f"whylate-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        tags = archive.read(f"whylate-{__version__}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: true" in tags


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    metadata = f"whylate-{__version__}.dist-info/"
    files = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    lab = {
        f"whylate/lab/files/{path.relative_to(LAB).as_posix()}"
        for path in LAB.rglob("*")
        if path.is_file()
    }
    assert any(name.endswith("/virt-arm64.toml") for name in lab)
    remedies = {f"whylate/lab/remedies/{name}.h" for name in IN_MODULES}
    assert {name for name in held if not name.startswith(metadata)} == files | lab | remedies
    allowed = {".py", ".typed"}
    strangers = {
        name
        for name in files
        if Path(name).suffix not in allowed
        and Path(name).name != "py.typed"
        and not name.startswith(ASSETS)
    }
    assert strangers == {
        "whylate/probe/binaries/hashes.json",
        *(f"whylate/probe/binaries/{arch}/whylate-probe" for arch in ARCHS),
    }


def test_the_wheel_carries_the_licences_of_what_it_carries(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        licences = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
    assert {"LICENSE", "LICENSE.uPlot"} <= licences


def test_each_probe_is_a_static_program_for_its_architecture(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for arch in ARCHS:
            program = archive.read(f"whylate/probe/binaries/{arch}/whylate-probe")
            assert program[:4] == b"\x7fELF"
            assert int.from_bytes(program[18:20], "little") == ELF_MACHINE[arch]
            assert b"/ld-linux" not in program, "it asks for a dynamic linker"
            assert str(ROOT).encode() not in program, "it names the folder it was built in"
            assert not re.search(rb"/\w+/probe/src", program), "it names the folder of its BPF"


def test_the_same_tree_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


def test_installed_probes_are_executable_and_have_the_recorded_hash(installed: Installed) -> None:
    binaries = installed.package / "probe" / "binaries"
    hashes = json.loads((binaries / "hashes.json").read_text())
    assert set(hashes) == set(ARCHS)
    for arch, recorded in hashes.items():
        probe = binaries / arch / "whylate-probe"
        assert hashlib.sha256(probe.read_bytes()).hexdigest() == recorded
        assert os.access(probe, os.X_OK)


def test_the_installed_wheel_measures_without_compiler_or_checkout(
    installed: Installed, tmp_path: Path
) -> None:
    done = installed.run("measure", "--for", "1s", "--json", "-o", "run", cwd=tmp_path)
    # 3, no verdict, is an honest answer of a machine that grants no real-time priority.
    assert done.returncode in {0, 3}, done.stderr
    summary = json.loads(done.stdout)
    account = summary["seen"] + summary["overrun"] + summary["dropped"]
    assert summary["expected"] == account > 0
    assert (tmp_path / "run" / "samples.parquet").exists()
    assert (tmp_path / "run" / "report.html").exists()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    arch = ARCHITECTURES[platform.machine()]
    hashes = json.loads((installed.package / "probe" / "binaries" / "hashes.json").read_text())
    assert manifest["probe"]["sha256"] == hashes[arch]


def test_a_probe_that_was_changed_is_refused_in_one_line(
    installed: Installed, tmp_path: Path
) -> None:
    arch = ARCHITECTURES[platform.machine()]
    probe = installed.package / "probe" / "binaries" / arch / "whylate-probe"
    good = probe.read_bytes()
    probe.write_bytes(good + b"\0")
    try:
        done = installed.run("measure", "--for", "1s", "-o", "run", cwd=tmp_path)
    finally:
        probe.write_bytes(good)
    assert done.returncode == 3
    assert done.stdout == ""
    progress, line = done.stderr.splitlines()
    assert progress.endswith("…")
    assert line.startswith("whylate: ")
    assert "its hash differs" in line
    assert not (tmp_path / "run").exists()
