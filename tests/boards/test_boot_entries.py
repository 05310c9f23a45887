"""Boot entries: read from what boot loaders read, changed by knobs, and written."""

from __future__ import annotations

import gzip
import random
import struct

import pytest

from whylate.boards.boot.device_tree import identity
from whylate.boards.boot.entry import Entry, with_knobs, with_mark
from whylate.boards.boot.extlinux_conf import conf_text, default_entry, label_text
from whylate.boards.boot.grub_config import block_of, entry_of, entry_text, quoted
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.options import BootOptions, boot_options
from whylate.boards.boot.read_back import Running, kernel_release, not_in_effect
from whylate.boards.boot.u_boot import fill, sysboot
from whylate.boards.boot.u_boot_env import once, own_bootcmd

#: As U-Boot's doc/README.pxe and Debian's u-boot-menu have it.
CONF = """## /boot/extlinux/extlinux.conf
default l0
menu title U-Boot menu
prompt 0
timeout 50

label rescue
\tlinux /rescue

label l0
\tmenu label Debian GNU/Linux 12 6.1.0-56-arm64
\tlinux ../vmlinuz-6.1.0-56-arm64
\tinitrd /boot/initrd.img-6.1.0-56-arm64
\tfdtdir /boot/dtbs/
\tfdtoverlays /boot/a.dtbo
\tappend root=/dev/mmcblk0p2 ro dyndbg="file x +p" quiet
"""
SUBMENU = """submenu 'Advanced options' {
\tmenuentry 'Linux 6.1.0-1' --class os $menuentry_id_option 'a' {
\t\tload_video
\t\tif [ x$grub_platform = xxen ]; then insmod xzio; fi
\t\techo\t'Loading Linux 6.1.0-1 ...'
\t\tlinux\t/boot/vmlinuz-6.1.0-1 root=UUID=1 ro  quiet
\t\techo\t'Loading initial ramdisk ...'
\t\tinitrd\t/boot/ucode.img /boot/initrd.img-6.1.0-1
\t}
\tmenuentry 'Linux 6.1.0-2' {
\t\tlinux /boot/vmlinuz-6.1.0-2 root=UUID=2 ro
\t}
}
menuentry 'UEFI Firmware Settings' {
\tfwsetup
}
"""


def test_the_default_of_extlinux_conf_is_read_with_paths_from_the_root() -> None:
    entry = default_entry(CONF, "/boot/extlinux")
    assert entry == Entry(
        kernel="/boot/vmlinuz-6.1.0-56-arm64",
        initrd="/boot/initrd.img-6.1.0-56-arm64",
        words=["root=/dev/mmcblk0p2", "ro", 'dyndbg="file x +p"', "quiet"],
        more=[("FDTDIR", "/boot/dtbs"), ("FDTOVERLAYS", "/boot/a.dtbo")],
    )


def test_what_is_written_is_read_as_the_same() -> None:
    entry = default_entry(CONF, "/boot/extlinux")
    assert entry is not None
    assert default_entry(conf_text("whylate", entry), "/") == entry
    assert default_entry(f"{CONF}\n{label_text('new', entry)}\nDEFAULT new\n", "/x") == entry


def test_syslinux_takes_the_initrd_from_the_command_line() -> None:
    entry = default_entry("DEFAULT a\nLABEL a\nKERNEL vmlinuz\nAPPEND initrd=i.img ro\n", "/e")
    assert entry == Entry("/e/vmlinuz", "/e/i.img", words=["ro"])


@pytest.mark.parametrize("seed", range(30))
def test_any_file_is_read_without_an_exception(seed: int) -> None:
    source = random.Random(seed)
    parts = [*CONF.splitlines(), *SUBMENU.splitlines(), "{", "}", "\0", "label", "append", "=,,="]
    text = "\n".join(source.choices(parts, k=40))
    default_entry(text, "/boot")
    block_of(text, "/boot/vmlinuz-6.1.0-1")
    own_bootcmd(text)
    kernel_release(text.encode())


