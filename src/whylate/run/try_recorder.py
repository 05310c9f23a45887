"""The flight recorder for a moment: what it could see on a board, and what not, before a run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from whylate.probe.client import Client, ProbeRefusedError, ProbeTimeoutError
from whylate.recording.manifest import RecorderReport
from whylate.recording.recorder.accounting import RecorderAccounting
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame
from whylate.wire.messages import Message, Recorder, Result, Wakeup

#: A few activations, which an idle board hardly notices.
INTERVAL_NS = 10_000_000
DURATION_NS = 200_000_000
#: Nobody is measured: the least urgent real-time priority will do.
PRIORITY = 1
#: Some windows are copied, so that functions get their names; not many, for a line may be slow.
NEVER_LATE_NS = 3_600_000_000_000
BODY_EVERY = 4
#: A board that has not come to the end by then, will not: as much as a run has to begin, for one
#: that others starve is slow. One that says nothing any more is given up much sooner by the link.
PATIENCE_S = 300.0
_TURN_S = 0.2


def try_recorder(client: Client, cpus: Sequence[int]) -> RecorderReport:
    """Record a fifth of a second on these CPUs and return what became of it.

    What was attached is removed again. A board that can record nothing gives a report without an
    engine, which says why. Raises ProbeError.
    """
    account = RecorderAccounting()
    ended = False

    def take(frame: Frame, message: Message) -> None:
        nonlocal ended
        del frame
        with contextlib.suppress(WireError):
            account.add(message)
        ended = ended or isinstance(message, Result)

    before, client.on_message = client.on_message, take
    try:
        client.call(Recorder(0, NEVER_LATE_NS, 0, BODY_EVERY, 0, 0))
        client.call(Wakeup(INTERVAL_NS, DURATION_NS, PRIORITY, 0, 0, tuple(cpus)))
        deadline = time.monotonic() + PATIENCE_S
        while not ended:
            client.pump(_TURN_S)
            if time.monotonic() > deadline:
                raise ProbeTimeoutError("the probe did not end trying the flight recorder in time")
    except ProbeRefusedError as error:
        account.refuse(str(error))
    finally:
        client.on_message = before
    return account.report(windows=0)
