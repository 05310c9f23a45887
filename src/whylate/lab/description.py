"""The virtual boards that there are: one file each in lab/boards."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from whylate.lab.errors import LabError

#: Beside the package in a checkout, inside it in a wheel.
_PACKAGED = Path(__file__).parent / "files"
FILES = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).resolve().parents[3] / "lab"
#: What is put behind a board's name for the kernel with PREEMPT_RT.
RT = "-rt"


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A machine that QEMU has, and what whylate needs to know to use it as a board."""

    title: str
    #: What uname calls the architecture, and what Debian calls it.
    arch: str
    debian_arch: str
    #: The flavour in linux-image-FLAVOUR; linux-image-rt-FLAVOUR is its twin with PREEMPT_RT.
    kernel: str
    qemu: str
    qemu_package: str
    machine: list[str]
    kernel_args: list[str] = []
    #: Below the kernel package's directory of device trees; None: QEMU makes one, or needs none.
    dtb: str | None = None
    #: Properties of the device tree's nodes that are set: node, property, text or cells.
    dtb_set: dict[str, dict[str, str | list[int]]] = {}
    cpus: int
    max_cpus: int
    memory: str
    #: The console's and the port's names in /dev. No port: the probe speaks over the console, and
    #: the board has no virtual time.
    console: str
    port: str
    #: Whether the port needs a byte now and then, or else it may stand still.
    nudged: bool = False
    #: What QEMU's serial lines are, where the port is one; else `port_args` make the port.
    serials: tuple[str, ...] = ("console",)
    port_args: list[str] = []
    #: How a network card is added; none where the board has none that works.
    network_args: list[str] = []
    #: Kernel modules in the order in which they are loaded; those built in are left out.
    modules: list[str] = []
    #: Whether QEMU ends when the board powers itself off.
    powers_off: bool


class VirtualBoard(msgspec.Struct, frozen=True):
    """A description with one of its two kernels: `virt-arm64`, `virt-arm64-rt`."""

    name: str
    machine: str
    rt: bool
    description: Description

    @property
    def kernel_package(self) -> str:
        """The Debian package whose dependency is the kernel."""
        return f"linux-image-{'rt-' if self.rt else ''}{self.description.kernel}"


def names() -> list[str]:
    """Return the names of all virtual boards."""
    return [
        name
        for path in sorted((FILES / "boards").glob("*.toml"))
        for name in (path.stem, path.stem + RT)
    ]


def virtual_board(name: str) -> VirtualBoard:
    """Return the virtual board of that name; raises LabError."""
    if name not in names():
        raise LabError(f"there is no virtual board {name[:80]!r}: there are {', '.join(names())}")
    machine = name.removesuffix(RT)
    path = FILES / "boards" / f"{machine}.toml"
    try:
        description = msgspec.convert(tomllib.loads(path.read_text()), Description)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LabError(f"{path} does not describe a virtual board: {error}") from None
    return VirtualBoard(name, machine, name.endswith(RT), description)


def with_kernel(name: str, *, rt: bool) -> str | None:
    """Return the name of a virtual board with the other or the same kernel; None: it is none."""
    machine = name.removesuffix(RT)
    return (machine + RT if rt else machine) if name in names() else None
