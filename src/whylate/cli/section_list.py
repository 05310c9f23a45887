"""`whylate section --list`: what can be timed on a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.boards.open import open_board
from whylate.boards.ready import ready
from whylate.cli.live import LiveView
from whylate.cli.print_json import print_json
from whylate.quantities import format_count, format_ns
from whylate.report.plain_console import plain_console
from whylate.run.errors import RequestError
from whylate.run.listing import list_places, parse_pattern
from whylate.run.read import connected
from whylate.text import plain

if TYPE_CHECKING:
    from whylate.cli.run_options import RunOptions
    from whylate.run.listing import ListedHook, Listing, Place

#: Names that are longer are folded on a narrow terminal.
MOST_NAME = 36
#: Parameters that mean something without a run.
_USED = frozenset(
    {"section", "listed", "pid", "boards", "environment", "smp", "kernel_args", "as_json"}
)
_LACKS = {
    "symbols": "This kernel shows no symbols (/proc/kallsyms): its functions are not listed.",
    "types": "This kernel has no BTF: the arguments of tracepoints are not known.",
    "traceable": "This kernel does not list which functions have a place for a hook "
    "(available_filter_functions): some of these may be refused.",
    "forbidden": "This kernel does not list where it permits no kprobe (debugfs): some of these "
    "may be refused.",
    "symbol_table": "The file is stripped: of its functions only those that it exports are listed.",
    "returns": "The file has exceptions, or is of Go: from entry to return its functions are timed "
    "with --hook uprobe at most.",
}
#: A lack that matters only where such a hook works.
_OF_HOOKS = {"traceable": ("fentry", "kprobe"), "forbidden": ("kprobe",)}
_INLINED = "Functions that are inlined wherever they are called have no name, and are not listed."
_PLURALS = {
    "function": "functions",
    "tracepoint": "tracepoints",
    "user function": "functions and USDT probes",
    "USDT probe": "USDT probes",
}


def list_section(pattern: str, pid: int | None, options: RunOptions) -> None:
    """Print what matches a pattern on a board; raises RequestError, BoardError, ProbeError."""
    _check_options()
    if len(options.names) != 1:
        raise RequestError("--list is of one board")
    parse_pattern(pattern, pid)
    board = options.names[0]
    with (
        LiveView() as view,
        ready(open_board(board, options.board), view.log) as opened,
        connected(opened, view.log) as (client, welcome),
    ):
        listing = list_places(client, pattern, pid)
    release = plain(welcome.release, 80)
    if options.as_json:
        print_json({"board": board, "release": release, "pattern": pattern, **vars(listing)})
    else:
        print_listing(listing, f"{board} · {release}", plain_console())


def _check_options() -> None:
    """Raise UsageError for options of a run: none is made."""
    context = click.get_current_context()
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name not in _USED
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--list times nothing: {given[0]} does not go with it")


def print_listing(listing: Listing, heading: str, console: Console) -> None:
    """Print a listing: names, then hooks, then what is not listed or not known."""
    console.print(Text(heading))
    table = Table(box=None, padding=(0, 2, 0, 0))
    width = max((len(place.name) for place in listing.places), default=0)
    table.add_column("name", overflow="fold", width=max(4, min(width, MOST_NAME)))
    for title in ("kind", "hook"):
        table.add_column(title, no_wrap=True)
    table.add_column("note", overflow="fold")
    for place in listing.places:
        style = "" if place.hook else "dim"
        kind = place.kind.removeprefix("user ")
        cells = (place.name, kind, place.hook or "–", _note(place))
        table.add_row(*(Text(cell, style=style) for cell in cells))
    console.print(table)
    for kind, count in listing.more.items():
        console.print(
            Text(f"{format_count(count)} {_PLURALS[kind]} more match: narrow the pattern")
        )
    console.print()
    for hook in listing.hooks:
        console.print(Text(_cost(hook)))
    working = {hook.name for hook in listing.hooks if hook.works}
    for lack in listing.lacks:
        if lack in _LACKS and (lack not in _OF_HOOKS or working & set(_OF_HOOKS[lack])):
            console.print(Text(_LACKS[lack], style="dim"))
    if {place.kind for place in listing.places} & {"function", "user function"}:
        console.print(Text(_INLINED, style="dim"))


def _note(place: Place) -> str:
    """Return why a place cannot be timed, or what to know of it."""
    notes = [place.detail] if place.detail else []
    if place.reason:
        notes.append(place.reason)
    if place.hook and not place.section.endswith(place.name):
        notes.append(f"write {place.section}")
    elif place.kind == "function" and place.same > 1 and place.hook:
        notes.append(f"{place.same} functions have this name: the kernel picks one")
    elif place.kind == "USDT probe" and place.same > 1:
        notes.append(f"at {place.same} places")
    if place.arguments:
        notes.append(", ".join(place.arguments))
    return "; ".join(notes)


def _cost(hook: ListedHook) -> str:
    """Return what a hook takes."""
    if not hook.works:
        return f"{hook.name} does not work here: {hook.reason}"
    if hook.name == "uprobe":
        return (
            "uprobe works here. What it takes differs with the instruction at each hook: about "
            "1 µs, or 10 µs where the kernel single-steps it."
        )
    if hook.floor_ns is None:
        return f"{hook.name} works here. What it takes could not be measured."
    text = f"{hook.name} works here: an empty section takes {format_ns(hook.floor_ns)} by it"
    if hook.call_ns is not None:
        text += f", a call takes {format_ns(hook.call_ns)} longer"
    return f"{text}."
