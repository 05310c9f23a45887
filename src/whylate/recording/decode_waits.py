"""Waits of a program from the messages of the probe."""

from __future__ import annotations

import msgspec
import numpy as np

from whylate.recording.waits import States, WaitReport
from whylate.wire.app_samples import ORIGINS
from whylate.wire.blocks import decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import MOST_WAITS
from whylate.wire.messages import AppWait

#: By the lowest bits of task_struct.__state (include/linux/sched.h).
_STATES: dict[int, States] = {1: "interruptible", 2: "uninterruptible", 4: "stopped", 8: "stopped"}


def decode_wait(message: AppWait) -> WaitReport:
    """Return a group of waits without names; raises WireError for what no board can have seen."""
    rows = decode_rows(decode_numbers(message.data), message.bins, "waits")
    if rows.size and (int(rows.min()) < 0 or int(np.max(rows[:, 1])) > MOST_WAITS):
        raise WireError("an impossible number of waits")
    try:
        return msgspec.convert(
            {
                "pid": message.tid,
                "waker": message.waker,
                "origin": ORIGINS[message.origin] if message.origin else "",
                "state": _STATES.get(message.state, "other"),
                "system_call": message.system_call - 1 if message.system_call else None,
                "futex": message.futex,
                "count": message.count,
                "total_ns": message.total_ns,
                "longest_ns": message.longest_ns,
                "bins": rows.tolist(),
            },
            WaitReport,
        )
    except msgspec.ValidationError as error:
        raise WireError(f"waits of a program: {error}") from None
