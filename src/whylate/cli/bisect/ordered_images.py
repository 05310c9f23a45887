"""`whylate bisect images` with three or more images: which of them, in their order, makes it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from whylate.cli.bisect.resumable import resumable
from whylate.cli.board_options import opener_of, waiting_shown
from whylate.cli.interrupt import Interrupt
from whylate.cli.messages import print_message
from whylate.run.errors import RequestError


def bisect_images_in_order(
    images: list[str],
    path: Path,
    directory: Path,
    environment: Path | None,
    *,
    wait_s: float,
    statistic: str | None,
    confidence: float,
    runs: int,
    junit: Path | None,
    as_json: bool,
) -> NoReturn:
    """Bisect, print the result, and exit; path: of the plan. Raises RequestError and others."""
    from whylate.bisect.ordered.carry_out import BrokenEndError, bisect_ordered
    from whylate.bisect.ordered.journal import OrderedJournal
    from whylate.bisect.ordered_images.model import LAYOUT, ordered_images_plan
    from whylate.bisect.ordered_images.versions import ImageVersions
    from whylate.cli.bisect.ordered_result import show_ordered_result
    from whylate.cli.bisect.ordered_view import OrderedView
    from whylate.study.plan_file import read_plan_file

    plan = ordered_images_plan(read_plan_file(path), path, images, statistic, confidence, runs)
    interrupt = Interrupt()
    waiting = waiting_shown(wait_s, interrupt, lambda: view)
    open_for = opener_of(plan.study.boards, plan.study.smp, environment, waiting)
    versions = ImageVersions(plan, directory, open_for, interrupt.wanted)
    with (
        resumable(directory),
        OrderedJournal(directory, LAYOUT, plan) as journal,
        OrderedView(plan, versions, journal.lines) as view,
    ):
        is_over = False
        try:
            result = bisect_ordered(journal, versions, view, interrupt.wanted)
            is_over = result.answer is not None
        except BrokenEndError as error:
            raise RequestError(str(error)) from None
        finally:
            observer = view.observer(plan.study.boards[0])
            if reason := versions.leave(observer, over=is_over):
                print_message(reason)
        steps = journal.lines
    show_ordered_result(plan, versions, steps, result, directory, junit=junit, as_json=as_json)
