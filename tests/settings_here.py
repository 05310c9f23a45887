"""Settings of this machine that say nothing of what a test measures."""

from __future__ import annotations

from pathlib import Path


def inert(most: int) -> list[tuple[Path, int]]:
    """Return numbers of the Internet protocol that may be set to one more, and what they are."""
    found = []
    for path in sorted(Path("/proc/sys/net/ipv4").glob("*")):
        if not path.is_file() or path.stat().st_mode & 0o600 != 0o600:
            continue
        text = path.read_text().strip()
        if path.name.startswith("ipfrag"):
            continue
        if not text.isdecimal() or not 2 <= int(text) < 10_000_000:
            continue
        try:
            path.write_text(str(int(text) + 1))
            takes_it = path.read_text().strip() == str(int(text) + 1)
            path.write_text(text)
        except OSError:
            continue
        if takes_it:
            found.append((path, int(text)))
    return found[:most]
