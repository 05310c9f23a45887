"""The console that everything is printed on: names, units and what boards say are never markup."""

from __future__ import annotations

from rich.console import Console


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console that prints strings as they are: `[us]` is no style, `:bug:` no emoji.

    Control characters are not its business: what comes from outside is plain() first.
    """
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
