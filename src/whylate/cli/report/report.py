"""`whylate report`: a recording, shown again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import PREDICTED, REQUIREMENT

if TYPE_CHECKING:
    from whylate.recording.reader import Recording
    from whylate.report.exports.trackers import Exported


@click.command(name="report")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--require", "requirements", type=REQUIREMENT, multiple=True,
              metavar="LIMIT",
              help="Judge it: p99.9<100us, max<1ms, over(100us)<1/10s. May be repeated.",
              )  # fmt: skip
@click.option("-o", "--output", "page", type=click.Path(path_type=Path), metavar="FILE",
              help="Where to write the page.  [default: DIR/report.html]")  # fmt: skip
@click.option("--bencher", type=click.Path(path_type=Path), metavar="FILE",
              help="Write Bencher's metric format too.")  # fmt: skip
@click.option("--kcidb", type=click.Path(path_type=Path), metavar="FILE",
              help="Write KCIDB 5.3 too; takes --build.")  # fmt: skip
@click.option("--build", "build_id", metavar="ORIGIN:ID", help="KCIDB: the build that was run.")
@click.option("--lava", "as_lava", is_flag=True,
              help="Print LAVA's test-case lines, nothing else.")  # fmt: skip
@click.option("--predict", type=PREDICTED, default=(), metavar="N,…",
              help="Of a clock: predict what so many threads do.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    directory: Path,
    requirements: tuple[str, ...],
    page: Path | None,
    bencher: Path | None,
    kcidb: Path | None,
    build_id: str | None,
    as_lava: bool,
    predict: tuple[int, ...],
    as_json: bool,
) -> None:
    """Print the summary of the recording in DIR and write its HTML page.

    A recording whose run was killed is first recovered from its journal. Of an imported one there
    is what the other tool told, and no page.
    """
    from whylate.cli.report.benchmark import show_benchmark
    from whylate.cli.report.latencies import show
    from whylate.recording.imported.recording import is_imported
    from whylate.recording.reader import open_recording

    if is_imported(directory):
        from whylate.cli.report.imported import report_imported

        others = {"--output": page, "--bencher": bencher, "--kcidb": kcidb, "--build": build_id,
                  "--lava": as_lava or None}  # fmt: skip
        for option, given in others.items():
            if given is not None:
                raise click.UsageError(f"{option} is not for imported recordings: they have no "
                                       "intervals and no account of every activation")  # fmt: skip
        sys.exit(report_imported(directory, requirements, as_json=as_json))
    _check_build(kcidb, build_id)

    def exported(found: Exported) -> None:
        _export(found, bencher, kcidb, build_id or "")

    recording = open_recording(directory)
    _check_workload(recording, requirements, predict)
    if as_lava:
        _print_lava(recording, requirements, exported)
    elif recording.manifest.plan.benchmark is not None:
        sys.exit(
            show_benchmark(directory, as_json=as_json, page=page, predict=predict, also=exported)
        )
    else:
        sys.exit(show(directory, requirements, as_json=as_json, page=page, also=exported))


def _check_build(kcidb: Path | None, build_id: str | None) -> None:
    """Raise click.UsageError for a build that KCIDB would not take."""
    from whylate.report.exports.trackers import BUILD

    if (kcidb is None) != (build_id is None):
        raise click.UsageError("--kcidb and --build go together: which build are the results of?")
    if kcidb is not None and not BUILD.fullmatch(build_id or ""):
        raise click.UsageError("--build is ORIGIN:ID, the origin of small letters, digits and _")


def _check_workload(
    recording: Recording, requirements: tuple[str, ...], predict: tuple[int, ...]
) -> None:
    """Raise click.UsageError for what a recording of this workload is not asked."""
    trials = recording.manifest.plan.benchmark is not None
    if trials and requirements:
        raise click.UsageError("--require is of latencies, and this recording has trials")
    if predict and recording.manifest.plan.workload.kind != "clock":
        raise click.UsageError("--predict is of recordings of the workload clock")


def _print_lava(
    recording: Recording, requirements: tuple[str, ...], exported: Callable[[Exported], None]
) -> None:
    from whylate.report.exports.trackers import lava, of_benchmark, of_latencies
    from whylate.summary.summarize import summarize
    from whylate.summary.workloads import summarize_benchmark

    name = str(recording.directory)
    if recording.manifest.plan.benchmark is not None:
        found = of_benchmark(summarize_benchmark(recording.manifest, recording.repetitions, name))
    else:
        found = of_latencies(summarize(recording.samples, recording.manifest, name, requirements))
    exported(found)
    for line in lava(found):
        click.echo(line)


def _export(found: Exported, bencher: Path | None, kcidb: Path | None, build_id: str) -> None:
    """Write the files for other systems that were asked for; raises DiskError."""
    import msgspec

    from whylate.recording.errors import DiskError
    from whylate.report.exports import trackers as exports

    files = {}
    if bencher is not None:
        files[bencher] = exports.bencher(found)
    if kcidb is not None:
        origin = build_id.partition(":")[0]
        files[kcidb] = exports.kcidb(found, exports.Kernel(origin, build_id))
    for path, document in files.items():
        try:
            path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from None
