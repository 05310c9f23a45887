"""Boards on a terminal, as many lines as it has."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from whylate.watch.card import Card
from whylate.watch.model import PowerState

POWER_STYLES: dict[PowerState, str] = {"on": "green", "off": "dim", "unknown": "dim"}
_CRASH_STYLES = {"no": "", "crash": "yellow", "fatal": "bold red"}
#: A board that has fewer lines is not shown.
LEAST_LINES = 6
_LABEL = 12
_FIGURE = 11


def render_boards(cards: Sequence[Card], width: int, height: int, left_out: int = 0) -> list[Text]:
    """Return at most `height` lines of at most `width` cells.

    left_out: boards that have no card, because there are too many.
    """
    shown = max(1, min(len(cards), (height - 1) // LEAST_LINES))
    lines: list[Text] = []
    for number, card in enumerate(cards[:shown]):
        # What a board does not need, the next ones have.
        room = (height - 1 - len(lines)) // (shown - number)
        lines += _render_board(card, room)
    more = len(cards) - shown + left_out
    hidden = f"   {more} more boards: name those to watch, or make the terminal higher"
    lines.append(Text(f"q leaves{hidden if more else ''}", "dim"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines[:height]


def _render_board(card: Card, room: int) -> list[Text]:
    lines = [Text.assemble((card.name, "bold"), "  ", (card.power, POWER_STYLES[card.power]))]
    for row in card.rows:
        style = "red" if row.alarm else ""
        lines.append(Text.assemble((f"  {row.label:{_LABEL}}", "dim"), (row.text, style)))
    if card.figures:
        for label, texts in (
            ("", [figure.name for figure in card.figures]),
            ("so far", [figure.now for figure in card.figures]),
            ("previous", [figure.before for figure in card.figures]),
        ):
            cells = "".join(f"{text:>{_FIGURE}}" for text in texts)
            note = f"  {card.before}" if label == "previous" else ""
            lines.append(Text.assemble((f"  {label:{_LABEL}}", "dim"), cells, (note, "dim")))
    left = room - len(lines)
    if left > 0:
        lines += [
            Text.assemble(("  │ ", "dim"), (line.text, _CRASH_STYLES[line.crash]))
            for line in card.lines[-left:]
        ]
    return lines[:room]
