"""A preventable share on the terminal, beside the located one, with what it rests on."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_short_ns
from whylate.study.experiment.judge import Changed, ExperimentResult, Share
from whylate.text import plain


def print_experiment(found: ExperimentResult, console: Console) -> None:
    """Print what an experiment found."""
    console.print(
        Text(
            f"Switched off: {plain(found.description, 200)}; late is what is above "
            f"{format_short_ns(found.threshold_ns)}; {found.rounds} rounds of on, off and placebo"
        )
    )
    if found.late_on_ns_per_s is not None and found.late_off_ns_per_s is not None:
        console.print(
            Text(
                f"Late time beyond the ordinary: {_rate(found.late_on_ns_per_s)} with it, "
                f"{_rate(found.late_off_ns_per_s)} without"
            )
        )
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    if found.preventable is not None:
        table.add_row(
            Text("preventable share", style="bold"),
            Text(share_text(found.preventable), style="bold"),
            "of the late time goes away with it (experiment)",
        )
    if found.located is not None:
        table.add_row(
            "located share", share_text(found.located), "of the late time was spent there (account)"
        )
    if table.row_count:
        console.print(table)
        console.print()
    for name, text in checks(found):
        console.print(Text.assemble((f"{name}  ", "dim"), plain(text, 400)))
    if found.why_not is not None:
        console.print(
            Text.assemble(("no preventable share  ", "bold red"), plain(f"{found.why_not}.", 600))
        )


def checks(found: ExperimentResult) -> list[tuple[str, str]]:
    """Return what was checked, and what came of it."""
    lines = []
    if found.target is not None:
        word = "fell" if found.fell else "did not surely fall"
        lines.append(("manipulation", f"the cause's own time {word}: {_change(found.target)}"))
    elif found.placebo is not None:
        text = "the switch took effect; no cause was named whose time must fall (--target CAUSE)"
        lines.append(("manipulation", text))
    if found.placebo is not None:
        lines.append(("placebo", f"as it was, once more: {share_text(found.placebo)}"))
    if found.target is not None and found.placebo is not None:
        others = "; ".join(f"{one.cause} {_change(one)}" for one in found.off_target)
        lines.append(
            ("off target", f"also changed: {others}" if others else "no other cause changed")
        )
    if found.different_facts:
        text = f"the runs are not as the recording was: {', '.join(found.different_facts)}"
        lines.append(("caution", text))
    return lines


def share_text(share: Share) -> str:
    """Write a share with its interval: "62 % [51 %, 71 %]"."""
    text = f"{_percent(share.share)}"
    if share.low is None or share.high is None:
        return text
    return f"{text} [{_percent(share.low)}, {_percent(share.high)}]"


def _percent(part: float) -> str:
    return f"{'−' if round(100 * part) < 0 else ''}{abs(round(100 * part))} %"


def _change(one: Changed) -> str:
    return f"{_rate(one.on_ns_per_s)} → {_rate(one.off_ns_per_s)}"


def _rate(ns_per_s: float) -> str:
    sign = "−" if round(ns_per_s) < 0 else ""
    return f"{sign}{format_short_ns(abs(round(ns_per_s)))}/s"
