"""Studies of what boards of the simulated bench boot."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench_boards import ProcessBoard
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Strip

from study_watchers import StudyLog
from whylate.boards.deploy import PLACES
from whylate.probe.binaries import probe_binary
from whylate.recording.workloads.wakeup import Wakeup
from whylate.study.attempt import Open
from whylate.study.carry_out import Result, run_study
from whylate.study.journal import StudyJournal
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant
from whylate.study.restore.cards import hash_images

LOADER = Path(__file__).with_name("loader.py")


def boot_environment(directory: Path, power: Strip, line: SerialLine, boot: str) -> Path:
    """An environment file with board7, whose boot is declared."""
    body = target(resources=[power_port(power), serial_port(line.path)], drivers=[POWER, SERIAL])
    return environment(directory, board7=f"{body}\noptions: {{whylate: {{boot: {boot}}}}}")


def boot_plan(
    variants: Sequence[Variant], rounds: int = 1, boards: Sequence[str] = ("board7",)
) -> StudyPlan:
    """A plan of short runs."""
    return StudyPlan(
        workload=Wakeup(duration_ns=200_000_000, interval_ns=1_000_000, allow_idle_states=True),
        boards=list(boards),
        variants=list(variants),
        loads=[LoadSet("idle", [])],
        stop=Stop("runs", [rounds]),
        cpus=[0],
        image_sha256=hash_images(variants, boards),
    )


def carry_out(
    directory: Path,
    plan: StudyPlan,
    open_board: Open,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Result, list[str]]:
    """Carry a study out; return its result and what was logged."""
    log = StudyLog()
    with StudyJournal(directory, plan) as journal:
        result = run_study(journal, plan, open_board, log, stopped)
        log.lines += [run.failed for run in journal.done if run.failed]
    return result, log.lines


class LoaderBoard(ProcessBoard):
    """A board whose boot loader is loader.py: its /boot is the directory `boot`."""

    banner = b""

    def __init__(
        self, directory: Path, line: SerialLine, words: str = "console=ttyS0 quiet"
    ) -> None:
        self.boot, tools = directory / "boot", directory / "bin"
        (self.boot / "extlinux").mkdir(parents=True)
        tools.mkdir()
        (self.boot / "vmlinuz").write_bytes(b"kernel")
        self.conf = self.boot / "extlinux/extlinux.conf"
        self.conf.write_text(
            f"# by hand\nDEFAULT linux\nLABEL linux\n  LINUX /vmlinuz\n  APPEND {words}\n"
        )
        # The host's own would wait for the disks of everybody.
        self.tool("sync", "exit 0")
        self.tool("df", 'printf "F 1 1 1 1%% M\\nbench 1 1 1 1%% /boot\\n"')
        probe = probe_binary(platform.machine())
        place = f"{PLACES[0]}/whylate-probe-0/whylate-probe.{probe.sha256}"
        command = [sys.executable, str(LOADER), str(self.boot), str(probe.path), place]
        super().__init__(command, line)

    def tool(self, name: str, script: str) -> None:
        """Give the board a command."""
        path = self.boot.parent / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def files(self, pattern: str = "*") -> list[str]:
        """The files of /boot, whether the board is on or off."""
        return sorted(str(path.relative_to(self.boot)) for path in self.boot.rglob(pattern))
