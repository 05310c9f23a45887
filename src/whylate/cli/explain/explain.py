"""`whylate explain`: why was it late?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import DURATION
from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from whylate.causes.answer import TracedActivation


@click.command(name="explain")
@click.argument("directory", type=click.Path(path_type=Path), metavar="[RECORDING]",
                required=False)  # fmt: skip
@click.option("--import", "imported", metavar="FILE",
              help="Explain another tool's trace instead: the text of ftrace, trace-cmd report or "
              "perf script; - for the standard input.")  # fmt: skip
@click.option("--comm", "names", multiple=True, metavar="NAME",
              help="With --import: whose wakeups, by name. May be repeated.  [default: what was "
              "obviously measured]")  # fmt: skip
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="N",
              help="With --import: whose wakeups, by thread number. May be repeated.",
              )  # fmt: skip
@click.option("--threshold", "threshold_ns", type=DURATION, metavar="TIME",
              help="What counts as late.  [default: as recorded, or the 99.9th percentile]",
              )  # fmt: skip
@click.option("--worst", "stories", type=click.IntRange(0, 100), default=0, metavar="N",
              help="Tell the stories of the N worst, piece by piece.")  # fmt: skip
@click.option("--perfetto", type=click.Path(path_type=Path, dir_okay=False),
              metavar="FILE", help="Write the windows as a trace for ui.perfetto.dev.")  # fmt: skip
@click.option("--experiment", "what", metavar="CAUSE-OR-KNOB",
              help="Switch a cause off in new runs like this one, in turns, and say what goes "
              "away: a cause, KNOB=VALUE, or a load of the run.")  # fmt: skip
@click.option("--target", metavar="CAUSE", help="With --experiment: whose time must fall.")
@click.option("--rounds", type=int, metavar="N",
              help="With --experiment: so many runs each.  [default: 10]")  # fmt: skip
@click.option("--for", "duration_ns", type=DURATION, metavar="TIME",
              help="With --experiment: how long a run is.  [default: as recorded]")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="With --experiment: where its runs go; the same again goes on with it.",
              )  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    directory: Path | None,
    imported: str | None,
    names: tuple[str, ...],
    pids: tuple[int, ...],
    threshold_ns: int | None,
    stories: int,
    perfetto: Path | None,
    what: str | None,
    target: str | None,
    rounds: int | None,
    duration_ns: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Say where the late activations of RECORDING spent their time.

    Of each, the time from due to run is cut into pieces, each with one cause; what nothing shows
    is unexplained, and what was not recorded is not observed. The shares are of the time that late
    activations took beyond ordinary ones, and sum to 100 %.

    --experiment asks another question: how much of it goes away when a cause is switched off.

    Exit status 3: it cannot be explained, and why.
    """
    if imported is not None and directory is None and perfetto is None:
        from whylate.cli.explain.trace import explain_import

        sys.exit(explain_import(imported, names, pids, threshold_ns, stories, as_json=as_json))
    if directory is None or imported is not None or names or pids:
        raise click.UsageError(
            "give a RECORDING, or a trace with --import FILE; --comm and --pid are for traces, "
            "--perfetto is for recordings"
        )
    if what is not None:
        from whylate.cli.explain.experiment import explain_experiment

        if stories or perfetto is not None:
            raise click.UsageError("--worst and --perfetto are not for an --experiment")
        status = explain_experiment(
            directory,
            what,
            target=target,
            threshold_ns=threshold_ns,
            rounds=rounds,
            duration_ns=duration_ns,
            output=output,
            as_json=as_json,
        )
        sys.exit(status)
    if any(one is not None for one in (target, rounds, duration_ns, output)):
        raise click.UsageError("--target, --rounds, --for and -o are for an --experiment")
    from whylate.causes.answer import explain_recording, read_activations
    from whylate.causes.as_json import answer_as_json
    from whylate.cli.imported import refuse_imported
    from whylate.recording.reader import open_recording
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.causes import print_answer

    refuse_imported([directory], "what ran while an activation was late: whylate measure records "
                    "it, and explain --import reads traces")  # fmt: skip
    recording = open_recording(directory)
    if recording.manifest.plan.benchmark is not None:
        from whylate.cli.explain.benchmark import explain_trials

        if stories or perfetto is not None or threshold_ns is not None:
            raise click.UsageError(
                "--threshold, --worst and --perfetto are of latencies, and these are trials"
            )
        sys.exit(explain_trials(recording, as_json=as_json))
    found = explain_recording(recording, threshold_ns=threshold_ns, worst=max(stories, 1))
    if as_json:
        print_json(answer_as_json(found, stories))
    else:
        print_answer(found, plain_console(), stories)
    if perfetto is not None:
        _write_trace(perfetto, lambda: read_activations(recording))
    sys.exit(0 if found.population is not None else 3)


def _write_trace(trace: Path, stories: Callable[[], Iterable[TracedActivation]]) -> None:
    """Write the trace and say what is in it; raises RecordingError."""
    from whylate.recording.errors import RecordingError
    from whylate.report.exports.perfetto import write_perfetto
    from whylate.text import plain

    try:
        written = write_perfetto(trace, stories)
    except OSError as error:
        raise RecordingError(f"{trace} cannot be written: {error.strerror}") from None
    if not written.windows:
        click.echo(f"whylate: no window was recorded: {plain(str(trace), 400)} was not written",
                   err=True)  # fmt: skip
        return
    rest = f", {written.left_out:,} more were too many" if written.left_out else ""
    click.echo(
        f"whylate: {plain(str(trace), 400)} has {written.windows:,} windows{rest}: open it at "
        "ui.perfetto.dev",
        err=True,
    )
