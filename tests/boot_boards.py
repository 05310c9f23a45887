"""Boards that are a directory: each with a boot loader of one kind, and tools that set it.

Commands run on this machine with the board's paths below the directory. A boot reads what the boot
loader would read, and changes it as the boot loader would.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from whylate.boards.board import Finished, Notify
from whylate.boards.boot import restart
from whylate.boards.boot.extlinux_conf import default_entry
from whylate.boards.boot.grub_config import entry_of
from whylate.boards.boot.u_boot_env import ONCE
from whylate.boards.errors import BoardError

OWN = ["console=ttyS0", "quiet"]
EXTLINUX = (
    "# by hand\nDEFAULT linux\nLABEL linux\n  LINUX ../vmlinuz\n  APPEND console=ttyS0 quiet\n"
)
#: As grub-mkconfig of Debian 12 writes it, shortened to what is read.
GRUB = """if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
fi
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple' {
\tload_video
\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
\tif [ x$feature_platform_search_hint = xy ]; then
\t  search --no-floppy --fs-uuid --set=root --hint-bios=hd0,msdos1  1234
\tfi
\techo\t'Loading Linux 6.1.0 ...'
\tlinux\t/vmlinuz console=ttyS0 quiet
\tinitrd\t/initrd.img
}
if [ -f  ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
fi
"""
_TOOLS = {
    "grub-reboot": 'printf "# GRUB Environment Block\\nnext_entry=$2\\n" >$R/boot/grub/grubenv',
    "extlinux": 'case $1 in --once=*) echo "${1#--once=}" >$R/adv;; *) rm -f $R/adv;; esac',
    "fw_printenv": 'cat "$R/env/$2"',
    "fw_setenv": 'if [ $# -eq 1 ]; then rm -f "$R/env/$1"; else printf %s "$2" >"$R/env/$1"; fi',
    "kexec": 'case $1 in --load) printf %s "${3#--command-line=}" >$R/loaded;; '
    "--unload) rm -f $R/loaded;; esac",
}
_NEEDED = {
    "grub": ["grub-reboot"],
    "extlinux": ["extlinux"],
    "u-boot-env": ["fw_printenv", "fw_setenv"],
    "kexec": ["kexec"],
}
#: Paths of the board, as they stand in commands.
_ITS_OWN = re.compile(
    r"(?<![\w.])/(boot|lib/modules|run/systemd|var/tmp/whylate|proc/cmdline|proc/device-tree|proc/sys/kernel/random/boot_id)\b"
)


class CutError(BoardError):
    """The connection broke."""


class Supply:
    """The supply of a board that is a directory."""

    def __init__(self, board: TreeBoard) -> None:
        self._board = board

    def on(self) -> None:
        self._board.boot(lambda _: None)

    def off(self) -> None:
        self._board.cut_power()

    def is_on(self) -> bool | None:
        return self._board.up


class TreeBoard:
    """A board of one boot method. cut_at: the connection breaks at that command from now on."""

    name = "board7"
    console = None

    def __init__(self, root: Path, kind: str, *, supply: bool = True) -> None:
        self.root, self.kind = root, kind
        self.power = Supply(self) if supply else None
        self.declared = {"boot": {"method": kind, "device": "mmc 0:1", "kernel": "/boot/vmlinuz"}}
        self.up = self.hung = False
        self.words = list[str]()
        self.cut_at: int | None = None
        self.after = False
        self.full = False
        self.boots = list[list[str]]()
        self._make()

    def _make(self) -> None:
        (self.root / "boot").mkdir(parents=True)
        (self.root / "boot/vmlinuz").write_bytes(b"kernel")
        if self.kind == "grub":
            (self.root / "boot/grub").mkdir()
            (self.root / "boot/grub/grub.cfg").write_text(GRUB)
            (self.root / "boot/grub/grubenv").write_text("# GRUB Environment Block\n####\n")
        else:
            (self.root / "boot/extlinux").mkdir()
            (self.root / "boot/extlinux/extlinux.conf").write_text(EXTLINUX)
        if self.kind == "extlinux":
            (self.root / "boot/extlinux/ldlinux.sys").write_bytes(b"SYSLINUX")
        (self.root / "env").mkdir()
        (self.root / "env/bootcmd").write_text("run distro_bootcmd; echo 'it is none'")
        (self.root / "proc/sys/kernel/random").mkdir(parents=True)
        (self.root / "bin").mkdir()
        for name in _NEEDED[self.kind]:
            tool = self.root / "bin" / name
            tool.write_text(f"#!/bin/sh\nR={self.root}\n{_TOOLS[name]}\n")
            tool.chmod(0o755)

    def words_now(self) -> list[str]:
        """The words on the command line of the kernel that runs."""
        return (self.root / "proc/cmdline").read_text().split()

    def state(self) -> dict[str, bytes]:
        """Everything that lasts on the board."""
        paths = [path for top in ("boot", "env") for path in (self.root / top).rglob("*")]
        paths += [path for path in (self.root / "adv", self.root / "loaded") if path.exists()]
        return {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else b""
            for path in paths
        }

    # -- the boot loader

    def boot(self, notify: Notify) -> None:
        """Switch it on."""
        del notify
        if self.hung:
            raise BoardError("board7 did not come up within 4 s")
        if self.up:
            return
        self.words = self._next()
        self.boots.append(self.words)
        (self.root / "loaded").unlink(missing_ok=True)
        (self.root / "proc/cmdline").write_text(" ".join(self.words) + "\n")
        (self.root / "proc/sys/kernel/random/boot_id").write_text(os.urandom(8).hex() + "\n")
        self._comes_up(self.words)

    def _comes_up(self, words: list[str]) -> None:
        self.up, self.hung = "hang" not in words, "hang" in words
        if self.hung:
            raise BoardError("board7 did not come up within 4 s")

    def cut_power(self) -> None:
        """Switch it off, in whatever state it is."""
        self.up = self.hung = False

    def _next(self) -> list[str]:
        boot = self.root / "boot"
        if self.kind == "grub" and "next_entry=" in (env := boot / "grub/grubenv").read_text():
            env.write_text("# GRUB Environment Block\n####\n")
            if not (boot / "grub/custom.cfg").exists():
                # As GRUB does with a `default` that names no entry.
                return ["BOOT_IMAGE=/vmlinuz", *OWN]
            entry = entry_of((boot / "grub/custom.cfg").read_text().splitlines())
            assert entry is not None
            return ["BOOT_IMAGE=/vmlinuz", *entry.words]
        if self.kind == "extlinux" and (adv := self.root / "adv").exists():
            label = adv.read_text().strip()
            adv.unlink()
            text = (boot / "extlinux/extlinux.conf").read_text()
            entry = default_entry(f"{text}\nDEFAULT {label}\n", "/extlinux")
            assert entry is not None
            return entry.words
        if self.kind == "u-boot-env" and (mark := self.root / "env" / ONCE).exists():
            mark.unlink()
            command = (self.root / "env/bootcmd").read_text()
            match = re.search(r"saveenv; then sysboot mmc 0:1 any \$\{scriptaddr\} (\S+);", command)
            if match is not None:
                entry = default_entry((boot / match[1].lstrip("/")).read_text(), "/")
                assert entry is not None
                return entry.words
        if self.kind == "grub":
            return ["BOOT_IMAGE=/vmlinuz", *OWN]
        return OWN

    # -- commands

    def hold(self, notify: Notify) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Switch it off where it has a supply."""
        if self.power is not None:
            self.up = False

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file."""
        self._count()
        if self.full:
            raise BoardError(f"{self.name}: {path} cannot be written: No space left on device")
        target = Path(self._mapped(path))
        target.write_bytes(data)
        target.chmod(mode)
        self._count_after()

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command with the board's paths."""
        self._count()
        if not self.up:
            raise BoardError("board7 cannot be used: it does not answer")
        if restart._LATER in argv:
            self._restart(argv[-1])
            return Finished(0, b"")
        words = [self._mapped(word) for word in argv]
        if (simple := self._simple(words)) is not None:
            self._count_after()
            return simple
        path = f"{self.root}/bin:/usr/bin:/bin"
        done = subprocess.run(
            words, input=data, capture_output=True, check=False, timeout=timeout_s,
            env={"PATH": path},
        )  # fmt: skip
        self._count_after()
        return Finished(done.returncode, done.stdout.replace(bytes(self.root), b""), done.stderr)

    def _simple(self, words: list[str]) -> Finished | None:  # noqa: C901 - a table
        """Do without a process what most commands are; None for another."""
        path = Path(words[-1])
        match words[:-1]:
            case ["test", "-e"]:
                return Finished(0 if path.exists() else 1, b"")
            case ["head", "-c", most]:
                return Finished(0, path.read_bytes()[: int(most)])
            case ["readlink", "-f"]:
                return Finished(0, str(path).replace(str(self.root), "").encode() + b"\n")
            case ["stat", "-c", "%a"]:
                return Finished(0, f"{path.stat().st_mode & 0o7777:o}\n".encode())
            case ["cat"] if path.exists():
                return Finished(0, path.read_bytes())
            case ["rm", "-f"]:
                path.unlink(missing_ok=True)
                return Finished(0, b"")
            case ["rm", "-rf"]:
                shutil.rmtree(path, ignore_errors=True)
                return Finished(0, b"")
            case ["mkdir", "-p"]:
                path.mkdir(parents=True, exist_ok=True)
                return Finished(0, b"")
            case ["uname", _]:
                return Finished(0, b"6.1.0\n")
            case [] if words == ["sync"]:
                return Finished(0, b"")
            case ["df", "-P"]:
                return Finished(0, b"F 1 1 1 1% M\nbench 1 1 1 1% /boot\n")
        return None

    def _restart(self, how: str) -> None:
        self.up = False
        loaded = self.root / "loaded"
        if how == "--exec" and loaded.exists():
            words = loaded.read_text().split()
            self.boots.append(words)
            (self.root / "proc/cmdline").write_text(" ".join(words) + "\n")
            (self.root / "proc/sys/kernel/random/boot_id").write_text(os.urandom(8).hex() + "\n")
            loaded.unlink()
            self.up, self.hung = "hang" not in words, "hang" in words
            return
        with contextlib.suppress(BoardError):
            self.boot(lambda _: None)

    def _mapped(self, word: str) -> str:
        return _ITS_OWN.sub(lambda match: f"{self.root}{match[0]}", word)

    def _count(self) -> None:
        if self.cut_at is not None and not self.after:
            self._cut()

    def _count_after(self) -> None:
        if self.cut_at is not None and self.after:
            self._cut()

    def _cut(self) -> None:
        assert self.cut_at is not None
        self.cut_at -= 1
        if self.cut_at < 0:
            raise CutError("board7: the connection broke")
