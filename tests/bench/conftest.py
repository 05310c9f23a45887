"""What the tests of the bench share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench_line import SerialLine


@pytest.fixture
def line() -> Iterator[SerialLine]:
    """A board's serial line, with nobody at its other end as yet."""
    made = SerialLine()
    yield made
    made.close()
