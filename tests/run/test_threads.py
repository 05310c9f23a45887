"""Ctrl-C while the main thread waits for others."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: The signal is given to a thread that is not the main one, as the kernel may do.
PROGRAM = """
import signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from whylate.run.threads import wait_for_futures, wait_for_threads

ended = threading.Event()
signal.signal(signal.SIGINT, lambda number, frame: ended.set())

def work():
    time.sleep(0.5)  # The main thread waits by then.
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    print("handled" if ended.wait(10) else "lost", flush=True)

if sys.argv[1] == "threads":
    thread = threading.Thread(target=work)
    thread.start()
    wait_for_threads([thread])
else:
    with ThreadPoolExecutor(1) as pool:
        wait_for_futures([pool.submit(work)])
"""


@pytest.mark.parametrize("what", ["threads", "futures"])
def test_a_signal_that_another_thread_gets_is_handled_while_the_main_one_waits(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, what],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "handled\n"
