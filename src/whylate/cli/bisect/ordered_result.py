"""The result of a bisection of an ordered history, for people and for programs."""

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
    from whylate.bisect.ordered.carry_out import Result
    from whylate.bisect.ordered.model import OrderedPlan, Step
    from whylate.bisect.ordered.versions import Versions


def show_ordered_result(
    plan: OrderedPlan,
    versions: Versions,
    steps: Sequence[Step],
    result: Result,
    directory: Path,
    *,
    junit: Path | None,
    as_json: bool,
) -> NoReturn:
    """Write the page and JUnit, print the rest, and exit: 0 with an answer, 3 without.

    One version that is not confirmed is no answer. Raises DiskError, after the answer is printed.
    """
    from whylate.bisect.ordered.as_json import document
    from whylate.bisect.ordered.junit import junit_of
    from whylate.bisect.ordered.page import PAGE, write_ordered_page
    from whylate.bisect.ordered.words import lines_of
    from whylate.recording.errors import DiskError
    from whylate.report.plain_console import plain_console

    if as_json:
        content = document(plan, versions, steps, result, directory)
        content = {"report": str(directory / PAGE), **content}
        print_document(f"bisect-{versions.nouns.verb}", content)
    else:
        console = plain_console()
        for line in lines_of(plan, versions, steps, result):
            console.print(plain(line, 1000), soft_wrap=True)
    page = write_ordered_page(directory, plan, versions, steps, result)
    if junit is not None:
        with writing(junit, DiskError):
            junit.write_bytes(junit_of(plan, versions, steps, result))
    if not as_json:
        console.print(f"report  {plain(str(page), 1000)}", soft_wrap=True)
    for board, reason in result.lost.items():
        print_message(f"{board} was given up: {reason}")
    confirmed = result.confirmation is not None and result.confirmation.confirmed
    is_single = result.answer is not None and len(result.answer.versions) == 1
    sys.exit(0 if result.answer is not None and (confirmed or not is_single) else UNKNOWN)