def test_words_are_added_last_and_left_out_by_name_whatever_their_dashes() -> None:
    own = Entry("k", words=["BOOT_IMAGE=/k", "nohz_full=1", "quiet", "nohz-full=2", "ro"])
    changed = with_knobs(own, add=["isolcpus=3"], left_out=["nohz_full"], files={})
    assert changed.words == ["quiet", "ro", "isolcpus=3"]


def test_a_dtb_replaces_the_directory_of_dtbs_and_nothing_else() -> None:
    own = default_entry(CONF, "/boot/extlinux")
    assert own is not None
    changed = with_knobs(own, add=[], left_out=[], files={"dtb": "/boot/whylate/x-dtb"})
    assert (changed.dtb, changed.more) == (
        "/boot/whylate/x-dtb",
        [("FDTOVERLAYS", "/boot/a.dtbo")],
    )


def test_the_mark_differs_with_all_that_is_booted() -> None:
    entries = [Entry("k", words=["a"]), Entry("k", words=["b"]), Entry("j", words=["a"])]
    marks = {with_mark(entry, contents).mark for entry in entries for contents in ([], ["1"])}
    assert len(marks) == 6
    assert all(mark.startswith("whylate.entry=") for mark in marks)


def test_the_entry_that_runs_is_chosen_in_grub_cfg_also_in_a_submenu() -> None:
    block = block_of(SUBMENU, "/boot/vmlinuz-6.1.0-2")
    assert block is not None
    assert entry_of(block) == Entry("/boot/vmlinuz-6.1.0-2", words=["root=UUID=2", "ro"])
    first = block_of(SUBMENU, "/boot/none")
    assert first is not None
    entry = entry_of(first)
    assert entry is not None
    assert entry.initrd == "/boot/ucode.img /boot/initrd.img-6.1.0-1"
    assert block_of("menuentry 'x' {\n fwsetup\n}\n", "/k") is None


def test_an_entry_for_grub_keeps_what_finds_the_disk_and_quotes_its_words() -> None:
    block = block_of(SUBMENU, "/boot/vmlinuz-6.1.0-1")
    assert block is not None
    text = entry_text(block, Entry("/k", "/u /i", "/d", ["a=$b", 'c="d e"', "f'g"]))
    assert "load_video" in text
    assert "xxen ]; then insmod xzio; fi" in text
    assert "vmlinuz-6.1.0-1" not in text
    assert "\tlinux /k 'a=$b' 'c=\"d e\"' 'f'\\''g'\n" in text
    assert "\tinitrd /u /i\n\tdevicetree /d\n}" in text
    assert quoted("root=UUID=1-2") == "root=UUID=1-2"


def test_bootcmd_is_the_boards_own_behind_the_mark_and_again_alone() -> None:
    own = "run distro_bootcmd; if true; then boot; fi; fi"
    armed = once(sysboot("mmc 0:1", "/whylate/whylate.conf"), own)
    assert armed.endswith(f"; {own}")
    assert own_bootcmd(armed) == own_bootcmd(own) == own
    assert own_bootcmd(once("sysboot", armed)) == own
    # The mark is removed, and that is on the disk, before anything is booted.
    order = [armed.index(part) for part in ("setenv whylate_once;", "saveenv", "sysboot")]
    assert order == sorted(order)


def test_a_value_that_u_boot_would_execute_is_refused() -> None:
    entry = Entry("Image", words=["a=1", "b=2"])
    assert fill("setenv bootargs {words}; load {kernel}", entry) == (
        "setenv bootargs a=1 b=2; load Image"
    )
    with pytest.raises(BootMethodError, match="would read more"):
        fill("setenv bootargs {words}", Entry("Image", words=["a=1;reset"]))


class Declared:
    """A board whose environment file declares this."""

    name = "board7"

    def __init__(self, boot: object) -> None:
        self.declared = {"boot": boot}


