"""`whylate bench`: the benchmarks. A new one is a file here and a line below."""

from __future__ import annotations

import click

from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate bench --help` shows of it.
VERBS = {
    "switch": ("bench.switch", "Time context switches, and count the TLB flushes they cause."),
    "memory": ("bench.memory", "Time copies, writes and reads of memory whose backing is proved."),
    "clock": ("bench.clock", "Time clock reads by several threads; count steps back."),
    "bulk": ("bench.bulk", "Time bulk work under a lock by its chunks, and how it delays others."),
    "flush": ("bench.flush", "Time what a flush of translations costs another CPU."),
    "cmd": ("bench.command", "Time a command, or read a number from its output."),
}


@click.group(name="bench", cls=LazyVerbs, verbs=VERBS)
def bench() -> None:
    """Run a benchmark on one or several boards.

    Options that take a list (--tasks 2,4,8) are swept. Each combination is a point; every round
    measures each point once, in random order.
    """
