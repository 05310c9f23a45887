"""Names that users give, of boards and variants, as parts of paths."""

from __future__ import annotations

import re


def path_part(name: str) -> str:
    """Return a name as a part of a path: ssh://root@board7 is root@board7."""
    return re.sub(r"[^A-Za-z0-9._@+-]+", "-", name.removeprefix("ssh://"))[:80].strip(".") or "-"
