"""`whylate explain`: why was it late?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.messages import print_message, refuse_imported, writing
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.parameter_types import DURATION, NewPath
from whylate.cli.print_json import json_option, print_document, print_json
from whylate.recording.errors import RecordingError

if TYPE_CHECKING:
    from whylate.recording.reader import Recording

_explained = option_under(Heading.EXPLAINED)
_trace = option_under(Heading.TRACE)
_experiment = option_under(Heading.EXPERIMENT)


@click.command(name="explain", cls=GroupedCommand)
@click.argument("directory", type=click.Path(path_type=Path), metavar="[RECORDING]",
                required=False)  # fmt: skip
@_explained("--threshold", "threshold_ns", type=DURATION, metavar="TIME",
            help="Explain activations later than this.  [default: as recorded, or the 99.9th "
            "percentile]")  # fmt: skip
@_explained("--worst", type=click.IntRange(0, 100), default=0, metavar="N",
            help="Print the breakdowns of the N worst episodes too.")  # fmt: skip
@_trace("--import", "imported", metavar="FILE",
        help="Explain another tool's trace instead: the text of ftrace, trace-cmd report or perf "
        "script; - for the standard input.")  # fmt: skip
@_trace("--comm", "names", multiple=True, metavar="NAME",
        help="Explain the wakeups of threads of this name. May be repeated.  [default: the program "
        "that obviously measures]")  # fmt: skip
@_trace("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="N",
        help="Explain the wakeups of this thread. May be repeated.")  # fmt: skip
@_experiment("--experiment", "what", metavar="CAUSE-OR-KNOB",
             help="Switch a cause off in new, interleaved runs like this one, and estimate its "
             "preventable share: a cause, KNOB=VALUE, or a load of the run.")  # fmt: skip
@_experiment("--target", metavar="CAUSE", help="The cause whose time must fall.")
@_experiment("--rounds", type=int, metavar="N", help="Runs of each variant.  [default: 10]")
@_experiment("--for", "duration_ns", type=DURATION, metavar="TIME",
             help="How long a run is.  [default: as recorded]")  # fmt: skip
@_experiment("--wait", "wait_ns", type=DURATION, metavar="TIME",
             help="Wait this long for a board that somebody else has.")  # fmt: skip
@_experiment("-o", "--output", type=NewPath(), metavar="DIR",
             help="The experiment's directory; resume the experiment that is there.")  # fmt: skip
@option_under(Heading.OUTPUT)("--perfetto", type=NewPath(),
                              metavar="FILE",
                              help="Write the recorded windows as a trace for ui.perfetto.dev.",
                              )  # fmt: skip
@json_option
def command(
    directory: Path | None,
    imported: str | None,
    names: tuple[str, ...],
    pids: tuple[int, ...],
    threshold_ns: int | None,
    worst: int,
    perfetto: Path | None,
    what: str | None,
    target: str | None,
    rounds: int | None,
    duration_ns: int | None,
    wait_ns: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Explain where the late activations of RECORDING spent their time.

    The time from due to run of each late activation is cut into pieces, each with one cause.
    Unexplained is what has no evidence; not observed is what was lost. The shares are of the excess
    latency, and sum to 100 %.

    --experiment estimates instead what goes away if a cause is switched off.

    Exit status: 0 explained, 3 not, with the reason.
    """
    if imported is not None and directory is None and perfetto is None:
        from whylate.cli.explain.trace import explain_trace

        sys.exit(explain_trace(imported, names, pids, threshold_ns, worst, as_json=as_json))
    if directory is None or imported is not None or names or pids:
        raise click.UsageError(
            "give a RECORDING, or a trace with --import FILE; --comm and --pid are for traces, "
            "--perfetto is for recordings"
        )
    if what is not None:
        from whylate.cli.explain.experiment import explain_experiment

        if worst or perfetto is not None:
            raise click.UsageError("--worst and --perfetto are not for an --experiment")
        status = explain_experiment(
            directory,
            what,
            target=target,
            threshold_ns=threshold_ns,
            rounds=rounds,
            duration_ns=duration_ns,
            wait_s=(wait_ns or 0) / 1e9,
            output=output,
            as_json=as_json,
        )
        sys.exit(status)
    if any(option is not None for option in (target, rounds, duration_ns, wait_ns, output)):
        raise click.UsageError("--target, --rounds, --for, --wait and -o are for an --experiment")
    sys.exit(_explain_recording(directory, threshold_ns, worst, perfetto, as_json=as_json))


def _explain_recording(
    directory: Path, threshold_ns: int | None, worst: int, perfetto: Path | None, *, as_json: bool
) -> int:
    """Explain a recording; return the exit status. Raises RecordingError."""
    from whylate.recording.reader import open_recording

    refuse_imported([directory], "what ran while an activation was late: whylate measure records "
                    "it, and explain --import reads traces")  # fmt: skip
    recording = open_recording(directory)
    if recording.manifest.plan.benchmark is not None:
        if worst or perfetto is not None or threshold_ns is not None:
            raise click.UsageError(
                "--threshold, --worst and --perfetto are for latencies: this is a benchmark"
            )
        return _explain_benchmark(recording, as_json=as_json)
    from whylate.causes.answer import explain_recording
    from whylate.causes.as_json import answer_as_json
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.causes import print_answer

    answer = explain_recording(recording, threshold_ns=threshold_ns, worst=max(worst, 1))
    if as_json:
        print_json(answer_as_json(answer, worst))
    else:
        print_answer(answer, plain_console(), worst)
    if perfetto is not None:
        _write_trace(perfetto, recording)
    return 0 if answer.population is not None else 3


def _explain_benchmark(recording: Recording, *, as_json: bool) -> int:
    """Print the findings of a benchmark, or that there are none; return the exit status."""
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.benchmark import print_findings
    from whylate.summary.workloads import summarize_benchmark

    name = str(recording.directory)
    summary = summarize_benchmark(recording.manifest, recording.repetitions, name)
    trust, findings = summary.trust, summary.findings
    if as_json:
        content = {
            "trust": trust.verdict,
            "trust_reasons": trust.reasons,
            "findings": findings,
        }
        print_document("findings", content)
    else:
        print_findings(summary, plain_console())
    return 0 if findings and trust.verdict == "ok" else 3


def _write_trace(path: Path, recording: Recording) -> None:
    """Write the recorded windows as a trace, and print how many; raises RecordingError."""
    from whylate.causes.answer import read_activations
    from whylate.report.exports.perfetto import write_perfetto

    with writing(path, RecordingError):
        written = write_perfetto(path, lambda: read_activations(recording))
    if not written.windows:
        print_message(f"no window was recorded: {path} was not written")
        return
    rest = f" ({written.left_out:,} more were too many)" if written.left_out else ""
    print_message(f"{path} has {written.windows:,} windows{rest}: open it at ui.perfetto.dev")
