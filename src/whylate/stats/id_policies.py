"""Names of policies that give ids to address spaces, and limits: what the command line knows too.

It loads nothing, for the command line.
"""

from __future__ import annotations

from typing import Literal, get_args

Policy = Literal["in-turn", "lru", "generations"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
#: More ids has no processor.
MOST_IDS = 1 << 16
