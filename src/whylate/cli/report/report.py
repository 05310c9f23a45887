"""`whylate report`: show a recording again, or several beside each other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.messages import writing
from whylate.cli.parameter_types import PREDICTED, REQUIREMENT, NewPath
from whylate.cli.print_json import json_option
from whylate.recording.errors import DiskError

if TYPE_CHECKING:
    from whylate.recording.reader import Recording
    from whylate.report.exports.trackers import Exported


@click.command(name="report")
@click.argument("directories", type=click.Path(path_type=Path), metavar="DIR...", nargs=-1,
                required=True)  # fmt: skip
@click.option("--require", "requirements", type=REQUIREMENT, multiple=True,
              metavar="LIMIT",
              help="Fail unless kept: p99.9<100us, max<1ms, over(100us)<1/10s. May be repeated.",
              )  # fmt: skip
@click.option("-o", "--output", "page", type=NewPath(), metavar="FILE",
              help="Where to write the page.  [default: DIR/report.html; of several recordings: "
              "overlay.html]")  # fmt: skip
@click.option("--bencher", type=NewPath(), metavar="FILE",
              help="Write Bencher's metric format too.")  # fmt: skip
@click.option("--kcidb", type=NewPath(), metavar="FILE",
              help="Write KCIDB 5.3 too; needs --build.")  # fmt: skip
@click.option("--folded", type=NewPath(), metavar="FILE",
              help="Write call paths of longer executions for flamegraph.pl too.")  # fmt: skip
@click.option(
    "--build", "build_id", metavar="ORIGIN:ID", help="With --kcidb: the build that was measured."
)
@click.option("--lava", "as_lava", is_flag=True,
              help="Print LAVA's test-case lines, nothing else.")  # fmt: skip
@click.option("--predict", type=PREDICTED, default=(), metavar="N,…",
              help="Predict the throughput of N threads, as in whylate bench clock.")  # fmt: skip
@json_option
def command(
    directories: tuple[Path, ...],
    requirements: tuple[str, ...],
    page: Path | None,
    bencher: Path | None,
    kcidb: Path | None,
    folded: Path | None,
    build_id: str | None,
    as_lava: bool,
    predict: tuple[int, ...],
    as_json: bool,
) -> None:
    """Print the summary of the recording in DIR and write its HTML page.

    Of several recordings of one workload one page has them all: their distributions over each
    other, percentiles beside each other, and groups of those whose shapes cannot be distinguished.
    DIR may be that of an experiment of `whylate explain`: its share is in a table with the others.

    A recording whose run was killed is first recovered from its journal. An imported recording has
    a page if it is of executions with counters.
    """
    from whylate.cli.report.benchmark import show_benchmark
    from whylate.cli.report.imported import refuse_options, show_imported
    from whylate.cli.report.latencies import show
    from whylate.cli.report.overlay import is_experiment, refuse_for_several, show_overlay
    from whylate.recording.imported.mark import is_imported
    from whylate.recording.reader import open_recording

    if len(directories) > 1 or is_experiment(directories[0]):
        given: dict[str, object] = {
            "--require": requirements,
            "--bencher": bencher,
            "--kcidb": kcidb,
            "--folded": folded,
            "--build": build_id,
            "--lava": as_lava,
            "--predict": predict,
        }
        refuse_for_several(given)
        sys.exit(show_overlay(directories, page, as_json=as_json))
    (directory,) = directories
    if is_imported(directory):
        unavailable = {
            "--bencher": bencher,
            "--kcidb": kcidb,
            "--folded": folded,
            "--build": build_id,
            "--lava": as_lava or None,
        }
        refuse_options(unavailable)
        sys.exit(show_imported(directory, requirements, page, as_json=as_json))
    _check_build(kcidb, build_id)

    def export(figures: Exported) -> None:
        _export(figures, bencher, kcidb, build_id or "")

    recording = open_recording(directory)
    _check_workload(recording, requirements, predict)
    if folded is not None:
        _write_folded(recording, folded)
    if as_lava:
        _print_lava(recording, requirements, export)
    elif recording.manifest.plan.benchmark is not None:
        sys.exit(
            show_benchmark(directory, as_json=as_json, page=page, predict=predict, also=export)
        )
    else:
        sys.exit(show(directory, requirements, as_json=as_json, page=page, also=export))


def _check_build(kcidb: Path | None, build_id: str | None) -> None:
    """Raise click.UsageError for a build that KCIDB refuses."""
    from whylate.report.exports.trackers import BUILD

    if (kcidb is None) != (build_id is None):
        raise click.UsageError("--kcidb and --build go together: the build that was measured")
    if kcidb is not None and not BUILD.fullmatch(build_id or ""):
        raise click.UsageError("--build is ORIGIN:ID, the origin of characters a-z, digits and _")


def _check_workload(
    recording: Recording, requirements: tuple[str, ...], predict: tuple[int, ...]
) -> None:
    """Raise click.UsageError for options that this workload does not have."""
    from whylate.summary.workloads import can_predict

    if recording.manifest.plan.benchmark is not None and requirements:
        raise click.UsageError("--require is for latencies: this is a benchmark")
    if predict and not can_predict(recording.manifest.plan.workload):
        raise click.UsageError("--predict is for benchmarks of whylate bench with --predict")


def _write_folded(recording: Recording, file: Path) -> None:
    """Write call paths; raises click.UsageError where there are none, and DiskError."""
    from whylate.report.exports.folded import folded_stacks

    lines = folded_stacks(recording.manifest)
    if lines is None:
        raise click.UsageError("--folded needs a recording of whylate section --paths")
    with writing(file, DiskError):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _print_lava(
    recording: Recording, requirements: tuple[str, ...], export: Callable[[Exported], None]
) -> None:
    from whylate.report.exports.trackers import lava, of_benchmark, of_latencies
    from whylate.summary.summarize import summarize
    from whylate.summary.workloads import summarize_benchmark

    name = str(recording.directory)
    if recording.manifest.plan.benchmark is not None:
        figures = of_benchmark(summarize_benchmark(recording.manifest, recording.repetitions, name))
    else:
        figures = of_latencies(summarize(recording.series, recording.manifest, name, requirements))
    export(figures)
    for line in lava(figures):
        click.echo(line)


def _export(figures: Exported, bencher: Path | None, kcidb: Path | None, build_id: str) -> None:
    """Write the requested files for other systems; raises DiskError."""
    import msgspec

    from whylate.report.exports import trackers as exports

    files = {}
    if bencher is not None:
        files[bencher] = exports.bencher(figures)
    if kcidb is not None:
        origin = build_id.partition(":")[0]
        files[kcidb] = exports.kcidb(figures, exports.Kernel(origin, build_id))
    for path, document in files.items():
        with writing(path, DiskError):
            path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