@pytest.mark.parametrize(
    ("boot", "message"),
    [
        ({"device": "mmc 0:1; reset"}, "write U-Boot's name of a partition"),
        ({"conf": "/boot/../etc/shadow"}, "conf: write an absolute path"),
        ({"kernel": "Image"}, "kernel: write an absolute path"),
        ({"prompt": ""}, "prompt and commands are printable ASCII"),
        ({"commands": ["a\nb"]}, "prompt and commands are printable ASCII"),
        ({"commands": ["a"] * 21}, "at most 20 commands"),
        ({"speed": 1}, "unknown field `speed`"),
        ("u-boot", "Expected `object`"),
    ],
)
def test_a_wrong_declaration_is_one_line(boot: object, message: str) -> None:
    with pytest.raises(BootMethodError, match=r"board7: options.whylate.boot") as caught:
        boot_options(Declared(boot))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_board_without_declarations_has_the_defaults() -> None:
    assert boot_options(object()) == BootOptions()  # type: ignore[arg-type]
    assert boot_options(Declared({"commands": ["x"], "kernel": "Image"})).kernel == "Image"  # type: ignore[arg-type]


BANNER = b"Linux version 6.1.0-rt (me@here) (gcc 12) #1 SMP PREEMPT_RT Debian (2026-11-16)\n\0"


def test_a_kernels_release_is_read_from_its_file() -> None:
    x86 = bytearray(0x600)
    x86[0x202:0x206] = b"HdrS"
    x86[0x20E:0x210] = (0x100).to_bytes(2, "little")
    x86[0x300:0x340] = b"6.1.0-56-amd64 (debian-kernel@lists.debian.org) #1 SMP".ljust(64, b"\0")
    assert kernel_release(bytes(x86)) == "6.1.0-56-amd64"
    full = "6.1.0-rt #1 SMP PREEMPT_RT Debian (2026-11-16)"
    assert kernel_release(b"MZ" + b"\0" * 100 + BANNER) == full
    assert kernel_release(gzip.compress(BANNER)) == full
    assert kernel_release(gzip.compress(BANNER)[:20]) == ""
    assert kernel_release(b"no kernel") == ""


def test_what_is_not_in_effect_is_named() -> None:
    entry = Entry("k", words=["a=1", "whylate.entry=1"])
    now = Running(("a=1", "whylate.entry=1"), "6.1.0-rt", "#1 SMP")
    assert not_in_effect(entry, "", now) == ""
    assert not_in_effect(entry, "6.1.0-rt", now) == ""
    assert not_in_effect(entry, "6.1.0-rt #1 SMP", now) == ""
    assert "the kernel that runs is 6.1.0-rt" in not_in_effect(entry, "6.1.0-rt #2 SMP", now)
    assert "b=2 is not on" in not_in_effect(Entry("k", words=["b=2"]), "", now)


def fdt(model: bytes) -> bytes:
    """A device tree whose root has a model, a property of no interest, and a node."""
    prop = struct.pack(">3I", 3, len(model), 0) + model + b"\0" * (-len(model) % 4)
    other = struct.pack(">3I", 3, 4, 6) + b"\0\0\0\2"
    node = struct.pack(">I", 1) + b"cpu\0" + prop.replace(model, b"x" * len(model)) + END
    body = struct.pack(">I", 1) + b"\0\0\0\0" + other + prop + node + END + struct.pack(">I", 9)
    names = b"model\0#x\0"
    header = (0xD00DFEED, 40 + len(body) + len(names), 40, 40 + len(body), 40, 17, 16, 0)
    return struct.pack(">10I", *header, len(names), len(body)) + body + names


END = struct.pack(">I", 2)


def test_the_identity_of_a_device_tree_is_its_roots() -> None:
    tree = fdt(b"Board seven\0")
    assert identity(tree) == {"model": b"Board seven\0"}
    assert identity(b"no tree") == {}
    for cut in range(len(tree)):
        assert identity(tree[:cut]).get("model", b"Board seven\0")[:1] in (b"B", b"")
    now = Running(("whylate.entry=1",), "6.1", "#1", {"model": b"Board six\0"})
    reason = not_in_effect(Entry("k", words=["whylate.entry=1"]), "", now, identity(tree))
    assert "another model than the file" in reason
