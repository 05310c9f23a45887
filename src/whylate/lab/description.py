"""The virtual boards: one file each in lab/boards."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from whylate.lab.errors import LabError

#: Beside the package in a checkout, inside it in a wheel.
_PACKAGED = Path(__file__).parent / "files"
FILES = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).resolve().parents[3] / "lab"
#: Suffix of a board's name for the kernel with PREEMPT_RT.
RT = "-rt"


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A machine of QEMU, and what is needed to use it as a board."""

    title: str
    #: The architecture's names in uname and in Debian.
    arch: str
    debian_arch: str
    #: Debian's release whose packages it boots; "": what this system itself would install.
    release: str = ""
    #: FLAVOUR of linux-image-FLAVOUR, and of linux-image-rt-FLAVOUR with PREEMPT_RT.
    kernel: str
    #: Whether Debian has that kernel with PREEMPT_RT.
    has_rt: bool = True
    qemu: str
    qemu_package: str
    #: The packages that have a newer QEMU; empty: the same one.
    newer_qemu_packages: tuple[str, ...] = ()
    machine: list[str]
    kernel_args: list[str] = []
    #: Below the kernel package's directory of device trees; None: QEMU makes it, or needs none.
    dtb: str | None = None
    #: Properties that are set in the device tree: node, property, text or cells.
    dtb_set: dict[str, dict[str, str | list[int]]] = {}
    cpus: int
    max_cpus: int
    memory: str
    #: The console's and the port's names in /dev. Without a port the probe uses the console, and
    #: the board has no virtual time.
    console: str
    port: str
    #: Whether the port may stall unless it gets a byte now and then.
    nudged: bool = False
    #: QEMU's serial lines, if the port is among them; otherwise `port_args` make the port.
    serials: tuple[str, ...] = ("console",)
    port_args: list[str] = []
    #: QEMU's arguments for a network card; empty where none works.
    network_args: list[str] = []
    #: Kernel modules in the order in which they are loaded; built-in ones are skipped.
    modules: list[str] = []
    #: Those of the network card, loaded where the board has one.
    network_modules: list[str] = []
    #: Whether QEMU resumes it from a snapshot as it was, and it has the PCI bus over which it then
    #: reads the files of a run. On RISC-V the timers of QEMU 10.0 stand still after that.
    resumes: bool = False
    #: Whether QEMU ends when the board powers itself off.
    powers_off: bool

    @property
    def all_modules(self) -> list[str]:
        """The modules of an image, in the order in which they are loaded."""
        return [*self.modules, *self.network_modules]


class VirtualBoard(msgspec.Struct, frozen=True):
    """A description with one of its kernels: `virt-arm64`, `virt-arm64-rt`."""

    name: str
    machine: str
    rt: bool
    description: Description

    @property
    def kernel_package(self) -> str:
        """The Debian package whose dependency is the kernel."""
        return f"linux-image-{'rt-' if self.rt else ''}{self.description.kernel}"


def names() -> list[str]:
    """Return the names of all virtual boards; raises LabError."""
    return [
        name
        for path in sorted((FILES / "boards").glob("*.toml"))
        for name in (path.stem, path.stem + RT)
        if name == path.stem or _describe(path).has_rt
    ]


def virtual_board(name: str) -> VirtualBoard:
    """Return the virtual board of that name; raises LabError."""
    if name not in names():
        raise LabError(f"unknown virtual board {name[:80]!r}: expected one of {', '.join(names())}")
    machine = name.removesuffix(RT)
    description = _describe(FILES / "boards" / f"{machine}.toml")
    return VirtualBoard(name, machine, name.endswith(RT), description)


@cache
def _describe(path: Path) -> Description:
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Description)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LabError(f"{path} does not describe a virtual board: {error}") from None


def with_kernel(name: str, *, rt: bool) -> str | None:
    """Return the name of a virtual board with that kernel; None where there is none."""
    machine = name.removesuffix(RT)
    wanted = machine + RT if rt else machine
    return wanted if {name, wanted} <= set(names()) else None
