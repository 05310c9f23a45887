"""List what can be timed on a board: names that match a pattern, by which hook, at what cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from whylate.probe.budget import LIST
from whylate.probe.client import Client
from whylate.probe.errors import ProbeError, ProbeFloodError
from whylate.run.errors import RequestError
from whylate.run.workloads.app import check_pid
from whylate.run.workloads.section import is_own
from whylate.run.workloads.user_code import MARK_BEGIN, MARK_END, MARKS
from whylate.text import plain
from whylate.wire.constants import (
    LONGEST_PATTERN,
    LONGEST_PLACE,
    MOST_LISTED,
    ListedKind,
    ListingLack,
    Obstacle,
    SectionHook,
    SectionKind,
)
from whylate.wire.messages import ListedPlace, ListPlaces, Message, PlacesListed

#: A slow board reads its lists for some seconds, and measures each hook.
LIST_S = 300.0
#: Names that an error suggests.
_SUGGESTED = 5
_PATTERN = re.compile(r"[!-~]+")
_WILD = re.compile(r"[*?\[]")
Kind = Literal["function", "tracepoint", "user function", "USDT probe"]
_KINDS: dict[int, Kind] = {
    ListedKind.FUNCTION: "function",
    ListedKind.TRACEPOINT: "tracepoint",
    ListedKind.USER: "user function",
    ListedKind.USDT: "USDT probe",
}
#: Hooks whose programs need the kernel's BTF on any board.
_BY_TYPES = (
    SectionHook.FENTRY, SectionHook.KPROBE_SESSION, SectionHook.KPROBE_MULTI, SectionHook.KPROBE
)  # fmt: skip
_OWN = "it runs while an execution is timed"
_REASONS: dict[int, str] = {
    Obstacle.NOTRACE: "notrace: the kernel has no place for a hook there",
    Obstacle.FORBIDDEN: "the kernel permits no kprobe there, and its BTF lacks the function",
    Obstacle.BOOT: "it runs only while the kernel boots",
    Obstacle.FRAGMENT: "it is a part of a function, not its entry",
    Obstacle.NO_TRACEPOINT: "it is an event without a tracepoint",
    Obstacle.CHOSEN_AT_START: "it is chosen as a program starts (an IFUNC): name the chosen one",
    Obstacle.SEVERAL: "several functions have this name",
    Obstacle.THUMB: "it is Thumb code, which the kernel cannot probe: compile it with -marm",
    Obstacle.NO_CODE: "it is outside of the file's code",
}
_SYSTEM_CALLS = "it is an event without a tracepoint: use raw_syscalls:sys_enter if id==NUMBER"
#: ENOTSUPP, of which a C library knows no text.
_NO_SUPPORT, _UNSUPPORTED = "Unknown error 524", "this kernel does not support it"
#: What the probe's own message begins with, which tries a hook as a section does.
_TRIED = "no hook can be set there: {}: "


@dataclass(frozen=True)
class ListedHook:
    """A hook, tried on the board on an empty section.

    reason: why it does not work there, else "". floor_ns: what an empty section takes by it, and
    call_ns how much longer a call takes with it; None where that is not known.
    """

    name: str
    works: bool
    reason: str
    floor_ns: int | None
    call_ns: int | None


@dataclass(frozen=True)
class Place:
    """A name that matches, and by which hook it can be timed; hook None: by none, for the reason.

    section: what to write in a section's place. detail: the module of a function of the kernel, the
    version of one of a file. same: how many functions or places have the name.
    """

    name: str
    kind: Kind
    section: str
    hook: str | None
    reason: str
    detail: str = ""
    same: int = 1
    arguments: tuple[str, ...] = ()


@dataclass
class Listing:
    """What was listed. more: how many of each kind match beyond the listed ones."""

    places: list[Place] = field(default_factory=list)
    hooks: list[ListedHook] = field(default_factory=list)
    more: dict[Kind, int] = field(default_factory=dict)
    lacks: list[str] = field(default_factory=list)


def parse_pattern(text: str, pid: int | None = None) -> list[ListPlaces]:
    """Return the commands that list what a pattern names; raises RequestError.

    FILE:GLOB is of a file where FILE has a slash or a dot, else of tracepoints; a pattern without a
    colon is of functions of the kernel and of tracepoints.
    """
    if pid is not None:
        check_pid(pid)
    before, colon, rest = text.partition(":")
    is_file = bool(colon) and ("/" in before or ("." in before and not _WILD.search(before)))
    pattern = rest if is_file else text
    if not _PATTERN.fullmatch(pattern) or len(pattern) > LONGEST_PATTERN:
        raise RequestError(
            f"{plain(pattern, 60)!r} is no pattern of names: write NAME, SYSTEM:NAME or FILE:NAME, "
            "where * is any text"
        )
    if is_file:
        return [_of_file(before, pattern, pid)]
    if pid is not None:
        raise RequestError("--pid is of FILE:PATTERN: FILE is looked up in its root")
    tracepoints = ListPlaces(SectionKind.TRACEPOINTS, pattern, "", 0)
    if colon:
        return [tracepoints]
    return [ListPlaces(SectionKind.FUNCTION, pattern, "", 0), tracepoints]


def _of_file(file: str, pattern: str, pid: int | None = None) -> ListPlaces:
    if not file.isprintable() or len(file.encode()) > LONGEST_PLACE:
        raise RequestError(f"{plain(file, 80)!r} is no name of a file")
    return ListPlaces(SectionKind.USER, pattern, file, pid or 0)


def list_places(client: Client, text: str, pid: int | None = None) -> Listing:
    """Ask a board what matches a pattern; raises RequestError where nothing does, and ProbeError.

    Nothing is attached to what is listed.
    """
    client.enter(LIST)
    commands = parse_pattern(text, pid)
    listing = _ask(client, commands)
    if listing.places:
        return listing
    file, colon, pattern = text.partition(":")
    if colon and commands[0].kind == SectionKind.TRACEPOINTS and not _WILD.search(file):
        commands = [_of_file(file, pattern)]
        try:
            listing = _ask(client, commands)
        except ProbeError as error:
            raise RequestError(f"no tracepoint matches {plain(text, 80)}, and {error}") from None
    if not listing.places:
        raise RequestError(_explain_absence(client, commands, text))
    return listing


def _explain_absence(client: Client, commands: Sequence[ListPlaces], text: str) -> str:
    """Return why nothing matches, and names that have the word in them."""
    kinds = {command.kind for command in commands}
    what = (
        "function or USDT probe of the file" if SectionKind.USER in kinds
        else "function of this kernel and no tracepoint" if SectionKind.FUNCTION in kinds
        else "tracepoint of this kernel"
    )  # fmt: skip
    shown = plain(text, 80)
    if any(_WILD.search(command.pattern) for command in commands):
        return f"no {what} matches {shown}"
    word = commands[0].pattern.rpartition(":")[2][: LONGEST_PATTERN - 2]
    similar = [
        ListPlaces(command.kind, f"*{word}*", command.file, command.pid) for command in commands
    ]
    names = [place.name for place in _ask(client, similar).places[:_SUGGESTED]]
    why = f"no {what} is named {shown}"
    if kinds != {SectionKind.TRACEPOINTS}:
        why += ": a function that is inlined wherever it is called has no name"
    return f"{why}; names with that word: {', '.join(names)}" if names else why


def _ask(client: Client, commands: Iterable[ListPlaces]) -> Listing:
    listing = Listing()
    for command in commands:
        places: list[ListedPlace] = []
        ends: list[PlacesListed] = []

        def receive(
            message: Message,
            places: list[ListedPlace] = places,
            ends: list[PlacesListed] = ends,
        ) -> None:
            if isinstance(message, ListedPlace):
                places.append(message)
            elif isinstance(message, PlacesListed):
                ends.append(message)

        client.call_all([command], receive, LIST_S)
        if len(ends) != 1:
            raise ProbeError("the probe did not report how much it listed")
        # Functions and USDT probes of a file come together.
        if len(places) > 2 * MOST_LISTED:
            raise ProbeFloodError(f"the board listed {len(places)} names: at most {2 * MOST_LISTED}"
                                  " are expected")  # fmt: skip
        _add(listing, command, places, ends[0])
    return listing


def _add(
    listing: Listing, command: ListPlaces, places: Sequence[ListedPlace], end: PlacesListed
) -> None:
    hooks = _hooks_of(end)
    working = [hook.name for hook in hooks if hook.works]
    listing.hooks += hooks
    listing.places += [_place_of(place, command.file, working) for place in places]
    more = end.matched - len(places)
    if more > 0:
        kind = _KINDS[{
            SectionKind.FUNCTION: ListedKind.FUNCTION,
            SectionKind.TRACEPOINTS: ListedKind.TRACEPOINT,
            SectionKind.USER: ListedKind.USER,
        }[SectionKind(command.kind)]]  # fmt: skip
        listing.more[kind] = more
    # Of nothing there is nothing else to know.
    lacks = ListingLack(end.lacks & sum(ListingLack if places else [ListingLack.SYMBOLS]))
    names = [lack.name.lower() for lack in lacks if lack.name is not None]
    listing.lacks += [name for name in names if name not in listing.lacks]


def _hooks_of(end: PlacesListed) -> list[ListedHook]:
    hooks: list[ListedHook] = []
    columns = (end.hooks, end.texts, end.floor_ns, end.with_ns, end.without_ns)
    if len({len(column) for column in columns}) != 1:
        raise ProbeError("the probe did not report each of its hooks")
    for number, text, floor_ns, with_ns, without_ns in zip(*columns, strict=True):
        name = SectionHook(number).name.lower().replace("_", " ")
        reason = plain(
            text.removeprefix(_TRIED.format(name))
            .removeprefix("tracefs: ")
            .replace(_NO_SUPPORT, _UNSUPPORTED)
        )
        if text and end.lacks & ListingLack.TYPES and number in _BY_TYPES:
            reason = "it needs the kernel's BTF"
        hooks.append(
            ListedHook(
                name=name,
                works=not text,
                reason=reason,
                floor_ns=floor_ns or None,
                call_ns=with_ns - without_ns if with_ns > without_ns > 0 else None,
            )
        )
    return hooks


def _place_of(place: ListedPlace, file: str, working: Sequence[str]) -> Place:
    """Return a place by the first of its hooks that works."""
    name = plain(place.name, LONGEST_PLACE)
    reason = _REASONS.get(place.obstacle, "")
    if place.obstacle == Obstacle.NO_TRACEPOINT and name.startswith("syscalls:"):
        reason = _SYSTEM_CALLS
    hooks = [
        hook for hook in working if place.hooks >> SectionHook[hook.replace(" ", "_").upper()] & 1
    ]
    if place.kind == ListedKind.FUNCTION and is_own(name):
        hooks, reason = [], _OWN
    elif not _PATTERN.fullmatch(place.name):
        hooks, reason = [], "no section can name it"
    elif not hooks and not reason:
        reason = "no hook works on this board"
    return Place(
        name=name,
        kind=_KINDS[place.kind],
        section=_section_of(place, name, file) if hooks else "",
        hook=hooks[0] if hooks else None,
        reason=reason,
        detail=plain(place.detail, 80).strip("[]"),
        same=place.same,
        arguments=tuple(plain(argument, 160) for argument in place.arguments),
    )


def _section_of(place: ListedPlace, name: str, file: str) -> str:
    """Return what names a place in a section."""
    if place.kind == ListedKind.USDT:
        provider, _, mark = name.partition(":")
        if provider == MARKS and mark.endswith((MARK_BEGIN, MARK_END)):
            name = f"{MARKS}:{mark.removesuffix(MARK_BEGIN).removesuffix(MARK_END)}"
        return f"{file}:{name}"
    if place.kind == ListedKind.USER:
        return f"{file}:0x{place.offset:x}" if place.same > 1 else f"{file}:{name}"
    return name
