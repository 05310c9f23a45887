"""The bench's USB devices for labgrid: there is no bus here on which udev could find them.

Only where they are is made up; the drivers that bind to them are labgrid's own.
"""

from __future__ import annotations

from pathlib import Path

import attr
from labgrid.factory import target_factory
from labgrid.resource.udev import HIDRelay, USBSDMuxDevice


@target_factory.reg_resource
@attr.s(eq=False)
class BenchRelay(HIDRelay):  # type: ignore[misc, unused-ignore]
    """The relay card that fake_usb has at bus 1, address 7."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.avail = True

    @property
    def busnum(self) -> int:
        return 1

    @property
    def devnum(self) -> int:
        return 7


@target_factory.reg_resource
@attr.s(eq=False)
class BenchMux(USBSDMuxDevice):  # type: ignore[misc, unused-ignore]
    """A USB-SD-Mux whose card reader is the loop device `disk`, steered through `control`."""

    control: str = attr.ib(default="", validator=attr.validators.instance_of(str))
    disk: str = attr.ib(default="", validator=attr.validators.instance_of(str))

    def poll(self) -> None:
        if Path(self.control).exists():
            self.control_path, self.disk_path = self.control, self.disk
