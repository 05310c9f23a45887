"""extlinux.conf, as SYSLINUX and U-Boot read it.

Format: SYSLINUX's doc/syslinux.txt; U-Boot's doc/README.pxe has the keywords that it knows.
"""

from __future__ import annotations

import posixpath

from whylate.boards.boot.entry import Entry, words_of

#: Keywords for the same, in upper case.
_KERNEL = ("LINUX", "KERNEL")
_INITRD = ("INITRD",)
_DTB = ("FDT", "DEVICETREE")
_MORE = ("FDTDIR", "DEVICETREEDIR", "FDTOVERLAYS", "DEVICETREE-OVERLAY")


def default_entry(text: str, directory: str) -> Entry | None:
    """Return the entry that is booted by default; None if there is none.

    directory: that of the file, as the boot loader has it: relative paths begin there.
    """
    default, labels = _labels(text)
    lines = labels.get(default) or next(iter(labels.values()), None)
    if lines is None:
        return None
    kernel = _value(lines, _KERNEL)
    if not kernel:
        return None
    words = words_of(_value(lines, ("APPEND",)))
    initrd = _value(lines, _INITRD)
    if not initrd:
        # SYSLINUX takes it from the command line as well.
        initrd = next((word[7:] for word in words if word.startswith("initrd=")), "")
    return Entry(
        kernel=_absolute(kernel, directory),
        initrd=_absolute(initrd, directory),
        dtb=_absolute(_value(lines, _DTB), directory),
        words=[word for word in words if not word.startswith("initrd=")],
        more=[(key, _absolute(value, directory)) for key, value in lines if key in _MORE],
    )


def label_text(name: str, entry: Entry) -> str:
    """Return the lines of a label."""
    lines = [f"LABEL {name}", f"  LINUX {entry.kernel}"]
    if entry.initrd:
        lines.append(f"  INITRD {entry.initrd}")
    if entry.dtb:
        lines.append(f"  FDT {entry.dtb}")
    lines += [f"  {key} {value}" for key, value in entry.more]
    lines.append(f"  APPEND {entry.line}")
    return "\n".join(lines) + "\n"


def conf_text(name: str, entry: Entry) -> str:
    """Return a file with that label alone, which is booted at once."""
    return f"TIMEOUT 1\nDEFAULT {name}\n{label_text(name, entry)}"


def _labels(text: str) -> tuple[str, dict[str, list[tuple[str, str]]]]:
    """Return the name of the default label, and the lines of each label."""
    default, labels = "", dict[str, list[tuple[str, str]]]()
    lines: list[tuple[str, str]] | None = None
    for raw in text.splitlines():
        key, _, value = raw.strip().partition(" ")
        key, value = key.upper(), value.strip()
        if key in ("DEFAULT", "ONTIMEOUT") and value:
            default = value
        elif key == "LABEL":
            lines = labels.setdefault(value, [])
        elif lines is not None and key and not key.startswith("#"):
            lines.append((key, value))
    return default, labels


def _value(lines: list[tuple[str, str]], keys: tuple[str, ...]) -> str:
    return next((value for key, value in lines if key in keys), "")


def _absolute(path: str, directory: str) -> str:
    """Return a path from the partition's root, of each file in a list."""
    if not path:
        return ""
    parts = path.replace(",", " ").split() if "," in path else [path]
    return ",".join(posixpath.normpath(posixpath.join(directory, part)) for part in parts)
