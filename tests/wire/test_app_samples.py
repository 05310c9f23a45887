"""Whose activations are, as it travels: what fits is read, and all else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leb128 import leb128, zigzag
from whylate.wire.app_samples import decode_app_samples, decode_threads
from whylate.wire.blocks import INT64_MAX
from whylate.wire.codec import WireError
from whylate.wire.constants import HIGHEST_PID
from whylate.wire.messages import Samples, SampleThreads

START = 1_000


def numbers(*values: int) -> bytes:
    return b"".join(leb128(value) for value in values)


def test_due_times_go_on_from_each_other_and_may_go_back() -> None:
    data = numbers(7, zigzag(500), 1, HIGHEST_PID, zigzag(-300), 4)
    found = decode_threads(SampleThreads(0, 2, 0, data), START)
    assert found.due_ns.tolist() == [1_500, 1_200]
    assert found.pid.tolist() == [7, HIGHEST_PID]
    assert found.origin.tolist() == [1, 4]


@pytest.mark.parametrize("step", [-START - 1, INT64_MAX])
def test_what_was_due_at_no_possible_time_is_refused(step: int) -> None:
    with pytest.raises(WireError, match=r"no possible time|impossible time"):
        decode_threads(SampleThreads(0, 1, 0, numbers(7, zigzag(step), 1)), START)


def test_an_empty_block_has_no_rows() -> None:
    assert decode_threads(SampleThreads(0, 0, 0, b""), START).pid.size == 0
    assert decode_app_samples(Samples(0, 0, 0, b"")).activation.size == 0


@given(st.integers(0, 9), st.integers(0, (1 << 64) - 1), st.binary(max_size=64),
       st.integers(0, INT64_MAX))  # fmt: skip
def test_any_block_is_read_or_refused(count: int, first: int, data: bytes, start_ns: int) -> None:
    """What is read is of the shape and within the bounds that the rest relies on."""
    try:
        rows = decode_app_samples(Samples(0, count, first, data))
        assert rows.activation.size == rows.latency_ns.size == rows.overrun.size == count
        assert count == 0 or 0 <= rows.activation[0] <= rows.activation[-1]
    except WireError:
        pass
    try:
        found = decode_threads(SampleThreads(0, count, first, data), start_ns)
        assert found.pid.size == found.due_ns.size == found.origin.size == count
        assert (found.due_ns >= 0).all()
        assert ((found.pid >= 1) & (found.pid <= HIGHEST_PID)).all()
        assert ((found.origin >= 1) & (found.origin <= 4)).all()
    except WireError:
        pass
