"""`whylate study run`: make the runs of a study."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whylate.cli.compare.fail_on import UNKNOWN, fail_on_option
from whylate.cli.parameter_types import DURATION, LOAD
from whylate.cli.study.lost_boards import say_lost

if TYPE_CHECKING:
    from whylate.study.plan_file import PlanFile


#: Options that are times, and the keys of a plan that they stand for.
_TIMES = {"duration_ns": "duration", "interval_ns": "interval", "budget_ns": "budget",
          "warm_up_ns": "warm_up"}  # fmt: skip


class VariantType(click.ParamType[tuple[str, dict[str, str]]]):
    """A variant: NAME, or NAME:KNOB=VALUE,KNOB=VALUE."""

    name = "name:knob=value,…"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, dict[str, str]]:
        """Return the name and the knobs."""
        name, _, text = str(value).partition(":")
        knobs: dict[str, str] = {}
        for part in text.split(",") if text else []:
            knob, equals, wanted = (word.strip() for word in part.partition("="))
            if not equals and knobs and knob:
                # More of a list, as in irq:24=0,1.
                last = next(reversed(knobs))
                knobs[last] = f"{knobs[last]},{knob}"
                continue
            if not equals or not knob or not wanted:
                self.fail(f"{part!r}: write a knob as NAME=VALUE", param, ctx)
            if knob in knobs:
                self.fail(f"knob {knob!r} is there twice", param, ctx)
            knobs[knob] = wanted
        return name, knobs


@click.command(name="run")
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@click.option("--variant", "variants", type=VariantType(), multiple=True,
              help="Without PLAN: what is compared, the first with each of the others. Twice or "
              "more: ordinary, and then performance:governor=performance,thp=never. Factors, "
              "several sets of loads and knobs of your own take a PLAN.")  # fmt: skip
@click.option("--board", "boards", multiple=True, help="A board. May be repeated.")
@click.option("--for", "duration_ns", type=DURATION, metavar="TIME", help="How long a run is.")
@click.option("--interval", "interval_ns", type=DURATION, metavar="TIME",
              help="Time between activations of a CPU.")  # fmt: skip
@click.option("--load", "loads", type=LOAD, multiple=True,
              help="A load of every run. May be repeated.")  # fmt: skip
@click.option("--looks", metavar="N,N,…",
              help="Rounds after which it is looked at; it ends where it is decided, and errs in "
              "5 % over all looks.  [default: 10,20,30]")  # fmt: skip
@click.option("--anytime", type=int, metavar="N",
              help="Look at it after every round, at most N, by an e-process.")  # fmt: skip
@click.option("--runs", type=int, metavar="N", help="Look at it once, after N rounds.")
@click.option("--same", "margins", multiple=True, metavar="STATISTIC:MARGIN",
              help="Call two variants the same where they are within so much: p50:5%.")  # fmt: skip
@click.option("--warm-up", "warm_up_ns", type=DURATION, metavar="TIME",
              help="Run so long before the first run, and keep nothing of it.  [default: 2s, or "
              "as long as a run]")  # fmt: skip
@click.option("--budget", "budget_ns", type=DURATION, metavar="TIME",
              help="Begin no run after so long.")  # fmt: skip
@click.option("--virtual-time", is_flag=True, help="Virtual boards: count time in instructions.")
@click.option("--smp", type=click.IntRange(1, 64), help="CPUs of a virtual board.")
@click.option("--no-recorder", is_flag=True, help="Record nothing but the samples.")
@click.option("--env", "environment", type=click.Path(path_type=Path),
              help="labgrid's environment file.  [default: LG_ENV]")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="The study's directory; the one of a study that was broken off to go on with "
              "it.  [default: studies/TIME]")  # fmt: skip
@fail_on_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    plan: Path | None,
    output: Path | None,
    environment: Path | None,
    fail_on: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Make the runs of the study in PLAN, a TOML file, or of the variants on the command line.

    Every round has each variant once, in random order. Ctrl-C ends it and keeps what there is: the
    same command with the same -o goes on. Exit status 0 where all is decided, 1 at a verdict of
    --fail-on, 3 where it is not over, or over and a comparison is inconclusive or has no verdict.
    """
    from whylate.boards.open import BoardOptions, open_board
    from whylate.cli.interrupt import Interrupt
    from whylate.cli.study.view import StudyView
    from whylate.study.carry_out import run_study
    from whylate.study.journal import StudyJournal
    from whylate.study.plan_file import PlanFile, read_plan_file, resolve_plan

    file = read_plan_file(plan) if plan is not None else PlanFile()
    study = resolve_plan(_with_options(file, given))
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    directory = output if output is not None else Path("studies") / stamp

    def open_for(name: str, kernel_args: tuple[str, ...]) -> object:
        return open_board(name, BoardOptions(study.smp, kernel_args, environment))

    # A name that is none is no board that comes back.
    for name in study.boards:
        open_for(name, ())
    interrupt = Interrupt()
    with StudyJournal(directory, study) as journal, StudyView(study) as view:
        result = run_study(journal, study, open_for, view, interrupt.wanted)  # type: ignore[arg-type]
    sys.exit(_end(directory, result.lost, fail_on, as_json=as_json))


def _with_options(file: PlanFile, given: Mapping[str, Any]) -> PlanFile:
    """Return a plan's keys with what stands on the command line instead of theirs."""
    from whylate.quantities import format_exact_ns
    from whylate.run.loads import load_text

    if given["variants"]:
        file.variants = dict(given["variants"])
    if given["boards"]:
        file.boards = list(given["boards"])
    for key, name in _TIMES.items():
        if given[key] is not None:
            setattr(file, name, format_exact_ns(given[key]))
    if given["loads"]:
        file.loads = {"load": [load_text(one) for one in given["loads"]]}
    if given["margins"]:
        file.same = dict(one.partition(":")[::2] for one in given["margins"])
    if given["smp"] is not None:
        file.smp = given["smp"]
    file.virtual_time = file.virtual_time or given["virtual_time"]
    file.recorder = file.recorder and not given["no_recorder"]
    if any(given[key] is not None for key in ("looks", "anytime", "runs")):
        file.looks = _looks(given["looks"])
        file.anytime, file.runs = given["anytime"], given["runs"]
    return file


def _looks(text: str | None) -> list[int] | None:
    from whylate.run.errors import RequestError

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise RequestError(f"--looks {text[:40]!r}: write numbers of rounds, like 10,20,30")
    return [int(part) for part in parts]


def _end(
    directory: Path, lost: Mapping[str, str], fail_on: Collection[str], *, as_json: bool
) -> int:
    from whylate.cli.study.show import show_study

    status = show_study(directory, fail_on, as_json=as_json)
    say_lost(lost)
    return status or (UNKNOWN if lost else 0)
