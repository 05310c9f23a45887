"""`whylate report`: a recording, shown again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.quantities import RequirementType


@click.command(name="report")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--require", "requirements", type=RequirementType(), multiple=True,
              metavar="LIMIT",
              help="Judge it: p99.9<100us, max<1ms, over(100us)<1/10s. May be repeated.",
              )  # fmt: skip
@click.option("-o", "--output", "page", type=click.Path(path_type=Path), metavar="FILE",
              help="Where to write the page.  [default: DIR/report.html]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    directory: Path, requirements: tuple[str, ...], page: Path | None, as_json: bool
) -> None:
    """Print the summary of the recording in DIR and write its HTML page.

    A recording whose run was killed is first recovered from its journal.
    """
    from whylate.cli.show import show

    sys.exit(show(directory, requirements, as_json=as_json, page=page))
