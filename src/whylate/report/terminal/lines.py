"""Lines and tables that several screens share."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_rate
from whylate.recording.device_loads import NIC, load_name
from whylate.recording.manifest import LoadDevice, LoadReport
from whylate.summary.model import Trust
from whylate.text import plain

VERDICT_STYLES = {
    "ok": "bold green",
    "pass": "bold green",
    "fail": "bold red",
    "inconclusive": "bold yellow",
    "no verdict": "bold red",
}


def board_line(board: str, kernel: str | None, cpu_model: str | None) -> Text:
    """Name a board, its kernel and its CPU."""
    rest = (f" · {plain(part, 60)}" for part in (kernel, cpu_model) if part)
    return Text.assemble((plain(board, 60), "bold"), *rest)


def load_line(load: LoadReport) -> Text:
    """Return what a load did before and during the run."""
    name = load_name(load.kind, load.count, load.command)
    before = format_rate(load.before_per_s, plain(load.unit, 20))
    during = format_rate(load.during_per_s, plain(load.unit, 20))
    line = Text(f"load {plain(name, 48)}  {before} before, {during} during")
    if load.device is not None:
        line.append(f"\n     {device_text(load.device, load.kind)}")
    if load.error is not None:
        line.append(f"  stopped: {plain(load.error, 120)}", style="red")
    return line


def device_text(device: LoadDevice, kind: str) -> str:
    """Return what was counted of the device that a load drives."""
    unit = "packets" if kind == NIC else "requests"
    lines = ", ".join(plain(line, 40) for line in device.lines[:4]) or "none"
    more = f" and {len(device.lines) - 4} more" if len(device.lines) > 4 else ""
    before = format_rate(device.interrupts_before_per_s, "interrupts")
    return (
        f"{plain(device.name, 31)}: {before} before, "
        f"{format_rate(device.interrupts_per_s, 'interrupts')} during ({lines}{more}); "
        f"in {format_rate(device.in_count_per_s, unit)}, "
        f"{format_rate(device.in_bytes_per_s, 'bytes')}; "
        f"out {format_rate(device.out_count_per_s, unit)}, "
        f"{format_rate(device.out_bytes_per_s, 'bytes')}; "
        f"{format_rate(device.softirqs_per_s, 'softirqs')}"
    )


def trust_lines(trust: Trust) -> list[Table | Padding]:
    """Say whether the run may be judged, and why not."""
    style = VERDICT_STYLES[trust.verdict]
    if trust.verdict == "ok":
        return [hanging("trust", "ok", style, style)]
    reasons = [plain(reason, 300) for reason in trust.reasons] or ["no reason was given"]
    return [
        hanging("trust", "no verdict", style, style),
        *(Padding(Text(f"– {reason}"), (0, 0, 0, 7)) for reason in reasons),
    ]


def hanging(label: str, text: str, label_style: str, text_style: str | None = None) -> Table:
    """Lay out a label and a text whose later lines stay clear of the label."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    style = label_style if text_style is None else text_style
    grid.add_row(Text(label, style=label_style), Text(text, style=style))
    return grid


def print_report_path(path: str | None, console: Console) -> None:
    """Print where the page is; a path is copied by hand, so it is never folded."""
    if path is not None:
        console.print(Text(f"report  {plain(path, 1000)}"), soft_wrap=True)


def fits(table: Table, console: Console) -> bool:
    """Whether a table fits the console without folding a cell."""
    natural = console.options.update(width=1000)
    return console.measure(table, options=natural).maximum <= console.width


def widest_table(build: Callable[[bool], Table], console: Console) -> Table:
    """Return build(True), with intervals beside their figures, where it fits; else build(False)."""
    one_line = build(True)
    return one_line if fits(one_line, console) else build(False)


def figure_cell(value: str, interval: str, style: str, *, one_line: bool) -> Text:
    """Return a figure with its interval beside it, or below it."""
    between = "" if not interval else " " if one_line else "\n"
    return Text.assemble((value, style), between, (interval, "dim"))
