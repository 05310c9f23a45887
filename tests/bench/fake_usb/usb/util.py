"""The few names of usb.util that labgrid's relay driver uses."""

from __future__ import annotations

CTRL_TYPE_CLASS = 0x20
CTRL_RECIPIENT_DEVICE = 0
ENDPOINT_OUT = 0
ENDPOINT_IN = 0x80


def claim_interface(device: object, interface: int) -> None:
    del device, interface


def release_interface(device: object, interface: int) -> None:
    del device, interface
