"""A bench without hardware: a power strip, and virtual boards on serial lines behind it.

    python examples/simulated_bench.py DIR --boards 2

writes DIR/bench.yaml, which labgrid reads, and keeps the bench until it is interrupted: each board
is a QEMU machine that has power while its outlet is on. The strip answers on the loopback alone.
With --welded N the relay of outlet N sticks: its board stays on when it is switched off.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/bench"))

from bench_boards import QemuOnTheBench, qemu_command
from bench_files import POWER, SERIAL, power_port, serial_port, target, targets_text
from bench_line import SerialLine
from bench_supplies import Strip, strip

from whylate.boards.board import BoardError
from whylate.lab.description import virtual_board


@dataclass(frozen=True)
class SimulatedBench:
    """What a bench is made of. environment: the file that labgrid reads."""

    environment: Path
    power: Strip
    #: The boards behind the outlets 1, 2, ...
    plugs: Sequence[QemuOnTheBench]


@contextmanager
def simulated_bench(
    directory: Path, machine: str, names: Sequence[str]
) -> Iterator[SimulatedBench]:
    """Yield a bench with boards of these names, all of them off; machine: a virtual board.

    Raises BoardError where the machine's QEMU or image is missing.
    """
    with ExitStack() as stack:
        lines, plugs = [], []
        for name in names:
            place = directory / name
            place.mkdir(parents=True, exist_ok=True)
            lines.append(SerialLine())
            stack.callback(lines[-1].close)
            command = qemu_command(virtual_board(machine), place)
            plugs.append(QemuOnTheBench(command, place / "console", lines[-1]))
        power = stack.enter_context(strip(*plugs))
        targets = {
            name: target(
                resources=[power_port(power, index), serial_port(line.path)],
                drivers=[POWER, SERIAL],
            )
            for index, (name, line) in enumerate(zip(names, lines, strict=True), 1)
        }
        environment = directory / "bench.yaml"
        environment.write_text(targets_text(targets))
        yield SimulatedBench(environment, power, plugs)


def main() -> int:
    """Keep the bench until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="where its files are written")
    parser.add_argument("--boards", type=int, default=2, metavar="N", help="how many (2)")
    parser.add_argument("--machine", default="virt-arm64", help="a virtual board (virt-arm64)")
    parser.add_argument("--welded", type=int, action="append", default=[], metavar="N")
    asked = parser.parse_args()
    names = [f"board{number}" for number in range(1, asked.boards + 1)]
    if any(not 1 <= number <= len(names) for number in asked.welded):
        parser.error(f"--welded: there are the outlets 1 to {len(names)}")
    ends = {signal.SIGINT, signal.SIGTERM}
    # Threads of the bench inherit it: the signal waits for sigwait().
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        with simulated_bench(asked.directory, asked.machine, names) as bench:
            for index in asked.welded:
                outlet = bench.power.outlets[index]
                outlet.welded, outlet.honest = True, False
            print(f"{', '.join(names)}: {bench.environment}", flush=True)
            signal.sigwait(ends)
    except BoardError as error:
        print(f"simulated_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
