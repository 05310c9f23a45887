"""Lists of what can be timed, from the answers of a board that is not trusted."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from click.testing import CliRunner
from rich.console import Console

from whylate.cli import whylate
from whylate.cli.section_list import print_listing
from whylate.probe.client import Client
from whylate.probe.errors import ProbeError, ProbeFloodError, ProbeRefusedError
from whylate.run.errors import RequestError
from whylate.run.listing import Listing, list_places, parse_pattern
from whylate.run.workloads.section import parse_place
from whylate.wire.constants import (
    MOST_LISTED,
    ListedKind,
    ListingLack,
    Obstacle,
    SectionHook,
    SectionKind,
)
from whylate.wire.messages import ListedPlace, ListPlaces, Message, PlacesListed

FENTRY, KPROBE = 1 << SectionHook.FENTRY, 1 << SectionHook.KPROBE
SESSION = 1 << SectionHook.KPROBE_SESSION
UPROBE = 1 << SectionHook.UPROBE


class Answers:
    """A client whose board answers commands by their kind and pattern."""

    def __init__(self, answers: dict[tuple[SectionKind, str], list[Message]]) -> None:
        self.answers = answers
        self.refused: dict[SectionKind, str] = {}

    def enter(self, _: object) -> None:
        """Begin a phase."""

    def call_all(
        self, commands: Sequence[ListPlaces], receive: Callable[[Message], object], _: float
    ) -> None:
        for command in commands:
            kind = SectionKind(command.kind)
            if kind in self.refused:
                raise ProbeRefusedError(self.refused[kind], 2)
            for message in self.answers.get((kind, command.pattern), [end(0)]):
                receive(message)


def function(name: str, hooks: int = FENTRY | KPROBE, **fields: Any) -> ListedPlace:
    values = {"detail": "", "obstacle": 0, "same": 1, "offset": 0, "arguments": ()}
    values |= {"kind": ListedKind.FUNCTION, "name": name, "hooks": hooks} | fields
    return ListedPlace(**values)  # type: ignore[arg-type]


def end(matched: int, fentry: str = "", kprobe: str = "", lacks: int = 0) -> PlacesListed:
    hooks = (SectionHook.FENTRY, SectionHook.KPROBE) if matched else ()
    columns = [(362, 0), (1_900, 0), (170, 0)] if matched else [(), (), ()]
    texts = (fentry, kprobe) if matched else ()
    return PlacesListed(matched, lacks, hooks, texts, *columns)


def listed(*messages: Message, pattern: str = "x*") -> Listing:
    client = Answers({(SectionKind.FUNCTION, pattern): list(messages)})
    return list_places(cast("Client", client), pattern)


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("kmem_*", [(SectionKind.FUNCTION, "kmem_*", ""), (SectionKind.TRACEPOINTS, "kmem_*", "")]),
        ("*.isra.0", [(SectionKind.FUNCTION, "*.isra.0", ""),
                      (SectionKind.TRACEPOINTS, "*.isra.0", "")]),
        ("irq:*", [(SectionKind.TRACEPOINTS, "irq:*", "")]),
        ("*:sched_*", [(SectionKind.TRACEPOINTS, "*:sched_*", "")]),
        ("*.x:a", [(SectionKind.TRACEPOINTS, "*.x:a", "")]),
        ("libc.so.6:mem*", [(SectionKind.USER, "mem*", "libc.so.6")]),
        ("./p:whylate:*", [(SectionKind.USER, "whylate:*", "./p")]),
    ],
)  # fmt: skip
def test_a_pattern_is_of_what_it_looks_like(
    text: str, commands: list[tuple[SectionKind, str, str]]
) -> None:
    asked = [(command.kind, command.pattern, command.file) for command in parse_pattern(text)]
    assert asked == commands


@pytest.mark.parametrize("text", ["", "a b", "a\nb", "a*é", "a" * 256, "./p:", "./p:\x1b[2J"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is no pattern of names"):
        parse_pattern(text)


def test_a_process_has_files_alone() -> None:
    assert parse_pattern("/lib/libc.so.6:mem*", 7)[0].pid == 7
    with pytest.raises(RequestError, match="--pid is of FILE:PATTERN"):
        parse_pattern("mem*", 7)


# ---------------------------------------------------------------- answers


def test_a_place_has_the_first_hook_that_works() -> None:
    names = [function("xa"), function("xb", KPROBE)]
    assert [place.hook for place in listed(*names, end(2)).places] == ["fentry", "kprobe"]
    places = listed(*names, end(2, fentry="none")).places
    assert [place.hook for place in places] == ["kprobe", "kprobe"]
    places = listed(*names, end(2, kprobe="none")).places
    assert [(place.hook, place.reason) for place in places] == [
        ("fentry", ""), (None, "no hook works on this board")
    ]  # fmt: skip


def test_a_hook_of_two_words_is_that_of_the_place() -> None:
    hooks = (SectionHook.FENTRY, SectionHook.KPROBE_SESSION, SectionHook.KPROBE)
    answer = PlacesListed(2, 0, hooks, ("none", "", ""), (0, 1, 1), (0, 2, 2), (0, 1, 1))
    names = (function("xa", FENTRY | SESSION | KPROBE), function("xb", FENTRY | KPROBE))
    places = listed(*names, answer).places
    assert [place.hook for place in places] == ["kprobe session", "kprobe"]


def test_what_each_hook_takes_is_known_where_it_was_measured() -> None:
    text = "no hook can be set there: kprobe: Unknown error 524"
    fentry, kprobe = listed(function("xa"), end(1, kprobe=text)).hooks
    assert (fentry.works, fentry.floor_ns, fentry.call_ns) == (True, 362, 1_730)
    assert (kprobe.works, kprobe.floor_ns, kprobe.call_ns) == (False, None, None)
    assert kprobe.reason == "this kernel does not support it"


def test_a_call_that_was_no_longer_with_the_hook_is_not_known() -> None:
    answer = PlacesListed(1, 0, (SectionHook.FENTRY,), ("",), (362,), (170,), (171,))
    (hook,) = listed(function("xa"), answer).hooks
    assert (hook.works, hook.floor_ns, hook.call_ns) == (True, 362, None)


def test_a_kernel_without_btf_is_the_reason_that_functions_have_no_hook() -> None:
    answer = end(1, "no file", "target candidate search failed", ListingLack.TYPES)
    reasons = {hook.reason for hook in listed(function("xa"), answer).hooks}
    assert reasons == {"it needs the kernel's BTF"}


@pytest.mark.parametrize("obstacle", [item for item in Obstacle if item != Obstacle.NONE])
def test_each_obstacle_has_its_reason(obstacle: Obstacle) -> None:
    (place,) = listed(function("xa", 0, obstacle=obstacle), end(1)).places
    assert place.hook is None
    assert place.reason not in ("", "no hook works on this board")


def test_what_times_executions_is_not_offered() -> None:
    (place,) = listed(function("bpf_get_smp_processor_id"), end(1)).places
    assert (place.hook, place.section) == (None, "")
    assert place.reason == "it runs while an execution is timed"


def test_functions_of_one_name_are_written_by_their_offsets() -> None:
    fields = {"kind": ListedKind.USER, "obstacle": Obstacle.SEVERAL, "same": 2, "offset": 0x1234}
    answer = PlacesListed(2, 0, (SectionHook.UPROBE,), ("",), (0,), (0,), (0,))
    client = Answers({(SectionKind.USER, "x*"): [function("xa", UPROBE, **fields), answer]})
    (place,) = list_places(cast("Client", client), "./p:x*").places
    assert place.section == "./p:0x1234"
    parse_place(place.section)


def test_marks_are_written_as_their_section() -> None:
    answer = PlacesListed(1, 0, (SectionHook.UPROBE,), ("",), (0,), (0,), (0,))
    mark = function("whylate:frame_begin", UPROBE, kind=ListedKind.USDT)
    client = Answers({(SectionKind.USER, "*"): [mark, answer]})
    (place,) = list_places(cast("Client", client), "./p:*").places
    assert place.section == "./p:whylate:frame"


def test_a_name_without_a_match_is_explained_with_names_like_it() -> None:
    client = Answers({(SectionKind.FUNCTION, "*read*"): [function("vfs_read"), end(1)]})
    with pytest.raises(RequestError) as caught:
        list_places(cast("Client", client), "read")
    assert "inlined wherever it is called" in str(caught.value)
    assert str(caught.value).endswith("names with that word: vfs_read")
    with pytest.raises(RequestError, match="no function of this kernel and no tracepoint matches"):
        list_places(cast("Client", client), "x*")


def test_a_program_without_a_path_is_tried_where_no_tracepoint_matches() -> None:
    answer = PlacesListed(1, 0, (SectionHook.UPROBE,), ("",), (0,), (0,), (0,))
    main = function("main", UPROBE, kind=ListedKind.USER)
    client = Answers({(SectionKind.USER, "ma*"): [main, answer]})
    (place,) = list_places(cast("Client", client), "bash:ma*").places
    assert place.section == "bash:main"
    client.refused[SectionKind.USER] = "bash: it is in none of the folders"
    with pytest.raises(RequestError, match=r"no tracepoint matches bash:ma.*none of the folders"):
        list_places(cast("Client", client), "bash:ma*")


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([function("xa")], ProbeError),
        ([function("xa"), end(1), end(1)], ProbeError),
        ([function("xa"), PlacesListed(1, 0, (1,), (), (), (), ())], ProbeError),
        ([*[function("xa")] * (2 * MOST_LISTED + 1), end(1)], ProbeFloodError),
    ],
)
def test_an_answer_that_no_probe_gives_is_refused(
    messages: list[Message], error: type[Exception]
) -> None:
    with pytest.raises(error):
        listed(*messages)


# ---------------------------------------------------------------- what is printed


def printed(listing: Listing) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_listing(listing, "pc", console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_nothing_that_a_board_sends_acts_on_the_terminal() -> None:
    evil = "x\x1b[2Jy"
    listing = listed(
        function(evil, detail=evil, arguments=(evil,)), end(1, fentry=evil, lacks=0xFFFFFFFF)
    )
    text = printed(listing)
    assert "\x1b" not in text
    assert [place.hook for place in listing.places] == [None]
    assert "no section can name it" in text


def test_how_many_more_match_is_printed() -> None:
    assert "122,132 functions more match: narrow the pattern" in printed(
        listed(function("xa"), end(122_133))
    )


def test_a_lack_is_printed_where_it_matters() -> None:
    lacks = ListingLack.FORBIDDEN | ListingLack.TYPES
    text = printed(listed(function("xa"), end(1, lacks=lacks)))
    assert "has no BTF" in text
    assert "permits no kprobe" in text
    text = printed(listed(function("xa"), end(1, kprobe="none", lacks=lacks)))
    assert "permits no kprobe" not in text


def test_a_line_is_no_longer_than_the_terminal() -> None:
    arguments = ("struct task_struct *task", "unsigned int flags") * 4
    listing = listed(function("x" * 300, arguments=arguments), function("xb"), end(2))
    lines = printed(listing).splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert "".join(words).count("x") > 300
    assert words.count("*task,") == 4


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--for", "3s"], "--list times nothing: --for does not go with it"),
        (["--load", "fork"], "--list times nothing: --load does not go with it"),
    ],
)
def test_options_of_a_run_are_refused(options: list[str], reason: str) -> None:
    result = CliRunner().invoke(whylate, ["section", "--list", "x*", *options])
    assert result.exit_code == 2
    assert reason in result.output
