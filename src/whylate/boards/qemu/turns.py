"""How QEMU's threads are scheduled, so that runs in virtual time are identical.

In virtual time one thread of QEMU runs all CPUs of the board, each in its turn for a counted
number of instructions, and runs the board's timers in between. QEMU's main thread also wakes up at
each timer, checks whether all CPUs are idle, and if so advances the clock to the next timer. The
host decides when it checks: if that is late, a CPU may just have become idle and its instructions
may not be accounted for yet. The clock is then advanced too far, and a CPU's turn ends early
(rr_cpu_thread_fn in QEMU's accel/tcg/tcg-accel-ops-rr.c, icount_start_warp_timer in its
icount-common.c, aio_notify in its util/async.c). With QEMU 10.0 on a busy host this changed about
one run in twenty.

So both threads get one CPU of the host, and the main thread a real-time priority. It then runs
whenever it has work, before the other thread executes another instruction: at the same instant in
the board's time in every run.
"""

from __future__ import annotations

import os
import random
import shutil
import threading


def fixed_turns() -> list[str]:
    """Return the words before QEMU's command that schedule it so; none without the right."""
    chrt, taskset = shutil.which("chrt"), shutil.which("taskset")
    if chrt is None or taskset is None or not _may_be_real_time():
        return []
    # Several boards share the host's CPUs; the result does not depend on which they get.
    cpu = random.choice(sorted(os.sched_getaffinity(0)))  # noqa: S311
    # Its new threads are SCHED_OTHER.
    return [chrt, "--reset-on-fork", "--fifo", "1", taskset, "--cpu-list", str(cpu)]


def _may_be_real_time() -> bool:
    """Try it in a thread: it depends on rights, limits and a container's rules."""
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
