"""Comparisons for other programs: Markdown for a forge, JUnit for a pipeline."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from whylate.compare.model import Comparison
from whylate.compare.words import (
    amount_text,
    interval_text,
    more_runs_text,
    percent_text,
    signed_text,
)
from whylate.report.beside import environment_line, event_lines, hit_lines
from whylate.report.exports.junit import Bad, Case, junit_document
from whylate.report.terminal.comparison import (
    PAIRS_SHOWN,
    arm_text,
    headline,
    many_text,
    p_text,
    student_lines,
    typical_text,
)
from whylate.text import plain

#: What Markdown would act on in a name.
_ACTING = "\\`*_{}[]<>()#+!|~$&"


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as Markdown; names are escaped, so that nothing in them acts."""
    parts = []
    for comparison in comparisons:
        judged = any(row.verdict is not None for row in comparison.statistics)
        lines = [
            f"**{headline(comparison)}**: {_escaped(comparison.why)}.",
            "",
            f"A: {_escaped(arm_text(comparison.first))}  ",
            f"B: {_escaped(arm_text(comparison.second))}",
            "",
            "| | A | B | change [95 %] | p |" + " |" * judged,
            "|---|---:|---:|---:|---:|" + "---|" * judged,
        ]
        for row in comparison.statistics:
            verdict = f" {row.verdict or ''} |" * judged
            if row.ratio is None:
                refused = _escaped(row.refused or "–")
                lines.append(f"| {_escaped(row.name)} | | | {refused} | |{verdict}")
                continue
            change = signed_text(row.ratio) if row.linear else percent_text(row.ratio)
            cells = [
                _escaped(row.name),
                _escaped(typical_text(row.first, row.unit, at_least=row.first_at_least)),
                _escaped(typical_text(row.second, row.unit, at_least=row.second_at_least)),
                f"{change}{interval_text(row)}",
                "" if row.p is None else p_text(row.p),
            ]
            lines.append(f"| {' | '.join(cells)} |{verdict}")
        if not comparison.statistics:
            # A table without a row is none.
            del lines[-2:]
        lines += ["", *(f"- {_escaped(text)}" for text in beside_of(comparison))]
        parts.append("\n".join(lines).rstrip())
    if len(comparisons) > 1:
        parts.append(many_text(len(comparisons)))
    return "\n\n".join(parts) + "\n"


def beside_of(comparison: Comparison) -> list[str]:
    """Return further lines: pairs, Student's t, events, hits, the environment, cautions."""
    pairs = [
        f"{pair}: {amount_text(ours, comparison.unit)} → {amount_text(theirs, comparison.unit)}"
        for pair, ours, theirs in comparison.pairs[:PAIRS_SHOWN]
    ]
    more = len(comparison.pairs) - len(pairs)
    environment = environment_line(comparison)
    return [
        *pairs,
        *([f"and {more} more pairs"] if more else []),
        *student_lines(comparison),
        *event_lines(comparison),
        *hit_lines(comparison),
        *([environment] if environment is not None else []),
        *comparison.cautions,
        *([more_runs_text(comparison.more_runs)] if comparison.more_runs is not None else []),
    ]


def junit(comparisons: Sequence[Comparison], failing: Collection[str]) -> bytes:
    """Return comparisons as JUnit's XML, one test case each.

    failing: verdicts that are failures. What has no verdict is an error, and what is inconclusive
    is skipped, unless it fails: neither has passed.
    """
    cases = []
    for comparison in comparisons:
        rows = [
            f"{plain(row.name, 60)}: "
            + (plain(row.refused or "", 300) if row.ratio is None else
               f"{row.ratio:.6g}{interval_text(row)}")
            + (f" {row.verdict}" if row.verdict is not None else "")
            for row in comparison.statistics
        ]  # fmt: skip
        beside = [plain(text, 600) for text in beside_of(comparison)]
        cases.append(
            Case(
                f"{plain(comparison.second.name, 190)} against {plain(comparison.first.name, 190)}",
                _kind(comparison, failing),
                f"{comparison.verdict}: {plain(comparison.why, 600)}",
                "\n".join([*rows, *beside]),
            )
        )
    return junit_document("whylate compare", "whylate.compare", cases)


def _kind(comparison: Comparison, failing: Collection[str]) -> Bad | None:
    if comparison.verdict in failing:
        return "failure"
    kinds: dict[str, Bad] = {"no verdict": "error", "inconclusive": "skipped"}
    return kinds.get(comparison.verdict)


def _escaped(text: str) -> str:
    shown = plain(text, 600)
    return "".join(f"\\{c}" if c in _ACTING else c for c in shown)
