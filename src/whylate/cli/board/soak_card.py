"""What a soak left on the card of its board, said in one line."""

from __future__ import annotations

from pathlib import Path

from whylate.files import bytes_text
from whylate.soak.card import BEFORE, CardState
from whylate.soak.model import SoakPlan
from whylate.text import plain


def card_text(plan: SoakPlan, directory: Path, state: CardState) -> str:
    """Return what is on the card, and how to put back what was there."""
    image, board = plain(plan.flash or "", 500), plain(plan.board, 80)
    kept = f"the first {bytes_text(state.kept_bytes)}, which {image} overwrites"
    if state.on_card == "before":
        return f"as it was; {kept}, are kept"
    if state.on_card == "left" and plan.recover is None:
        return f"has again what it had: {kept}"
    now = {
        "image": f"has {image}",
        "unknown": f"has an incomplete write: {board} may not boot",
    }.get(state.on_card, f"has {plain(plan.recover or BEFORE, 500)}")
    if plan.recover is not None:
        return f"{now}; what it had before is not kept"
    if state.on_card == "good":
        return f"has again what it had: {kept}"
    back = plain(str(directory / BEFORE), 500)
    return f"{now}; put back {kept}: whylate board flash {back} {board}"
