"""`whylate study run`: make the runs of a study."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whylate.boards.waiting import Waiting
from whylate.cli.board_options import environment_option, opener_of, smp_option, wait_option
from whylate.cli.compare.fail_on import UNKNOWN, fail_on_option
from whylate.cli.interrupt import Interrupt
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.parameter_types import DURATION, LOAD, NewPath, Parsed
from whylate.cli.print_json import json_option
from whylate.cli.run_options import new_directory
from whylate.quantities import format_exact_ns
from whylate.run.errors import RequestError
from whylate.text import is_number

if TYPE_CHECKING:
    from whylate.study.plan_file import PlanFile

#: Options that are times, and the keys of a plan that they stand for.
_TIMES = {"duration_ns": "duration", "interval_ns": "interval", "budget_ns": "budget",
          "warm_up_ns": "warm_up"}  # fmt: skip

_what = option_under(Heading.WHAT)
_length = option_under(Heading.LENGTH)
_where = option_under(Heading.WHERE)
_verdict = option_under(Heading.VERDICT)


def _parse_variant(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    knobs: dict[str, str] = {}
    for part in rest.split(",") if rest else []:
        knob, equals, value = (word.strip() for word in part.partition("="))
        if not equals and knobs and knob:
            # The list goes on, as in irq:24=0,1.
            last = next(reversed(knobs))
            knobs[last] = f"{knobs[last]},{knob}"
            continue
        if not equals or not knob or not value:
            raise ValueError(f"{part!r}: write a knob as NAME=VALUE")
        if knob in knobs:
            raise ValueError(f"knob {knob!r} is there twice")
        knobs[knob] = value
    return name, knobs


#: The name and the knobs of a variant: NAME, or NAME:KNOB=VALUE,KNOB=VALUE.
VARIANT = Parsed("name:knob=value,…", _parse_variant)


@click.command(name="run", cls=GroupedCommand)
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@_what("--variant", "variants", type=VARIANT, multiple=True,
       help="Without PLAN: a variant. The first is compared with each of the others: --variant "
       "base --variant tuned:governor=performance,thp=never. Factors, several sets of loads and "
       "knobs of your own need a PLAN.")  # fmt: skip
@_what("--for", "duration_ns", type=DURATION, metavar="TIME", help="How long a run is.")
@_what("--interval", "interval_ns", type=DURATION, metavar="TIME",
       help="Time between activations of a CPU.")  # fmt: skip
@_where("--board", "boards", multiple=True, metavar="BOARD", help="A board. May be repeated.")
@environment_option
@smp_option
@wait_option
@_where("--virtual-time", is_flag=True, help="Virtual boards: count time in instructions.")
@option_under(Heading.LOAD)("--load", "loads", type=LOAD, multiple=True, metavar="KIND[:N]",
                            help="A background load of every run. May be repeated.")  # fmt: skip
@option_under(Heading.RECORDING)(
    "--hits", "hits", multiple=True, metavar="NAME[ in VARIANT,…]",
    help="Count how often this function or tracepoint is hit, or look up 'facts:NAME contains "
    "TEXT'. A variant that must have hits and has none gets no verdict. 'NAME in tuned': others "
    "should have none; 'NAME only in tuned': they must not. May be repeated.")  # fmt: skip
@_length("--looks", metavar="N,N,…",
         help="Interim looks: the study ends at the first of these rounds with a verdict; 5 % "
         "false alarms over all looks.  [default: 10,20,30]")  # fmt: skip
@_length("--anytime", type=int, metavar="N",
         help="Look after every round, at most N, by an e-process.")  # fmt: skip
@_length("--runs", type=int, metavar="N", help="Look once, after N rounds.")
@_length("--warm-up", "warm_up_ns", type=DURATION, metavar="TIME",
         help="Run this long before the first run, unrecorded.  [default: 2s, at most a run]",
         )  # fmt: skip
@_length("--budget", "budget_ns", type=DURATION, metavar="TIME",
         help="Begin no run after this time.")  # fmt: skip
@option_under(Heading.RECORDING)("--no-recorder", is_flag=True, help="Record the samples alone.")
@_verdict("--same", "margins", multiple=True, metavar="STATISTIC:MARGIN",
          help="Two variants are the same if their ratio is within this margin: p50:5%.",
          )  # fmt: skip
@fail_on_option
@option_under(Heading.OUTPUT)("-o", "--output", type=NewPath(), metavar="DIR",
                              help="The study's directory; resume the study that is there.  "
                              "[default: studies/TIME]")  # fmt: skip
@json_option
def command(
    plan: Path | None,
    output: Path | None,
    environment: Path | None,
    wait_ns: int,
    fail_on: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Make the runs of the study in PLAN, a TOML file, or of the variants on the command line.

    Every round has each variant once, in random order. Ctrl-C ends the study and keeps its runs;
    the same command with the same -o resumes it.

    Exit status: 0 every comparison has a verdict, 1 a verdict of --fail-on, 3 the study is not
    over, or a comparison is inconclusive or has no verdict.
    """
    from whylate.study.plan_file import PlanFile, read_plan_file, resolve_plan

    file = read_plan_file(plan) if plan is not None else PlanFile()
    study = resolve_plan(_with_options(file, given))
    # Only for a plan that can be carried out: they bring numpy and rich.
    from whylate.cli.study.view import StudyView
    from whylate.study.carry_out import run_study
    from whylate.study.journal import StudyJournal

    directory = output or new_directory("studies")
    interrupt = Interrupt()
    view = StudyView(study)
    waiting = Waiting(wait_ns / 1e9, interrupt.wanted, view.log)
    open_for = opener_of(study.boards, study.smp, environment, waiting)
    with StudyJournal(directory, study) as journal, view:
        result = run_study(journal, study, open_for, view, interrupt.wanted)
    sys.exit(_show_end(directory, result.lost, fail_on, as_json=as_json))


def _with_options(file: PlanFile, given: Mapping[str, Any]) -> PlanFile:
    """Return the keys of a plan, replaced by the options that were given."""
    from whylate.run.loads import load_text

    if given["variants"]:
        file.variants = dict(given["variants"])
    if given["boards"]:
        file.boards = list(given["boards"])
    for key, name in _TIMES.items():
        if given[key] is not None:
            setattr(file, name, format_exact_ns(given[key]))
    if given["loads"]:
        file.loads = {"load": [load_text(load) for load in given["loads"]]}
    if given["margins"]:
        file.same = dict(margin.partition(":")[::2] for margin in given["margins"])
    if given["hits"]:
        file.hits = list(given["hits"])
    if given["smp"] is not None:
        file.smp = given["smp"]
    file.virtual_time = file.virtual_time or given["virtual_time"]
    file.recorder = file.recorder and not given["no_recorder"]
    if any(given[key] is not None for key in ("looks", "anytime", "runs")):
        file.looks = _parse_looks(given["looks"])
        file.anytime, file.runs = given["anytime"], given["runs"]
    return file


def _parse_looks(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(is_number(part, 9) for part in parts):
        raise RequestError(f"--looks {text[:40]!r}: write numbers of rounds, like 10,20,30")
    return [int(part) for part in parts]


def _show_end(
    directory: Path, lost: Mapping[str, str], fail_on: Collection[str], *, as_json: bool
) -> int:
    from whylate.cli.study.show import print_lost, show_study

    status = show_study(directory, fail_on, as_json=as_json)
    print_lost(lost)
    return status or (UNKNOWN if lost else 0)
