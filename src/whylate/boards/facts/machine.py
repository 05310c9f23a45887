"""The machine itself: maker, firmware, device tree, and whether it is a virtual one."""

from __future__ import annotations

from collections.abc import Iterator

from whylate.boards.facts import counters, cpu
from whylate.boards.facts.reading import Files, decode, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.facts.sources import Derived, FromFile, Source
from whylate.recording.manifest import Fact
from whylate.text import clean

_DMI = "/sys/class/dmi/id"
_TREE = "/proc/device-tree"
_COMPATIBLE = f"{_TREE}/compatible"
#: Files that name the hypervisor.
_HYPERVISORS = ("/sys/hypervisor/type", f"{_TREE}/hypervisor/compatible")
_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
#: No serial numbers and no UUIDs: they identify a specimen, and nothing here depends on them.
_DMI_FILES = (
    "sys_vendor", "product_name", "product_version", "board_vendor", "board_name",
    "board_version", "bios_vendor", "bios_version", "bios_date",
)  # fmt: skip

#: Words of the firmware's own tables that only virtual machines have ("Amazon EC2" is also in
#: those of its bare-metal machines).
_MAKERS = {
    "qemu": "QEMU",
    "kvm": "KVM",
    "vmware": "VMware",
    "virtualbox": "VirtualBox",
    "innotek": "VirtualBox",
    "xen": "Xen",
    "virtual machine": "Hyper-V",
    "bochs": "Bochs",
    "parallels": "Parallels",
    "dummy-virt": "QEMU",
}
_GUEST_CLOCKS = {"kvm-clock": "KVM", "xen": "Xen", "hyperv_clocksource": "Hyper-V"}


def find_hypervisor(files: Files) -> tuple[str | None, str]:
    """Return the hypervisor and its evidence; None where nothing shows one (it may still be)."""
    for path in _HYPERVISORS:
        if declared := files.text(path, 64):
            return declared, path
    for clock in (files.text(_CLOCKS) or "").split(" "):
        base = clock.partition("_tsc_page")[0]
        if base in _GUEST_CLOCKS:
            return _GUEST_CLOCKS[base], f"{_CLOCKS} ({clock})"
    for path in (f"{_DMI}/sys_vendor", f"{_DMI}/product_name", _COMPATIBLE):
        text = (files.text(path) or "").lower()
        for word, maker in _MAKERS.items():
            if word in text:
                return maker, path
    if "hypervisor" in cpu.read_features(files):
        return "of unknown make", f"{cpu.CPUINFO} (flag hypervisor)"
    return None, f"no sign of one in {cpu.CPUINFO}, DMI, device tree or clock sources"


def _compatible(files: Files) -> Iterator[Fact]:
    if data := files.data(_COMPATIBLE):
        names = [clean(decode(name)) for name in data.split(b"\0") if name]
        yield make_fact("device_tree_compatible", names, _COMPATIBLE)


def _hypervisor(files: Files) -> Iterator[Fact]:
    hypervisor, source = find_hypervisor(files)
    yield make_fact("hypervisor", hypervisor, source)
    if hypervisor is not None and (steal_s := counters.read_steal_s(files)) is not None:
        yield make_fact("steal_since_boot_s", steal_s, counters.STAT)


MACHINE: tuple[Source, ...] = (
    *(FromFile(f"dmi_{name}", f"{_DMI}/{name}", 128) for name in _DMI_FILES),
    FromFile("device_tree_model", f"{_TREE}/model", 256),
    Derived(_compatible, (FileRequest(_COMPATIBLE, 512),)),
    Derived(_hypervisor, (FileRequest(_HYPERVISORS[0], 64), FileRequest(_HYPERVISORS[1], 256))),
)
