"""How QEMU's threads are scheduled, so that a run in virtual time is the same each time.

In virtual time one thread of QEMU runs all CPUs of the board, each in its turn for a counted
number of instructions, and runs the board's timers in between. QEMU's main thread wakes up with
each timer too, asks whether all CPUs are idle, and moves the clock to the next timer then. When
it asks is left to the host: where it is late, a CPU may just have gone idle and its instructions
be not accounted for as yet. The clock is then moved too far, and a CPU's turn ends where it would
not have (rr_cpu_thread_fn in QEMU's accel/tcg/tcg-accel-ops-rr.c, icount_start_warp_timer in its
icount-common.c, aio_notify in its util/async.c). With QEMU 10.0 on a busy host about one run in
twenty was another one for it.

So both threads get one CPU of the host, and the main thread a real-time priority. Whenever it has
something to do it then does it at once, before the other thread runs one instruction more: as far
as the board can tell, always at the same moment.
"""

from __future__ import annotations

import os
import random
import shutil
import threading


def fixed_turns() -> list[str]:
    """Return the words before QEMU's command that schedule it so; none where we may not."""
    chrt, taskset = shutil.which("chrt"), shutil.which("taskset")
    if chrt is None or taskset is None or not _may_be_real_time():
        return []
    # Several boards share the host's CPUs somehow; nothing depends on which they get.
    cpu = random.choice(sorted(os.sched_getaffinity(0)))  # noqa: S311
    # Threads that it makes get an ordinary priority again.
    return [chrt, "--reset-on-fork", "--fifo", "1", taskset, "--cpu-list", str(cpu)]


def _may_be_real_time() -> bool:
    """Try it in a thread: rights, limits and a container's rules all have a say."""
    allowed = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            return
        allowed.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(allowed)
