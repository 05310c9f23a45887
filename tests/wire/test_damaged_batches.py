"""Batches of which a board has damaged a part are decoded alone, and raise nothing."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.wire.blocks import numbers_in
from whylate.wire.event_batches import decode_event_batch


def test_blocks_without_any_data_have_no_numbers() -> None:
    edges = np.zeros(3, np.int64)
    assert numbers_in(np.zeros(0, np.uint8), edges).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"\x01\x01\x02", 1), (b"\x01\x00\x02\x01\x3f\x02", 2), (b"\x01\x3f\x02", 1), (b"", 1)],
)
def test_events_whose_last_one_is_cut_are_decoded_alone(data: bytes, count: int) -> None:
    def of(*numbers: int) -> np.ndarray:
        return np.array(numbers, np.int64)

    whole = b"\x01\x00\x02"
    assert decode_event_batch(whole, of(0), of(3), of(1), of(0)) is not None
    assert decode_event_batch(data, of(0), of(len(data)), of(count), of(0)) is None
    both = whole + data
    batch = decode_event_batch(both, of(0, 3), of(3, len(both)), of(1, count), of(0, 0))
    assert batch is None
