"""`whylate lab faults` and `whylate lab inject`: injected faults, listed and tried."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import DURATION
from whylate.quantities import format_ns

if TYPE_CHECKING:
    from whylate.lab.faults.catalogue import Fault
    from whylate.lab.faults.log import FaultLog

_WHERE = {"module": "pc, arm64, riscv64", "program": "any board", "outside": "real time"}


@click.command(name="faults")
@click.argument("name", required=False)
def faults(name: str | None) -> None:
    """List the faults that can be injected, or describe the fault NAME."""
    from whylate.lab.faults.catalogue import fault, names

    if name is not None:
        _describe(fault(name))
        return
    width = max(map(len, names()))
    for injectable in map(fault, names()):
        where = _WHERE[injectable.kind]
        if injectable.kind == "module" and injectable.machines:
            where = "pc"
        click.echo(f"{injectable.name:{width}}  {where:18}  {injectable.title}")


def _describe(fault: Fault) -> None:
    click.echo(f"{fault.name}: {fault.title}\n")
    click.echo(textwrap.fill(fault.text, 96) + "\n")
    where = {
        "module": "on virtual boards of x86-64, arm64 and riscv64, as a kernel module",
        "program": "on any board, as a program",
        "outside": "to an emulator, in real time",
    }[fault.kind]
    if fault.machines:
        where += f" (machines: {', '.join(fault.machines)})"
    click.echo(f"where         {where}" + (f", {fault.cpus} CPUs" if fault.cpus > 1 else ""))
    click.echo(f"right answer  {fault.answer.kind}: {fault.answer.detail}")
    if fault.answer_rt is not None:
        click.echo(f"  with RT     {fault.answer_rt.kind}: {fault.answer_rt.detail}")
    for key, parameter in fault.parameters.items():
        click.echo(f"{key + '=' + str(parameter.default):22}  {parameter.text}")


@click.command(name="inject")
@click.argument("words", metavar="NAME [PARAMETER=VALUE]...", nargs=-1, required=True)
@click.option("--board", default="pc", show_default=True, help="Where it acts.")
@click.option("--for", "duration_ns", type=DURATION, default="10s", show_default=True,
              help="How long it acts.")  # fmt: skip
@click.option("--smp", type=click.IntRange(1, 64), help="CPUs of a virtual board that is off.")
def inject(words: tuple[str, ...], board: str, duration_ns: int, smp: int | None) -> None:
    """Inject a fault into a board in real time, and print what it did.

    \b
      whylate lab inject irqs-off size_us=500 period_us=20000
      whylate lab inject preempt-off rt-task priority=98 --board pc-rt

    Several faults act at the same time; parameters belong to the name before them. A board that is
    off is booted. It is left as it was.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    from whylate.cli.live import LiveView
    from whylate.lab.faults.catalogue import uses
    from whylate.run.faults.inject import Injection, inject

    injection = Injection(uses(words), duration_ns / 1e9, smp)
    logs: list[FaultLog] = []
    try:
        with LiveView() as view:
            inject(board, injection, view.log, logs.append)
    finally:
        # Also if the board could not be restored.
        for log in logs:
            sys.stdout.write(format_log(log) + "\n")


def format_log(log: FaultLog) -> str:
    """Return one line: how often a fault acted, how long, and on which CPU."""
    count = f"{log.fault.name}: acted {len(log.events)} times"
    if not log.events:
        return count
    lengths = sorted(event.length_ns for event in log.events)
    shown = [format_ns(lengths[i]) for i in (0, len(lengths) // 2, -1)]
    cpus = ", ".join(map(str, sorted({event.cpu for event in log.events})))
    text = f"{count} on CPU {cpus}, min {shown[0]}, median {shown[1]}, max {shown[2]}"
    return text + (f"; {log.dropped} more were not logged" if log.dropped else "")
