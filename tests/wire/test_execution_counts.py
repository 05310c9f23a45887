"""What was counted of executions, as it travels: what can be is read, and all else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leb128 import leb128
from whylate.wire.codec import WireError
from whylate.wire.constants import LATEST_NS, CountState
from whylate.wire.executions import NO_COUNT, decode_counts
from whylate.wire.messages import ExecutionCounts

OWN, REFUSED, SHARED = CountState.OWN, CountState.REFUSED, CountState.SHARED


def block(*rows: tuple[int, ...], count: int | None = None) -> ExecutionCounts:
    data = b"".join(leb128(value) for row in rows for value in row)
    return ExecutionCounts(0, len(rows) if count is None else count, 0, data)


def test_an_execution_has_its_counts_or_none_of_them() -> None:
    counts = decode_counts(
        block((OWN, 31_945, 2_865, 0, 0), (SHARED, 0, 0, 0, 0), (REFUSED, 0, 0, 0, 0)), 2
    )
    assert counts.values.tolist() == [[31_945, 2_865], [NO_COUNT] * 2, [NO_COUNT] * 2]
    assert counts.state.tolist() == [OWN, SHARED, REFUSED]


def test_four_events_have_a_column_each_and_a_count_may_be_large() -> None:
    row = (LATEST_NS, 1, 0, 128)
    assert decode_counts(block((OWN, *row)), 4).values.tolist() == [list(row)]


@pytest.mark.parametrize(
    ("row", "counters"),
    [
        ((3, 0, 0, 0, 0), 2),
        ((OWN, 1, 2, 3, 0), 2),
        ((REFUSED, 1, 0, 0, 0), 2),
        ((SHARED, 0, 0, 0, 1), 4),
        ((OWN, LATEST_NS + 1, 0, 0, 0), 1),
        ((OWN, (1 << 64) - 5, 0, 0, 0), 1),
        (((1 << 64) - 1, 0, 0, 0, 0), 1),
    ],
    ids=["state", "not asked for", "refused and counted", "shared and counted", "too large",
         "negative", "negative state"],
)  # fmt: skip
def test_counts_that_cannot_be_are_refused(row: tuple[int, ...], counters: int) -> None:
    with pytest.raises(WireError):
        decode_counts(block((OWN, 0, 0, 0, 0), row), counters)


@given(st.binary(max_size=60), st.integers(0, 8), st.integers(1, 4))
def test_any_bytes_are_read_or_refused(data: bytes, count: int, counters: int) -> None:
    try:
        counts = decode_counts(ExecutionCounts(0, count, 0, data), counters)
    except WireError:
        return
    assert counts.values.shape == (count, counters)
    assert (counts.values >= NO_COUNT).all()
