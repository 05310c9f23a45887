"""Calls of labgrid-client by forks of one process, which takes 0.3 s to import it.

`labgrid_calls.py CALLS`: JSON, a list of [words, wanted]. Each is made once, or again, for 10 s,
until it succeeds and prints what is wanted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

from labgrid.remote.client import main

LONGEST_S = 10.0
PAUSE_S = 0.05


def call(words: list[str]) -> tuple[bool, str]:
    """Return whether a call succeeds, and what it prints."""
    with tempfile.TemporaryFile("w+") as printed:
        pid = os.fork()
        if not pid:
            os.dup2(printed.fileno(), sys.stdout.fileno())
            sys.argv = ["labgrid-client", *words]
            main()
            sys.exit(0)
        _, status = os.waitpid(pid, 0)
        printed.seek(0)
        return not status, printed.read()


def make(words: list[str], wanted: str | None) -> None:
    """Make a call; ends with status 1 where it fails, or never prints what is wanted."""
    deadline = time.monotonic() + LONGEST_S
    while True:
        succeeded, text = call(words)
        if succeeded and (wanted is None or wanted in text):
            return
        if wanted is None or time.monotonic() > deadline:
            sys.exit(f"labgrid-client {' '.join(words)} failed, or never printed {wanted!r}")
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    for each in json.loads(sys.argv[1]):
        make(*each)
