"""The kinds of differences."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What differs; the order is that of lists."""

    KERNEL = "kernel image"
    OPTION = "kernel configuration"
    ARGUMENT = "command line"
    DEVICE_TREE = "device tree"
    MODULE = "module"
    PACKAGE = "package"
    FILE = "file"
    LINE = "line"
    SETTING = "setting"
    AFFINITY = "IRQ affinity"
    SERVICE = "service"
    PRIORITY = "thread priority"


#: Each kind in the plural, for sentences and tables.
PLURALS = {
    Kind.KERNEL: "kernel images",
    Kind.OPTION: "kernel configuration options",
    Kind.ARGUMENT: "command-line words",
    Kind.DEVICE_TREE: "device tree properties",
    Kind.MODULE: "modules",
    Kind.PACKAGE: "packages",
    Kind.FILE: "files",
    Kind.LINE: "lines of text files",
    Kind.SETTING: "sysctls and sysfs settings",
    Kind.AFFINITY: "IRQ affinities",
    Kind.SERVICE: "running services",
    Kind.PRIORITY: "thread priorities",
}
#: Position of each kind in a list.
ORDER = {kind: position for position, kind in enumerate(Kind)}
