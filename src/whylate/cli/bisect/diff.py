"""`whylate bisect diff`: in what two sides differ, by kind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.bisect.options import exclude_option, keep_option, pin_option
from whylate.cli.parameter_types import NewPath
from whylate.cli.print_json import json_option, print_document
from whylate.files import write_whole
from whylate.run.errors import RequestError
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.bisect.differences.model import Differences

#: The mark of what can only be set together with something else.
_WITH = "  [with "


@click.command(name="diff")
@click.argument("fast")
@click.argument("slow")
@exclude_option
@keep_option
@pin_option
@click.option(
    "--plan",
    "plan_path",
    type=NewPath(),
    metavar="FILE",
    help="Write a plan of the settings that differ, for whylate bisect settings.",
)
@click.option("--all", "everything", is_flag=True, help="Print every difference.")
@json_option  # fmt: skip
def command(
    fast: str,
    slow: str,
    exclude: tuple[str, ...],
    keep: tuple[str, ...],
    pin: tuple[str, ...],
    plan_path: Path | None,
    everything: bool,
    as_json: bool,
) -> None:
    """List in what FAST and SLOW differ, by kind.

    Each is a board (`local`, ssh://…, a virtual board), a recording, a root directory, a tarball of
    one (plain, gz, xz, zst), or an ext4 image; a file that has the name of a board is written
    ./NAME. Nothing is measured, changed or mounted.

    A pattern is one of names, as of files in a shell, where * matches slashes too. What matches
    takes along what is below it.

    Exit status: 0 they were compared, whatever differs.
    """
    from whylate.bisect.differences.choose import Choice
    from whylate.bisect.differences.find import find_differences
    from whylate.bisect.sides.errors import SideError
    from whylate.bisect.sides.read import read_side
    from whylate.cli.live import LiveView

    try:
        with LiveView() as view:
            sides = [read_side(name, view.log) for name in (fast, slow)]
            view.log("comparing")
            differences = find_differences(sides[0], sides[1], Choice(exclude, keep, pin))
    except SideError as error:
        raise RequestError(str(error)) from None
    if plan_path is not None:
        _write_plan(plan_path, differences)
    if as_json:
        print_document("bisect-diff", {"counts": differences.counts, **_fields(differences)})
    else:
        _print(differences, everything=everything)


def _write_plan(path: Path, differences: Differences) -> None:
    """Write the settings that differ as two variants; raises RequestError."""
    from whylate.bisect.settings.from_differences import plan_text

    try:
        write_whole(path, plan_text(differences).encode())
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}") from None


def _fields(differences: Differences) -> dict[str, object]:
    return {
        "first": differences.first,
        "second": differences.second,
        "differences": differences.listed,
        "excluded": differences.excluded,
        "not_compared": differences.not_compared,
        "notes": differences.notes,
    }


def _print(differences: Differences, *, everything: bool) -> None:
    from whylate.bisect.differences.terminal import counts_table, not_compared_lines, tree_lines
    from whylate.report.plain_console import plain_console

    console = plain_console()
    has_atoms = False
    if differences.listed:
        console.print(counts_table(differences))
        console.print()
        sys.stdout.flush()
        for line in tree_lines(differences, everything=everything):
            click.echo(line)
            has_atoms = has_atoms or _WITH in line
        click.echo()
    else:
        console.print("Nothing that both sides show differs.")
    if differences.excluded:
        console.print(f"{differences.excluded:,} differences were excluded by patterns.")
    for line in not_compared_lines(differences):
        click.echo(line)
    for note in differences.notes:
        click.echo(plain(f"note: {note}", 400))
    if has_atoms:
        click.echo("[with …]: it can only be set together with that.")
    if not everything and differences.listed:
        click.echo("--all prints every difference, --json all there is to know of each.")
