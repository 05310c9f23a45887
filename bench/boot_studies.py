"""Do studies of what a board boots call an effect that is there, and only that?

Each study has 2 kernels × 2 command lines × 6 rounds: 24 boots through a boot loader's prompt on
the simulated bench of the tests (a REST relay, a serial line, and a board that is a process). The
kernels differ in how much work the timed command then has; the words on the command line do
nothing. In a null study the kernels are alike as well. --u-boot takes the whole board instead: QEMU
with Debian's U-Boot and the kernels 6.1 and 6.1-rt, of which nothing is injected.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "bench")]

from bench_boards import QemuOnTheBench  # noqa: E402
from bench_boot import LoaderBoard, boot_environment  # noqa: E402
from bench_line import SerialLine  # noqa: E402
from bench_supplies import Load, strip  # noqa: E402
from bench_u_boot import RT_KERNEL, disk, qemu_command  # noqa: E402

from many_studies import Silent, rate  # noqa: E402
from whylate.boards.labgrid import supply  # noqa: E402
from whylate.boards.labgrid.board import BenchOptions  # noqa: E402
from whylate.boards.labgrid.open import labgrid_board  # noqa: E402
from whylate.run.workloads.command import CommandTable  # noqa: E402
from whylate.study.carry_out import run_study  # noqa: E402
from whylate.study.journal import StudyJournal  # noqa: E402
from whylate.study.model import StudyPlan  # noqa: E402
from whylate.study.plan_file import PlanFile, resolve_plan  # noqa: E402
from whylate.study.results.effects import BoardEffects, estimate_effects  # noqa: E402
from whylate.study.results.evidence import Evidence  # noqa: E402

ROUNDS = 6
#: What a kernel of the simulated board adds to the work of the timed command.
BASE, MORE = 300_000, 1.5
WORK = 'read -r n </run/bench/kernel; exec awk -v n="$n" "BEGIN { for (i = 0; i < n; i++) s += i }"'
SIGNIFICANT = 0.05


def plan_of(kernels: tuple[str, str], work: str, seed: int) -> StudyPlan:
    """Return the plan of 24 runs."""
    return resolve_plan(
        PlanFile(
            boards=["board7"],
            factors={"kernel": list(kernels), "cmdline:placebo": ["0", "1"]},
            runs=ROUNDS,
            seed=seed,
            warm_up="none",
            workload=CommandTable(command=["sh", "-c", work], rounds=5),
        )
    )


def carried_out(
    folder: Path, plan: StudyPlan, load: Load, line: SerialLine, boot: str, boot_s: float
) -> BoardEffects:
    """Make a study; return its effects."""
    with strip(load) as power:
        path = boot_environment(folder, power, line, boot)
        options = BenchOptions(boot_s=boot_s)
        with StudyJournal(folder / "study", plan) as journal:
            result = run_study(
                journal,
                plan,
                lambda name, _: labgrid_board(name, path, options=options),
                Silent(),
                lambda: False,
            )
            if result.lost:
                sys.exit(f"a study is not whole: {result.lost}")
            evidence = Evidence(journal.directory, plan)
            return estimate_effects(plan, evidence, "board7", plan.loads[0].name, journal.done)


def simulated(seed: int, more: float) -> BoardEffects:
    """Make a study on the simulated board, whose second kernel has `more` work."""
    with tempfile.TemporaryDirectory() as name:
        folder, line = Path(name), SerialLine()
        os.environ["WHYLATE_RUN"] = str(folder / "run")
        try:
            board = LoaderBoard(folder, line)
            kernels = folder / "first", folder / "second"
            for path, work in zip(kernels, (BASE, round(BASE * more)), strict=True):
                # Padded, so that kernels with the same work are two files.
                path.write_text(f"{work}\n# {path.name}\n")
            plan = plan_of((str(kernels[0]), str(kernels[1])), WORK, seed)
            boot = "{method: u-boot, device: 'mmc 0:1'}"
            return carried_out(folder, plan, board, line, boot, 30.0)
        finally:
            line.close()


def with_u_boot(seed: int) -> BoardEffects:
    """Make a study on the whole board."""
    with tempfile.TemporaryDirectory() as name:
        folder, line = Path(name), SerialLine()
        os.environ["WHYLATE_RUN"] = str(folder / "run")
        try:
            made = disk(folder, rt=True)
            board = QemuOnTheBench(qemu_command(folder, made), folder / "console", line)
            kernels = "board:/boot/vmlinuz", f"board:/boot/{RT_KERNEL}"
            plan = plan_of(kernels, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done", seed)
            boot = "{method: u-boot, device: 'virtio 0:1'}"
            return carried_out(folder, plan, board, line, boot, 120.0)
        finally:
            line.close()


def main() -> None:
    """Make the studies, and print what was called."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=1, help="the seed of the first")
    parser.add_argument("--null-only", action="store_true")
    parser.add_argument("--u-boot", action="store_true")
    options = parser.parse_args()
    supply.DIE_S, supply.ECHO_S, supply.SWITCH_S = 1.0, 0.3, 1.0
    seeds = range(options.first, options.first + options.studies)
    kinds = {"null": 1.0} if options.null_only else {"null": 1.0, "effect": MORE}
    called: dict[str, list[bool]] = {}
    for seed in seeds:
        for kind, more in {"u-boot": 0.0}.items() if options.u_boot else kinds.items():
            began = time.monotonic()
            effects = with_u_boot(seed) if options.u_boot else simulated(seed, more)
            if effects.why_not is not None:
                sys.exit(f"no effects: {effects.why_not}")
            for effect in effects.effects:
                what = " and ".join(knob.partition(":")[0] for knob in effect.knobs)
                called.setdefault(f"{kind}: {what}", []).append(effect.p <= SIGNIFICANT)
                ratio = next(iter(effect.ratios.values()))
                print(
                    f"seed {seed} {kind}: {what}: ratio {ratio[0]:.3f} "
                    f"[{ratio[1]:.3f}, {ratio[2]:.3f}], p {effect.p:.4f}"
                )
            print(f"  {24} boots in {time.monotonic() - began:.0f} s", flush=True)
    for what, events in called.items():
        print(f"called, {what}: {rate(events)}")


if __name__ == "__main__":
    main()
