"""`whylate bisect images`: which differences make the difference of two root file systems."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from whylate.cli.bisect.options import (
    confidence_option,
    exclude_option,
    junit_option,
    keep_option,
    margin_option,
    output_option,
    pin_option,
    runs_option,
    statistic_option,
)
from whylate.cli.board_options import environment_option, opener_of, wait_option, waiting_shown
from whylate.cli.interrupt import Interrupt
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.print_json import json_option
from whylate.cli.run_options import new_directory
from whylate.run.errors import RequestError

_what = option_under(Heading.WHAT)


@click.command(name="images", cls=GroupedCommand)
@click.argument("images", nargs=-1, required=True, metavar="FAST SLOW | A B C...")
@click.argument("plan", type=click.Path(path_type=Path))
@exclude_option
@keep_option
@pin_option
@_what("--apply", metavar="CMD", help="Brings a hybrid onto a board that is not virtual.")
@_what("--keep-images", is_flag=True, help="Do not remove the hybrids.")
@statistic_option
@margin_option
@confidence_option
@runs_option
@environment_option
@wait_option
@output_option
@junit_option
@json_option
def command(
    images: tuple[str, ...],
    plan: Path,
    exclude: tuple[str, ...],
    keep: tuple[str, ...],
    pin: tuple[str, ...],
    apply: str | None,
    keep_images: bool,
    statistic: str | None,
    margin: float,
    confidence: float,
    runs: int,
    environment: Path | None,
    wait_ns: int,
    output: Path | None,
    junit: Path | None,
    as_json: bool,
) -> None:
    """Find which differences of FAST and SLOW make the difference, or which image of several.

    FAST and SLOW are root file systems: directories, tarballs or ext4 images (whylate bisect diff
    lists in what they differ). PLAN is that of a study, without variants. Both are run first; then
    hybrids, FAST with some packages, files and lines of SLOW; what makes the difference is opened
    until it cannot be divided, and confirmed by fresh runs in both directions. A hybrid that does
    not run is untestable, never slow. Ctrl-C ends it and keeps its runs; the same command with the
    same -o resumes it.

    Of three or more images, the oldest first, it finds the one with which the value changes, as
    whylate bisect commits does.

    Exit status: 0 there is an answer, 3 there is none.
    """
    from whylate.cli.bisect.ordered_images import bisect_images_in_order
    from whylate.cli.bisect.resumable import resumable

    directory = output or new_directory("bisections")
    if len(images) > 2:
        _refuse_unused(exclude, keep, pin, apply, keep_images)
        bisect_images_in_order(
            list(images), plan, directory, environment, wait_s=wait_ns / 1e9,
            statistic=statistic, confidence=confidence, runs=runs, junit=junit, as_json=as_json,
        )  # fmt: skip
    if len(images) < 2:
        raise click.UsageError("name two images and a plan, or more images, the oldest first")
    fast, slow = images
    from whylate.bisect.differences.choose import Choice
    from whylate.bisect.differences.find import find_differences
    from whylate.bisect.images.errors import HybridError
    from whylate.bisect.images.model import LAYOUT
    from whylate.bisect.images.plan import images_plan, study_of
    from whylate.bisect.images.pool import Pool
    from whylate.bisect.images.provision import ImageProvisioner
    from whylate.bisect.images.roots import Roots
    from whylate.bisect.images.store import Store
    from whylate.bisect.sets.carry_out import bisect_sets
    from whylate.bisect.sets.journal import SetsJournal
    from whylate.bisect.sides.errors import SideError
    from whylate.bisect.sides.read import read_side
    from whylate.cli.bisect.result import show_result
    from whylate.cli.bisect.view import BisectView
    from whylate.cli.live import LiveView
    from whylate.study.plan_file import read_plan_file

    study = study_of(read_plan_file(plan), plan, [fast, slow])
    patterns = {"exclude": list(exclude), "keep": list(keep), "pin": list(pin)}
    interrupt = Interrupt()
    waiting = waiting_shown(wait_ns / 1e9, interrupt, lambda: shown)
    open_for = opener_of(study.boards, study.smp, environment, waiting)
    try:
        with LiveView() as view:
            first, second = (read_side(name, view.log) for name in (fast, slow))
            wanted = images_plan(
                study, (first, second), patterns, _words(apply), statistic, runs, margin
            )
            view.log("comparing")
            differences = find_differences(first, second, Choice(exclude, keep, pin))
        with (
            resumable(directory),
            SetsJournal(directory, LAYOUT, wanted) as journal,
            Pool(directory / "pool") as pool,
        ):
            roots = Roots(first, second, differences, pin, pool)
            with Store(roots, directory, keep=keep_images) as store:
                provisioner = ImageProvisioner(wanted, roots, store)
                with BisectView(provisioner.sets, journal.lines) as shown:
                    result = bisect_sets(journal, provisioner, open_for, shown, interrupt.wanted)
            made = journal.lines
    except (SideError, HybridError) as error:
        raise RequestError(str(error)) from None
    show_result(provisioner.sets, made, result, directory, junit=junit, as_json=as_json)


def _refuse_unused(*given: object) -> None:
    """Raise UsageError for an option that three or more images do not have."""
    names = ("--exclude", "--keep", "--pin", "--apply", "--keep-images")
    for name, value in zip(names, given, strict=True):
        if value:
            raise click.UsageError(f"{name} is of two images")


def _words(text: str | None) -> list[str]:
    """Return the words of a command, as a shell splits them; raises RequestError."""
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        raise RequestError(f"--apply: {error}") from None
    if text is not None and not words:
        raise RequestError("--apply has no command")
    return words
