"""What the tests of consoles share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from console_line import BUSYBOX, SHELLS, Line, shell_on_a_line


@pytest.fixture(params=list(SHELLS))
def line(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Line]:
    """Each shell behind a terminal."""
    if request.param == "busybox" and BUSYBOX is None:
        pytest.skip("busybox is not here")
    with shell_on_a_line(SHELLS[request.param], tmp_path / "console.log") as line:
        yield line


@pytest.fixture
def one_line(tmp_path: Path) -> Iterator[Line]:
    """One shell behind a terminal, where it does not matter which."""
    with shell_on_a_line(SHELLS["dash"], tmp_path / "console.log") as line:
        yield line
