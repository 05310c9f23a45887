"""What is printed of a section beside the durations of its executions."""

from __future__ import annotations

from collections.abc import Iterator

from whylate.quantities import format_count, format_ns, format_percent
from whylate.recording.manifest import Manifest
from whylate.recording.waits import bin_edges
from whylate.summary.model import Caution, Exceedance, SectionFigures


def section_figures(manifest: Manifest) -> SectionFigures | None:
    """Return how executions were timed, and what became of them; None of another workload."""
    report = manifest.section
    if report is None:
        return None
    bins = [cpu.bins[-1].bin for cpu in report.cpus]
    return SectionFigures(
        hook=report.hook,
        one_in=report.one_in,
        account=report.account,
        longest_ns=bin_edges(max(bins))[1] if bins else None,
    )


def without_all_rows(section: SectionFigures | None) -> Exceedance | None:
    """Return the refused bound of a section of which only some executions have rows."""
    if section is None or section.one_in == 1:
        return None
    reason = f"only 1 of {format_count(section.one_in)} executions has a row"
    if section.longest_ns is not None:
        reason += f"; all took less than {format_ns(section.longest_ns)}"
    return Exceedance(None, None, None, None, None, None, reason)


def section_cautions(section: SectionFigures | None) -> Iterator[Caution]:
    """Yield what leaves executions of a section without a duration."""
    account = section.account if section is not None else None
    if account is None or not account.entries:
        return
    parts = (
        (account.left, "were left without a return that was seen"),
        (account.too_deep, "were within too many others of their thread"),
        (account.no_room, "came while too many threads were in the section"),
    )
    for count, what in parts:
        if count:
            share = format_percent(count / account.entries)
            text = (
                f"{format_count(count)} executions ({share}) {what}: how long they took is not "
                "known."
            )
            yield Caution("section", text)
    if account.missed:
        text = (
            f"The kernel did not run a hook {format_count(account.missed)} times, as where one "
            "interrupts another: executions are missing, or were not seen to return."
        )
        yield Caution("section", text)
