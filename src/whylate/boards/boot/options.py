"""How a board boots, as its environment file declares it.

Under `options` of a target, `whylate` has a table `boot`:

    options:
      whylate:
        boot: {method: u-boot, device: 'mmc 0:1'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from whylate.boards.board import Board
from whylate.boards.boot.method import BootMethodError
from whylate.text import plain

_DEVICE = re.compile(r"[a-z0-9]{1,20} [0-9a-f]{1,4}(?::[0-9a-f]{1,4})?")
_PATH = re.compile(r"/[!-~]{0,199}")
_MOST_COMMANDS = 20


class BootOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What an environment file declares of a board's boot; "": it is looked up on the board.

    device: U-Boot's name of the partition with extlinux.conf, as `mmc 0:1`. conf: that file, by its
    path on the board. kernel, initrd, dtb: the board's own, where no configuration names them.
    commands: what is typed at U-Boot's prompt instead of sysboot, with {kernel}, {initrd}, {dtb}
    and {words}. tftp: this machine's directory from which U-Boot loads files by TFTP, if commands
    do. prompt, stop: U-Boot's prompt, and what stops its countdown.
    """

    method: str = ""
    device: str = ""
    conf: str = ""
    kernel: str = ""
    initrd: str = ""
    dtb: str = ""
    commands: list[str] = []
    tftp: str = ""
    prompt: str = "=>"
    stop: str = " "


def boot_options(board: Board) -> BootOptions:
    """Return what is declared of a board that is held; raises BootMethodError."""
    declared: object = getattr(board, "declared", None)
    table = declared.get("boot") if isinstance(declared, Mapping) else None
    if table is None:
        return BootOptions()
    try:
        options = msgspec.convert(table, BootOptions)
    except msgspec.ValidationError as error:
        raise BootMethodError(f"{board.name}: options.whylate.boot: {plain(str(error))}") from None
    _check(board.name, options)
    return options


def _check(board: str, options: BootOptions) -> None:
    where = f"{board}: options.whylate.boot"
    if options.device and not _DEVICE.fullmatch(options.device):
        raise BootMethodError(f"{where}.device: write U-Boot's name of a partition, as mmc 0:1")
    # A file that U-Boot loads by TFTP has no absolute path.
    for name in ("conf",) if options.commands else ("conf", "kernel", "initrd", "dtb"):
        value = getattr(options, name)
        if value and (not _PATH.fullmatch(value) or ".." in value.split("/")):
            raise BootMethodError(f"{where}.{name}: write an absolute path")
    if options.tftp and not (options.commands and Path(options.tftp).is_absolute()):
        raise BootMethodError(
            f"{where}.tftp: write the absolute path of a directory of this machine, and the "
            "`commands` that load files from it"
        )
    lines = [options.prompt, *options.commands]
    if not options.prompt or not all(line.isascii() and line.isprintable() for line in lines):
        raise BootMethodError(f"{where}: prompt and commands are printable ASCII")
    if len(options.commands) > _MOST_COMMANDS or not 0 < len(options.stop) <= 40:
        raise BootMethodError(f"{where}: at most {_MOST_COMMANDS} commands, and 1 to 40 of stop")
