"""The result of a bisection of a set of differences, for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from whylate.cli.compare.fail_on import UNKNOWN
from whylate.cli.messages import print_message, writing
from whylate.cli.print_json import print_document
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.bisect.sets.carry_out import Result
    from whylate.bisect.sets.model import MadeRun, Sets


def show_result(
    sets: Sets,
    runs: Sequence[MadeRun],
    result: Result,
    directory: Path,
    *,
    junit: Path | None,
    as_json: bool,
) -> NoReturn:
    """Write the page and JUnit, print the rest, and exit: 0 with an answer, 3 without.

    Raises DiskError, after the answer is printed.
    """
    from whylate.bisect.sets.as_json import document
    from whylate.bisect.sets.junit import junit_of
    from whylate.bisect.sets.page import PAGE, write_page
    from whylate.bisect.sets.words import lines_of
    from whylate.recording.errors import DiskError
    from whylate.report.plain_console import plain_console

    if as_json:
        content = document(sets, runs, result.answer, directory)
        print_document("bisection", {"report": str(directory / PAGE), **content})
    else:
        console = plain_console()
        for line in lines_of(sets, runs, result.answer):
            console.print(plain(line, 1000), soft_wrap=True)
    page = write_page(directory, sets, runs, result.answer)
    if junit is not None:
        with writing(junit, DiskError):
            junit.write_bytes(junit_of(sets, runs, result.answer))
    if not as_json:
        console.print(f"report  {plain(str(page), 1000)}", soft_wrap=True)
    for board, reason in result.lost.items():
        print_message(f"{board} was given up: {reason}")
    sys.exit(0 if result.answer is not None else UNKNOWN)
