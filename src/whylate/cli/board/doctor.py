"""`whylate doctor`: what can be measured on a board, and which settings add latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whylate.cli.print_json import json_option, print_json
from whylate.text import plain_lines

if TYPE_CHECKING:
    from rich.text import Text

    from whylate.boards.doctor.check import Check, Group, State
    from whylate.causes.observability import Observability
    from whylate.recording.manifest import RecorderReport

_TITLES: dict[Group, str] = {
    "measuring": "What measuring needs",
    "explaining": "What saying why needs",
    "settings": "Settings known to cost latency",
}
_STYLES: dict[State, str] = {
    "good": "green",
    "poor": "yellow",
    "missing": "red",
    "unknown": "cyan",
}


@click.command(name="doctor")
@click.argument("board", default="local")
@click.option("--no-recorder", is_flag=True, help="Do not try the flight recorder.")
@json_option
def command(board: str, no_recorder: bool, as_json: bool) -> None:
    """Examine BOARD: what can be measured and explained there, and what may add latency.

    The flight recorder is tried for a fifth of a second, to list the causes that it can distinguish
    there. What it attached is removed again; nothing else is changed. Only a measurement shows what
    a setting costs on this board.
    """
    from whylate.boards.doctor import examine
    from whylate.boards.facts import WANTED, facts
    from whylate.boards.open import open_board
    from whylate.boards.ready import ready
    from whylate.causes.observability import list_observability
    from whylate.cli.live import LiveView
    from whylate.run.read import read_board, read_board_and_recorder

    with LiveView() as view, ready(open_board(board), view.log) as opened:
        if no_recorder:
            snapshot, probe = read_board(opened, WANTED, view.log)
            recorder = None
        else:
            snapshot, probe, recorder = read_board_and_recorder(opened, WANTED, view.log)
    checks = examine(snapshot, probe, recorder)
    # If nothing can be recorded, a check has the reason.
    records = recorder is not None and recorder.engine is not None
    causes = list_observability(recorder, facts(snapshot, probe)) if records else []
    if as_json:
        _print_json(board, checks, recorder, causes)
    else:
        _print_table(checks, causes)


def _print_json(
    board: str, checks: list[Check], recorder: RecorderReport | None, causes: list[Observability]
) -> None:
    print_json(
        {
            "board": board,
            "checks": checks,
            "recorder": recorder,
            "observability": causes,
        }
    )


def _print_table(checks: list[Check], causes: list[Observability]) -> None:
    from rich.table import Table
    from rich.text import Text

    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.sights import sights_table

    console = plain_console()
    for group, title in _TITLES.items():
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(no_wrap=True, width=max(map(len, _STYLES)))
        table.add_column(no_wrap=True, width=23)
        table.add_column(overflow="fold")
        for check in checks:
            if check.group == group:
                state = Text(check.state, style=_STYLES[check.state])
                table.add_row(state, check.name, Text("\n").join(_lines(check)))
        console.print(Text(title, style="bold"))
        console.print(table)
        console.print()
        if group == "explaining" and causes:
            console.print(Text("What `whylate explain` can distinguish here", style="bold"))
            console.print(sights_table(causes))
            console.print()
    counts = [f"{sum(c.state == s for c in checks)} {s}" for s in _STYLES]
    console.print(Text(", ".join(counts) + "."))


def _lines(check: Check) -> list[Text]:
    from rich.text import Text

    lines: list[Text] = [Text(plain_lines(check.now))]
    if check.state != "good":
        lines.append(Text(plain_lines(f"wanted: {check.wanted}"), style="dim"))
        if check.how:
            lines.append(Text(plain_lines(f"how: {check.how}"), style="dim"))
    return lines
