"""What is listed on a board with all hooks of the kernel, and that it can be timed as listed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from own_boards import own_boards
from whylate.boards.board import notify_nobody
from whylate.boards.open import open_board
from whylate.boards.ready import ready
from whylate.probe.client import Client
from whylate.recording.workloads.section import Section as Plan
from whylate.run.errors import RequestError
from whylate.run.listing import Listing, list_places
from whylate.run.read import connected
from whylate.run.workloads.section import SectionRules, parse_place
from whylate.wire.constants import SectionHook
from whylate.wire.messages import Message, Result, SectionStarted

pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        own_boards("pc"),
        ready(open_board("pc"), notify_nobody) as board,
        connected(board, notify_nobody) as (client, _),
    ):
        yield client


def reasons(listing: Listing) -> dict[str, tuple[str | None, str]]:
    return {place.name: (place.hook, place.reason) for place in listing.places}


def test_functions_have_a_hook_or_a_reason(client: Client) -> None:
    """Of Debian's kernel for PCs it is known what they are."""
    listing = list_places(client, "vfs_read*")
    assert reasons(listing)["vfs_read"] == ("fentry", "")
    hooks = [(hook.name, hook.works) for hook in listing.hooks]
    assert hooks == [
        ("fentry", True), ("kprobe session", False), ("kprobe multi", False), ("kprobe", True)
    ]  # fmt: skip
    fentry, session, *_ = listing.hooks
    assert "CONFIG_FPROBE" in session.reason
    assert fentry.floor_ns is not None
    # Noise of this machine may hide it.
    assert fentry.call_ns is None or fentry.call_ns > 0
    assert listing.lacks == []
    assert "notrace" in reasons(list_places(client, "asm_exc_*"))["asm_exc_int3"][1]
    assert "boots" in reasons(list_places(client, "start_kernel"))["start_kernel"][1]
    parts = list_places(client, "vfs_*.cold").places
    assert {place.reason for place in parts} == {"it is a part of a function, not its entry"}
    assert (
        "while an execution is timed" in reasons(list_places(client, "ktime_get"))["ktime_get"][1]
    )
    with pytest.raises(RequestError, match="inlined wherever it is called"):
        list_places(client, "vfs_raed")


def test_tracepoints_have_the_arguments_of_their_btf(client: Client) -> None:
    (place,) = list_places(client, "irq:irq_handler_entry").places
    assert place.arguments == ("int irq", "struct irqaction *action")
    assert place.hook == "tracepoint"
    place = list_places(client, "syscalls:sys_enter_openat").places[0]
    assert (place.hook, "raw_syscalls:sys_enter" in place.reason) == (None, True)


def test_what_is_listed_can_be_timed_by_its_hook(client: Client) -> None:
    place = next(place for place in list_places(client, "vfs_w*").places if place.hook)
    assert started(client, place.section) == place.hook


def started(client: Client, section: str) -> str:
    """Return the hook by which a section is timed."""
    got: list[Message] = []
    client.on_message = lambda _, message: got.append(message)
    plan = Plan(duration_ns=10**7, spool=False, place=parse_place(section))
    client.call(SectionRules().start(plan, []))
    while not any(isinstance(message, Result) for message in got):
        client.pump(0.1)
    client.on_message = None
    (hook,) = [message.hook for message in got if isinstance(message, SectionStarted)]
    return SectionHook(hook).name.lower()
