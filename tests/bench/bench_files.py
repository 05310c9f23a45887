"""labgrid environment files of the simulated bench."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench_supplies import Strip


def environment(directory: Path, **targets: str) -> Path:
    """Write an environment file with these targets."""
    path = directory / "bench.yaml"
    text = "imports: [bench_labgrid]\n"
    text += f"tools: {{usbsdmux: {directory / 'usbsdmux'}}}\n"
    path.write_text(text + targets_text(targets))
    return path


def targets_text(targets: Mapping[str, str]) -> str:
    """Return the part of an environment file that names the targets."""
    text = "targets:\n"
    for name, body in targets.items():
        text += f"  {name}:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return text


def target(*, resources: list[str], drivers: list[str]) -> str:
    """Return a target's text; each resource and driver is a line of YAML's flow style."""
    parts = {"resources": resources, "drivers": drivers}
    lines = [[f"{name}:", *(f"- {item}" for item in part)] for name, part in parts.items() if part]
    return "\n".join(line for part in lines for line in part)


def power_port(strip: Strip, index: int = 1) -> str:
    return f"NetworkPowerPort: {{model: rest, host: '{strip.url}', index: {index}}}"


def serial_port(path: str) -> str:
    return f"RawSerialPort: {{port: {path}, speed: 115200}}"


def ssh_service(port: int) -> str:
    return f"NetworkService: {{address: 127.0.0.1, username: root, port: {port}}}"


POWER = "NetworkPowerDriver: {}"
SERIAL = "SerialDriver: {}"
#: Of a board with its card in a mux.
MUX = ("USBSDMuxDriver: {}", "USBStorageDriver: {}")


def ssh_driver(key: Path) -> str:
    return f"SSHDriver: {{keyfile: {key}}}"
