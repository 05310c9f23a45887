"""A bench without hardware: a power strip, and virtual boards on serial lines behind it.

    python examples/simulated_bench.py DIR --boards 2

writes DIR/bench.yaml, which labgrid reads, and keeps the bench until it is interrupted: each board
is a QEMU machine that has power while its outlet is on. The strip answers on the loopback alone,
and so do the boards with SSH, for a key in DIR; with --console-only they have none. With
--welded N the relay of outlet N sticks: its board stays on when it is switched off.
With --cards the boards are shells of this machine, each with a card in an SD mux, a loop device,
which needs root. They boot the image on the card: DIR/good.img does, and DIR/broken.img does not.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/bench"))

from bench_boards import (
    CardBoard,
    ProcessBoard,
    QemuOnTheBench,
    card_image,
    free_port,
    qemu_command,
)
from bench_card import MIB, card
from bench_files import (
    MUX,
    POWER,
    SERIAL,
    power_port,
    serial_port,
    ssh_driver,
    ssh_service,
    target,
    targets_text,
)
from bench_line import SerialLine
from bench_supplies import Strip, strip

from whylate.boards.board import ImageFile
from whylate.boards.errors import BoardError
from whylate.lab.description import virtual_board


@dataclass(frozen=True)
class SimulatedBench:
    """What a bench is made of. environment: the file that labgrid reads."""

    environment: Path
    power: Strip
    #: The boards behind the outlets 1, 2, ...
    plugs: Sequence[QemuOnTheBench | ProcessBoard]


#: The resources and drivers of each board, beside those of its outlet: the first one has outlet 1.
_Targets = dict[str, tuple[list[str], list[str]]]


def _environment(directory: Path, power: Strip, targets: _Targets, before: str = "") -> Path:
    """Write what labgrid reads; before: what stands before the targets."""
    path = directory / "bench.yaml"
    made = {
        name: target(resources=[power_port(power, index), *resources], drivers=[POWER, *drivers])
        for index, (name, (resources, drivers)) in enumerate(targets.items(), 1)
    }
    path.write_text(before + targets_text(made))
    return path


@contextmanager
def simulated_bench(
    directory: Path,
    machine: str,
    names: Sequence[str],
    *,
    ssh: bool = True,
    files: Sequence[ImageFile] = (),
) -> Iterator[SimulatedBench]:
    """Yield a bench with boards of these names, all of them off; machine: a virtual board.

    ssh: whether the boards answer SSH. files: more files of their image.

    Raises BoardError where the machine's QEMU or image is missing.
    """
    board, key = virtual_board(machine), directory.resolve() / "key"
    if ssh:
        public = new_key(key)
    plugs: list[QemuOnTheBench] = []
    targets: _Targets = {}
    with ExitStack() as stack:
        for name in names:
            place = directory / name
            place.mkdir(parents=True, exist_ok=True)
            line = SerialLine()
            stack.callback(line.close)
            port = free_port() if ssh else 0
            command = qemu_command(board, place, (port, public) if ssh else None, files)
            plugs.append(QemuOnTheBench(command, place / "console", line))
            resources, drivers = [serial_port(line.path)], [SERIAL]
            if ssh:
                resources.append(ssh_service(port))
                drivers.append(ssh_driver(key))
            targets[name] = resources, drivers
        power = stack.enter_context(strip(*plugs))
        yield SimulatedBench(_environment(directory, power, targets), power, plugs)


def new_key(path: Path) -> str:
    """Make a pair of keys for the boards of one bench; return the public one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path.with_suffix(".pub").read_text().strip()


#: Bytes of a card, and of the images for it.
_CARD, _IMAGE = 64 * MIB, 32 * MIB
_RESOURCES = Path(__file__).absolute().parents[1] / "tests/bench/bench_labgrid.py"


@contextmanager
def bench_with_cards(directory: Path, names: Sequence[str]) -> Iterator[SimulatedBench]:
    """Yield a bench with boards that boot from cards, which have the good image; needs root."""
    good = card_image(directory / "good.img", "7.0-good", _IMAGE)
    card_image(directory / "broken.img", None, _IMAGE)
    plugs: list[CardBoard] = []
    targets: _Targets = {}
    # Of all muxes: one tool serves them.
    before = ""
    with ExitStack() as stack:
        for name in names:
            place = directory / name
            place.mkdir(exist_ok=True)
            line = SerialLine()
            stack.callback(line.close)
            mux = stack.enter_context(card(place, _CARD))
            with mux.backing.open("r+b") as medium:
                medium.write(good.read_bytes())
            plugs.append(CardBoard(mux.backing, line))
            targets[name] = [serial_port(line.path), mux.resource()], [SERIAL, *MUX]
            before = f"imports: [{_RESOURCES}]\ntools: {{usbsdmux: {mux.tool}}}\n"
        power = stack.enter_context(strip(*plugs))
        yield SimulatedBench(_environment(directory, power, targets, before), power, plugs)


def main() -> int:
    """Keep the bench until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="where its files are written")
    parser.add_argument("--boards", type=int, default=2, metavar="N", help="how many (2)")
    parser.add_argument("--machine", default="virt-arm64", help="a virtual board (virt-arm64)")
    parser.add_argument("--cards", action="store_true", help="boards that boot from cards")
    parser.add_argument("--welded", type=int, action="append", default=[], metavar="N")
    parser.add_argument("--console-only", action="store_true", help="boards without SSH")
    asked = parser.parse_args()
    names = [f"board{number}" for number in range(1, asked.boards + 1)]
    if any(not 1 <= number <= len(names) for number in asked.welded):
        parser.error(f"--welded: there are the outlets 1 to {len(names)}")
    ends = {signal.SIGINT, signal.SIGTERM}
    # Threads of the bench inherit it: the signal waits for sigwait().
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        directory = asked.directory.absolute()
        directory.mkdir(parents=True, exist_ok=True)
        made = (
            bench_with_cards(directory, names)
            if asked.cards
            else simulated_bench(asked.directory, asked.machine, names, ssh=not asked.console_only)
        )
        with made as bench:
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
