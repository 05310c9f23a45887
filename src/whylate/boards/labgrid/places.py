"""Places of a coordinator as boards, without an environment file."""

from __future__ import annotations

from typing import Any

from whylate.boards.board import Notify
from whylate.boards.labgrid.calls import bounded, load_labgrid, release, released_on_failure
from whylate.boards.labgrid.coordinator import (
    Lease,
    Session,
    coordinator_address,
    resource_paths,
)
from whylate.boards.labgrid.environment import LOAD_S, Listed, forget_at_exit, state_name_of_place
from whylate.text import clean

#: The drivers for the resources of exporters, as in labgrid-client.
DRIVERS = {
    "NetworkSerialPort": ("SerialDriver",),
    "NetworkPowerPort": ("NetworkPowerDriver",),
    "NetworkUSBPowerPort": ("USBPowerDriver",),
    "NetworkSiSPMPowerPort": ("SiSPMPowerDriver",),
    "NetworkYKUSHPowerPort": ("YKUSHPowerDriver",),
    "PDUDaemonPort": ("PDUDaemonDriver",),
    "TasmotaPowerPort": ("TasmotaPowerDriver",),
    "NetworkHIDRelay": ("HIDRelayDriver", "DigitalOutputPowerDriver"),
    "NetworkUSBSDMuxDevice": ("USBSDMuxDriver",),
    "NetworkUSBSDWireDevice": ("USBSDWireDriver",),
    "NetworkUSBSDWire3Device": ("USBSDWire3Driver",),
}
_PARTS = {"NetworkSerialPort": "console", "NetworkService": "ssh"}


def list_places(coordinator: str | None = None) -> list[Listed]:
    """Return the places of a coordinator (LG_COORDINATOR's); raises BoardError."""
    session = Session(coordinator or coordinator_address())
    try:
        client = session.client
        paths = resource_paths(client)
        listed = []
        for name, place in sorted(client.places.items()):
            missing = place.unmatched(paths)
            classes = [path[2] for path in paths if place.getmatch(path) is not None]
            state = "taken" if place.acquired else "free"
            if missing is not None:
                state = f"lacks {clean(repr(missing), 80)}"
            listed.append(
                Listed(
                    name=clean(name, 80),
                    owner=clean(place.acquired, 80) if place.acquired else None,
                    state=state,
                    parts=_parts(classes),
                    comment=clean(place.comment, 120),
                )
            )
        return listed
    finally:
        session.close()


def _parts(classes: list[str]) -> tuple[str, ...]:
    parts = {_PARTS[cls] for cls in classes if cls in _PARTS}
    for cls in classes:
        drivers = DRIVERS.get(cls, ())
        if drivers and "Power" in drivers[-1]:
            parts.add("power")
        elif any("SD" in driver for driver in drivers):
            parts.add("card")
    return tuple(part for part in ("power", "console", "card", "ssh") if part in parts)


class PlaceSource:
    """A place of a coordinator, acquired and released."""

    def __init__(self, coordinator: str, place: str) -> None:
        self._lease = Lease(coordinator, place)
        self._place = place
        self.state_name = state_name_of_place(coordinator, place)
        self._target: Any = None
        #: A place has no options.
        self.declared: dict[str, object] = {}

    def acquire(self, notify: Notify) -> Any:
        """Acquire the place and return labgrid's target; raises BoardBusyError, BoardError."""
        with released_on_failure(self.release, notify):
            self._lease.acquire(notify)
            return bounded(f"creating the target {self._place}", self._make, LOAD_S)

    def release(self) -> None:
        """Release the place; raises BoardError where that failed."""
        target, self._target = self._target, None
        try:
            if target is not None:
                release(f"releasing the target {self._place}", target.cleanup)
        finally:
            self._lease.release()

    def loss(self) -> str | None:
        """Return why it is no longer ours, or None."""
        return self._lease.loss()

    def _make(self) -> Any:
        load_labgrid()
        from labgrid import Target, target_factory
        from labgrid.resource.remote import RemotePlace

        self._lease.attach()
        self._target = target = Target(self._place)
        forget_at_exit(target)
        RemotePlace(target, name=self._place)
        made: set[str] = set()
        for resource in list(target.resources):
            for name in DRIVERS.get(type(resource).__name__, ()):
                # Of several serial ports or supplies the first is the board's.
                if name in made:
                    continue
                made.add(name)
                bindings = list(target_factory.drivers[name].bindings)
                if name != "DigitalOutputPowerDriver" and resource.name is not None:
                    target.set_binding_map({bindings[0]: resource.name})
                target_factory.make_driver(target, name, None, {})
        return target
