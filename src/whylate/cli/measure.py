"""`whylate measure`: how late is it?"""

from __future__ import annotations

import signal
import sys
from datetime import datetime
from pathlib import Path

import click

from whylate.cli.quantities import Cpus, Duration, Load, RequirementType, SettingType
from whylate.recording.manifest import LoadPlan, Setting


@click.command(name="measure")
@click.argument("board", default="local")
@click.option("--for", "duration_ns", type=Duration(), default="30s", show_default=True,
              help="How long to measure.")  # fmt: skip
@click.option("--interval", "interval_ns", type=Duration(), default="1ms", show_default=True,
              help="Time between activations of a CPU, from 50us.")  # fmt: skip
@click.option("--cpus", type=Cpus(), help="CPUs to measure, like 0-3,8.  [default: all]")
@click.option("--priority", type=click.IntRange(1, 99), default=95, show_default=True,
              help="SCHED_FIFO priority of the measuring threads.")  # fmt: skip
@click.option("--load", "loads", type=Load(), multiple=True, metavar="KIND[:N]",
              help="Disturb with memory, switch, net, fork, mmap, timer, disk, or cmd:COMMAND. "
              "May be repeated.")  # fmt: skip
@click.option("--require", "requirements", type=RequirementType(), multiple=True,
              metavar="LIMIT",
              help="Fail unless kept: p99.9<100us, max<1ms, over(100us)<1/10s. "
              "May be repeated.")  # fmt: skip
@click.option("--set", "settings", type=SettingType(), multiple=True,
              help="Change a file under /proc/sys or /sys for the run. May be repeated.",
              )  # fmt: skip
@click.option("--allow-idle-states", is_flag=True,
              help="Do not hold /dev/cpu_dma_latency at 0.")  # fmt: skip
@click.option("--spool", is_flag=True,
              help="Keep all samples on the board until the end.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="The recording's directory.  [default: recordings/TIME-BOARD]",
              )  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    board: str,
    duration_ns: int,
    interval_ns: int,
    cpus: tuple[int, ...] | None,
    priority: int,
    loads: tuple[LoadPlan, ...],
    requirements: tuple[str, ...],
    settings: tuple[Setting, ...],
    allow_idle_states: bool,
    spool: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure the wakeup latency of BOARD and write a report.

    A real-time thread on each CPU sleeps to absolute deadlines and reads the clock when it runs.
    Every activation is kept in DIR: exact, negative ones too, and those that came due during a
    stall are counted as overruns. Ctrl-C ends the run early and keeps what there is.
    """
    from rich.console import Console

    from whylate.boards.open import open_board
    from whylate.boards.ready import ready
    from whylate.cli.live import LiveView
    from whylate.cli.show import show
    from whylate.run.measure import measure
    from whylate.run.request import Request

    directory = output if output is not None else _new_directory(board)
    request = Request(
        duration_ns=duration_ns,
        interval_ns=interval_ns,
        cpus=cpus,
        priority=priority,
        allow_idle_states=allow_idle_states,
        spool=spool,
        loads=loads,
        settings=settings,
    )
    interrupt = _Interrupt()
    with LiveView(Console(stderr=True, highlight=False)) as view:
        with ready(open_board(board), view.phase) as opened:
            measure(opened, request, directory, view, interrupt.wanted)
        view.phase("reading what was recorded")
    sys.exit(show(directory, requirements, as_json=as_json))


def _new_directory(board: str) -> Path:
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    return Path("recordings") / f"{stamp}-{board}"


class _Interrupt:
    """The first Ctrl-C, SIGTERM or hang-up ends the run in good order, a second one at once."""

    def __init__(self) -> None:
        self._wanted = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Who ignores a signal for us (nohup, a shell's background) wants it ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, frame: object) -> None:
        del frame
        signal.signal(number, signal.default_int_handler)
        self._wanted = True

    def wanted(self) -> bool:
        """Whether somebody asked for the end."""
        return self._wanted
