"""In what two files of one name differ, and how a file is described."""

from __future__ import annotations

from whylate.bisect.differences.kernels import Names
from whylate.bisect.sides.tree import Entry

#: The difference of the contents of two files; others are of what stands around it.
CONTENT = "content"


def compare_entries(
    first: Entry, second: Entry, names: tuple[Names, Names]
) -> dict[str, tuple[str, str]]:
    """Return both values of what differs, by what it is: type, content, target, mode, owner …

    {} for two that are the same, or whose contents are not known.
    """
    if first.type != second.type:
        return {"type": (describe(first), describe(second))}
    differing: dict[str, tuple[str, str]] = {}
    if first.type == "file" and _contents_differ(first, second):
        differing[CONTENT] = _content(first), _content(second)
    if names[0].common(first.target) != names[1].common(second.target):
        differing["target"] = f"link to {first.target}", f"link to {second.target}"
    if (first.device, first.block) != (second.device, second.block):
        differing["device"] = _device(first), _device(second)
    # A link's mode has no effect.
    if first.mode != second.mode and first.type != "link":
        differing["mode"] = _mode(first), _mode(second)
    if (first.uid, first.gid) != (second.uid, second.gid):
        differing["owner"] = _owner(first), _owner(second)
    return differing


def is_unknown(first: Entry | None, second: Entry | None) -> bool:
    """Whether the contents of two files of the same size are not known."""
    return (
        first is not None
        and second is not None
        and first.type == second.type == "file"
        and first.size == second.size
        and (first.digest is None or second.digest is None)
    )


def describe(entry: Entry) -> str:
    """Write all that is known of a file."""
    if entry.type == "file":
        return f"{_content(entry)}, {_mode(entry)}, {_owner(entry)}"
    if entry.type == "link":
        return f"link to {entry.target}"
    if entry.type == "device":
        return f"{_device(entry)}, {_mode(entry)}, {_owner(entry)}"
    return f"{entry.type}, {_mode(entry)}, {_owner(entry)}"


def _contents_differ(first: Entry, second: Entry) -> bool:
    if first.size != second.size:
        return True
    known = first.digest is not None and second.digest is not None
    return known and first.digest != second.digest


def _content(entry: Entry) -> str:
    digest = "not read" if entry.digest is None else f"sha256 {entry.digest.hex()}"
    return f"{entry.size:,} bytes, {digest}"


def _mode(entry: Entry) -> str:
    return f"mode {entry.mode:04o}"


def _owner(entry: Entry) -> str:
    return f"owner {entry.uid}:{entry.gid}"


def _device(entry: Entry) -> str:
    kind = "block device" if entry.block else "device"
    return f"{kind} {entry.device[0]}:{entry.device[1]}"
