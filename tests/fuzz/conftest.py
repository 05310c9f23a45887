"""Fuzzers make journals as the tests of recordings do."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "recording"))
