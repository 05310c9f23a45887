"""`whylate explain`: why was it late?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from whylate.cli.quantities import Duration


@click.command(name="explain")
@click.argument("directory", type=click.Path(path_type=Path), metavar="[RECORDING]",
                required=False)  # fmt: skip
@click.option("--import", "trace", metavar="FILE",
              help="Explain another tool's trace instead: the text of ftrace, trace-cmd report or "
              "perf script; - for the standard input.")  # fmt: skip
@click.option("--comm", "names", multiple=True, metavar="NAME",
              help="With --import: whose wakeups, by name. May be repeated.  [default: what was "
              "obviously measured]")  # fmt: skip
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="N",
              help="With --import: whose wakeups, by thread number. May be repeated.",
              )  # fmt: skip
@click.option("--threshold", "threshold_ns", type=Duration(), metavar="TIME",
              help="What counts as late.  [default: as recorded, or the 99.9th percentile]",
              )  # fmt: skip
@click.option("--worst", "stories", type=click.IntRange(0, 100), default=0, metavar="N",
              help="Tell the stories of the N worst, piece by piece.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    directory: Path | None,
    trace: str | None,
    names: tuple[str, ...],
    pids: tuple[int, ...],
    threshold_ns: int | None,
    stories: int,
    as_json: bool,
) -> None:
    """Say where the late activations of RECORDING spent their time.

    Of each, the time from due to run is cut into pieces, each with one cause; what nothing shows
    is unexplained, and what was not recorded is not observed. The shares are of the time that late
    activations took beyond ordinary ones, and sum to 100 %.

    Exit status 3: it cannot be explained, and why.
    """
    if trace is not None and directory is None:
        from whylate.cli.explain_import import explain_import

        sys.exit(explain_import(trace, names, pids, threshold_ns, stories, as_json=as_json))
    if directory is None or trace is not None or names or pids:
        raise click.UsageError(
            "give a RECORDING, or a trace with --import FILE; --comm and --pid are for traces"
        )
    from rich.console import Console

    from whylate.causes.answer import answer_of
    from whylate.causes.as_json import answer_as_json
    from whylate.recording.reader import open_recording
    from whylate.report.causes import print_answer

    found = answer_of(open_recording(directory), threshold_ns=threshold_ns, stories=max(stories, 1))
    if as_json:
        sys.stdout.write(json.dumps(answer_as_json(found, stories), indent=2) + "\n")
    else:
        print_answer(found, Console(highlight=False), stories)
    sys.exit(0 if found.population is not None else 3)
