"""`whylate report`: a recording, shown again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.quantities import RequirementType

if TYPE_CHECKING:
    from whylate.summary.model import Summary


@click.command(name="report")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--require", "requirements", type=RequirementType(), multiple=True,
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    directory: Path,
    requirements: tuple[str, ...],
    page: Path | None,
    bencher: Path | None,
    kcidb: Path | None,
    build_id: str | None,
    as_lava: bool,
    as_json: bool,
) -> None:
    """Print the summary of the recording in DIR and write its HTML page.

    A recording whose run was killed is first recovered from its journal. Of an imported one there
    is what the other tool told, and no page.
    """
    from whylate.cli.show import show
    from whylate.recording.foreign.imported import is_imported
    from whylate.report.exports import BUILD

    if is_imported(directory):
        from whylate.cli.report_imported import report_imported

        others = {"--output": page, "--bencher": bencher, "--kcidb": kcidb, "--build": build_id,
                  "--lava": as_lava or None}  # fmt: skip
        for option, given in others.items():
            if given is not None:
                raise click.UsageError(f"{option} is not for imported recordings: they have no "
                                       "intervals and no account of every activation")  # fmt: skip
        sys.exit(report_imported(directory, requirements, as_json=as_json))
    if (kcidb is None) != (build_id is None):
        raise click.UsageError("--kcidb and --build go together: which build are the results of?")
    if kcidb is not None and not BUILD.fullmatch(build_id or ""):
        raise click.UsageError("--build is ORIGIN:ID, the origin of small letters, digits and _")

    def exported(summary: Summary) -> None:
        _export(summary, bencher, kcidb, build_id or "")

    if as_lava:
        _print_lava(directory, requirements, exported)
        return
    sys.exit(show(directory, requirements, as_json=as_json, page=page, also=exported))


def _print_lava(
    directory: Path, requirements: tuple[str, ...], exported: Callable[[Summary], None]
) -> None:
    from whylate.recording.reader import open_recording
    from whylate.report.exports import lava
    from whylate.summary.summarize import summarize

    recording = open_recording(directory)
    summary = summarize(recording.samples, recording.manifest, str(directory), requirements)
    exported(summary)
    for line in lava(summary):
        click.echo(line)


def _export(summary: Summary, bencher: Path | None, kcidb: Path | None, build_id: str) -> None:
    """Write the files for other systems that were asked for; raises DiskError."""
    import msgspec

    from whylate.recording.errors import DiskError
    from whylate.report import exports

    files = {}
    if bencher is not None:
        files[bencher] = exports.bencher(summary)
    if kcidb is not None:
        origin = build_id.partition(":")[0]
        files[kcidb] = exports.kcidb(summary, exports.Kernel(origin, build_id))
    for path, document in files.items():
        try:
            path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from None
