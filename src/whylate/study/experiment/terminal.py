"""Print an experiment: the preventable share beside the located one, and the checks."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_percent, format_short_ns
from whylate.study.experiment.judge import Changed, ExperimentResult, Share
from whylate.text import plain


def print_experiment(result: ExperimentResult, console: Console) -> None:
    """Print the result; texts of the board are plain text, never markup."""
    console.print(
        Text(
            f"Switched off: {plain(result.description, 200)}; late: above "
            f"{format_short_ns(result.threshold_ns)}; {result.rounds} rounds of on, off and placebo"
        )
    )
    if result.late_on_ns_per_s is not None and result.late_off_ns_per_s is not None:
        console.print(
            Text(
                f"Excess latency: {_rate(result.late_on_ns_per_s)} with it, "
                f"{_rate(result.late_off_ns_per_s)} without"
            )
        )
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    for name, share, meaning, style in (
        ("preventable share", result.preventable,
         "of the excess goes away with it (experiment)", "bold"),
        ("located share", result.located, "of the excess was spent there (accounting)", ""),
    ):  # fmt: skip
        if share is not None:
            table.add_row(Text(name, style=style), Text(share_text(share), style=style), meaning)
    if table.row_count:
        console.print(table)
        console.print()
    for name, text in checks(result):
        console.print(Text.assemble((f"{name}  ", "dim"), plain(text, 400)))
    if result.why_not is not None:
        console.print(
            Text.assemble(("no preventable share  ", "bold red"), plain(f"{result.why_not}.", 600))
        )


def checks(result: ExperimentResult) -> list[tuple[str, str]]:
    """Return the name and the outcome of each check."""
    lines = []
    if result.target is not None:
        word = "fell" if result.fell else "did not surely fall"
        lines.append(("manipulation", f"the cause's own time {word}: {_change(result.target)}"))
    elif result.placebo is not None:
        text = "the switch took effect; no cause was named whose time must fall (--target CAUSE)"
        lines.append(("manipulation", text))
    if result.placebo is not None:
        lines.append(("placebo", f"nothing switched: {share_text(result.placebo)}"))
    if result.target is not None and result.placebo is not None:
        changed = "; ".join(f"{cause.cause} {_change(cause)}" for cause in result.off_target)
        text = f"also changed: {changed}" if changed else "no other cause changed"
        lines.append(("off target", text))
    if result.different_facts:
        names = ", ".join(result.different_facts)
        lines.append(("caution", f"facts of the runs differ from the recording: {names}"))
    return lines


def share_text(share: Share) -> str:
    """Format a share with its interval: "62 % [51 %, 71 %]"."""
    text = format_percent(share.share)
    if share.low is None or share.high is None:
        return text
    return f"{text} [{format_percent(share.low)}, {format_percent(share.high)}]"


def _change(cause: Changed) -> str:
    return f"{_rate(cause.on_ns_per_s)} → {_rate(cause.off_ns_per_s)}"


def _rate(ns_per_s: float) -> str:
    return f"{format_short_ns(round(ns_per_s))}/s"
