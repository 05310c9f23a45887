"""The machine itself: maker, firmware, device tree, and whether it is a virtual one."""

from __future__ import annotations

from whylate.boards.facts import counters, cpu
from whylate.boards.facts.reading import Files, clean, decode, file_fact, make_fact
from whylate.boards.facts.snapshot import FileRequest
from whylate.recording.manifest import Fact

_DMI = "/sys/class/dmi/id"
_TREE = "/proc/device-tree"
_HYPERVISOR = "/sys/hypervisor/type"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
#: No serial numbers and no UUIDs: they name a specimen, and nothing here depends on them.
_DMI_FILES = (
    "sys_vendor",
    "product_name",
    "product_version",
    "board_vendor",
    "board_name",
    "board_version",
    "bios_vendor",
    "bios_version",
    "bios_date",
)

WANTED = (
    *(FileRequest(f"{_DMI}/{name}", 128) for name in _DMI_FILES),
    FileRequest(f"{_TREE}/model", 256),
    FileRequest(f"{_TREE}/compatible", 512),
    FileRequest(f"{_TREE}/hypervisor/compatible", 256),
    FileRequest(_HYPERVISOR, 64),
)

#: Words of the firmware's own tables that only virtual machines have ("Amazon EC2" stands on
#: their bare metal too).
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


def hypervisor(files: Files) -> tuple[str | None, str]:
    """Whose guest this is and how it shows; None where nothing shows one (it may still be)."""
    declared = files.text(_HYPERVISOR, 64)
    if declared:
        return declared, _HYPERVISOR
    declared = files.text(f"{_TREE}/hypervisor/compatible", 64)
    if declared:
        return declared, f"{_TREE}/hypervisor/compatible"
    for clock in (files.text(_CLOCKS) or "").split(" "):
        base = clock.partition("_tsc_page")[0]
        if base in _GUEST_CLOCKS:
            return _GUEST_CLOCKS[base], f"{_CLOCKS} ({clock})"
    for path in (f"{_DMI}/sys_vendor", f"{_DMI}/product_name", f"{_TREE}/compatible"):
        text = (files.text(path) or "").lower()
        for word, maker in _MAKERS.items():
            if word in text:
                return maker, path
    if "hypervisor" in cpu.features(files):
        return "of unknown make", f"{cpu.CPUINFO} (flag hypervisor)"
    return None, f"no sign of one in {cpu.CPUINFO}, DMI, device tree or clock sources"


def machine_facts(files: Files) -> list[Fact]:
    """Maker, board, firmware or device tree, and the hypervisor."""
    facts: list[Fact] = []
    for name in _DMI_FILES:
        facts += file_fact(files, f"dmi_{name}", f"{_DMI}/{name}")
    facts += file_fact(files, "device_tree_model", f"{_TREE}/model")
    data = files.data(f"{_TREE}/compatible")
    if data:
        names = [clean(decode(name)) for name in data.split(b"\0") if name]
        facts.append(make_fact("device_tree_compatible", names, f"{_TREE}/compatible"))
    guest_of, source = hypervisor(files)
    facts.append(make_fact("hypervisor", guest_of, source))
    if guest_of is not None and (stolen_s := counters.stolen_s(files)) is not None:
        facts.append(make_fact("steal_since_boot_s", stolen_s, counters.STAT))
    return facts
